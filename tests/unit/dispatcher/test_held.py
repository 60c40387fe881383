"""Which calls go at once, and which are held: by limits, or because others of their tenant wait."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, define, submission, submit, tool
from toolbus_contracts.calls import CallDispatched, CallRequested
from toolbus_contracts.executions import Execution
from toolbus_contracts.tools import Limit, Limits, Probe, Rate, Retry, Tool, ToolDefinition

EXECUTION_ID = "exec_" + "a" * 32
OF_KEY = Limit(of="key", name="key_1", concurrency=2)
OF_TENANT = Limit(of="tenant", name="acme", rate=Rate(calls=5))
LIMITS = Limits(concurrency=3, rate=Rate(calls=7, per_s=2.0))
OF_TOOL = Limit(of="tool", name="refund", concurrency=3, rate=Rate(calls=7, per_s=2.0))
PLAIN = define()
LIMITED = PLAIN.model_copy(update={"limits": LIMITS})


def decided(definition: ToolDefinition, *, scope: str = "tenant", **parts: Any) -> list[Any]:
    """What becomes of a call of this tool; in a scope of its own it is called from an execution there."""
    found = submission()._replace(**parts)
    execution = None
    if scope != "tenant":
        execution = Execution(id=EXECUTION_ID, parent=None, scopes=(scope,), labels={}, input=None, started_at=LATER)
        found = found._replace(command=found.command.model_copy(update={"execution_id": EXECUTION_ID}))
    tools = {scope: tool(definition, scope=scope)}

    def find_tool(where: str, _: str) -> Tool:
        return tools.get(where, Tool())

    return list(submit(found, None, find_tool=find_tool, execution=execution, now=LATER))


def limits_of(events: list[Any]) -> tuple[Limit, ...]:
    """The limits that hold for the call, which is held."""
    (requested,) = events
    assert isinstance(requested, CallRequested)
    return requested.limits


def test_a_call_that_nothing_limits_goes_at_once() -> None:
    """Its tenant has room."""
    requested, given = decided(PLAIN)
    assert requested.limits == ()
    assert given == CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=LATER)


def test_a_call_waits_behind_those_of_its_tenant() -> None:
    """Without limits too: nobody is overtaken."""
    assert limits_of(decided(PLAIN, has_room=False)) == ()


@pytest.mark.parametrize("has_room", [True, False])
def test_a_limited_call_is_held_until_it_is_released(has_room: bool) -> None:
    """By the limits of tool, key and tenant, which stand in its first event."""
    assert limits_of(decided(LIMITED, has_room=has_room)) == (OF_TOOL,)
    assert limits_of(decided(PLAIN, limits=(OF_KEY,), has_room=has_room)) == (OF_KEY,)
    assert limits_of(decided(LIMITED, limits=(OF_KEY, OF_TENANT), has_room=has_room)) == (OF_TOOL, OF_KEY, OF_TENANT)


def test_tools_of_one_name_in_two_scopes_have_a_limit_each() -> None:
    """Also definitions that calls bring along."""
    assert limits_of(decided(LIMITED, scope="agent:anna"))[0].name == "agent:anna/refund"
    own = submission(tool=LIMITED.model_dump(mode="json", by_alias=True, exclude_none=True))
    assert limits_of(decided(PLAIN, command=own.command))[0].name == "call/refund"


def test_a_call_carries_what_its_tool_promises() -> None:
    """As it was when the call was taken: a later definition changes nothing about it."""
    retry, probe = Retry(attempts=9), Probe(tool="find_refund", happened="true")
    requested, _ = decided(PLAIN.model_copy(update={"retry": retry, "probe": probe}))
    assert (requested.retry, requested.probe) == (retry, probe)
    requested, _ = decided(PLAIN)
    assert (requested.retry, requested.probe) == (None, None)


def test_a_version_that_was_named_is_limited_as_its_tool() -> None:
    """All versions of a tool count together."""
    named = submission(tool="refund@1")
    assert limits_of(decided(LIMITED, command=named.command)) == (OF_TOOL,)
