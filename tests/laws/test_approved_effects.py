"""Laws of approvals: what an executor computes of its work is what was approved, and nothing else is."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import definitions, json_objects, moments
from tests.unit.dispatcher.making import REQUESTED
from toolbus_contracts.calls import Approved, Call, call_digest, evolve_call
from toolbus_contracts.executing.permits import held_digest
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.work import WorkItem
from toolbus_dispatcher.messages import definition_json, work_json
from toolbus_runtime.executing.executor import read_work


def approved(definition: ToolDefinition, arguments: Any, **changes: Any) -> Call:
    """A call of this tool with these arguments, approved as it is."""
    told = {"definition_hash": definition.definition_hash(), "arguments": arguments, **changes}
    call = evolve_call(None, REQUESTED.model_copy(update=told))
    assert call is not None
    digest = call_digest("acme", call)
    assert digest is not None
    return call.model_copy(update={"approved": Approved(wait_id="wait_1", digest=digest, by=("user:bo",))})


def delivered(call: Call, definition: ToolDefinition) -> WorkItem:
    """The work item as an executor reads it, written as the relay writes it."""
    return read_work(work_json("acme", call, definition_json(definition)))


@given(
    definition=definitions(),
    arguments=json_objects,
    deadline_at=st.none() | moments,
    on_behalf_of=st.none() | st.just("user:bo"),
)
def test_an_executor_computes_what_was_approved(
    definition: ToolDefinition, arguments: dict[str, Any], deadline_at: Any, on_behalf_of: str | None
) -> None:
    """From the work item alone, whatever way it came, for any definition and any arguments."""
    actor = Actor(subject="user:ana", via="http", on_behalf_of=on_behalf_of)
    call = approved(definition, arguments, deadline_at=deadline_at, actor=actor)
    item = delivered(call, definition)
    assert call.approved is not None
    assert item.approved == call.approved.digest == held_digest(item)


@given(definition=definitions(), other=definitions(), arguments=json_objects, others=json_objects)
def test_nothing_else_is_taken_for_it(
    definition: ToolDefinition, other: ToolDefinition, arguments: dict[str, Any], others: dict[str, Any]
) -> None:
    """Another definition, or other arguments, have another digest, whatever the work item says was approved."""
    call = approved(definition, arguments)
    item = delivered(call, definition)
    swapped = item.model_copy(update={"definition": other, "arguments": others})
    is_same = other.definition_hash() == definition.definition_hash() and call_digest("acme", call) == call_digest(
        "acme", call, others
    )
    assert (held_digest(swapped) == item.approved) == is_same
