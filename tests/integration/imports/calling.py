"""Every tool of a document called with arguments drawn from its schema, and what the mock says of the requests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.integration.imports.drawing import Drawing, Undrawable
from tests.integration.imports.mocks import Mock
from toolbus.importing.openapi import Made
from toolbus_api_caller.core.request import build_request
from toolbus_contracts.references import secret_names, with_values
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.work import WorkItem


@dataclass
class Calls:
    """How calls came out: how many were taken, and what was refused or could not be drawn."""

    taken: int = 0
    refused: list[str] = field(default_factory=list)
    undrawable: list[str] = field(default_factory=list)


def call_all(tools: Sequence[Made], mock: Mock) -> Calls:
    """Call each tool twice: with what it must be given, and with all that it may be given."""
    calls = Calls()
    for number, made in enumerate(tools):
        definition = ToolDefinition.model_validate(made.definition)
        for is_full in (False, True):
            try:
                arguments = arguments_for(made, seed=number, is_full=is_full)
            except Undrawable:
                calls.undrawable.append(made.operation.tool)
                continue
            request = request_of(definition, arguments)
            status, told = mock.sent(request)
            if status == 200:
                calls.taken += 1
            else:
                calls.refused.append(f"{made.operation.tool} {arguments} {request.method} {request.url}: {told}"[:1500])
    return calls


def arguments_for(made: Made, *, seed: int, is_full: bool) -> Any:
    """Arguments that the schema of a tool allows."""
    return Drawing(seed, is_full=is_full).fitting(made.definition["api_call"]["params_schema"])


def request_of(definition: ToolDefinition, arguments: Any) -> HttpRequest:
    """The request that the executor makes of a call, with a value for each secret."""
    assert definition.api_call is not None
    values = {name: f"value-of-{name}" for name in secret_names(definition, {})}
    section = with_values(definition.api_call, values)
    item = WorkItem(
        call_id="call_00000000000000000000000000000001",
        tenant="acme",
        execution_id="exec_00000000000000000000000000000001",
        attempt=1,
        needs_start=False,
        definition=definition.model_copy(update={"api_call": section}),
        arguments=arguments,
        terms=definition.terms(),
    )
    return build_request(item, user_agent="toolbus/test")
