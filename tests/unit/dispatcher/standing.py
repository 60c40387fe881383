"""Calls that stand still, and waits that are closed, for the tests of the dispatcher."""

from functools import reduce
from typing import Any

from tests.unit.dispatcher.making import LATER, NOW, PARAMETERS, define, submission, submit, tool
from toolbus_contracts.calls import AnyCallEvent, Call, ResumeCall, call_digest, evolve_call
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.core.standing import Surroundings, decide_resume

AGREED: dict[str, Any] = {"approvers": ["role:finance"], "quorum": 2, "expires_s": 60.0}
ASKED: dict[str, Any] = {"fields": {"charge": {"type": "string"}}, "expires_s": 30.0}
FUNCTION: dict[str, Any] = {"name": "refund", "function": {"parameters": PARAMETERS}}
AROUND = Surroundings("acme")


def made(**promises: Any) -> ToolDefinition:
    """The tool `refund` with these promises beside its section."""
    body = define().model_dump(mode="json", by_alias=True, exclude_none=True) if "function" not in promises else {}
    return ToolDefinition.model_validate({**body, "name": "refund", **promises})


def decide(definition: ToolDefinition, *, has_room: bool = True, **body: Any) -> tuple[AnyCallEvent, ...]:
    """What becomes of a submitted call of this tool."""
    found, sent = tool(definition), submission(**body)._replace(has_room=has_room)
    return submit(sent, None, find_tool=lambda *_: found, execution=None, now=NOW)


def kinds(events: tuple[AnyCallEvent, ...]) -> list[str]:
    """What happened, in short."""
    return [event.kind.split(".")[1] for event in events]


def folded(*events: AnyCallEvent) -> Call:
    """The call after these events."""
    call = reduce(evolve_call, events, None)
    assert call is not None
    return call


def standing(definition: ToolDefinition, **body: Any) -> Call:
    """A call that stands still."""
    call = folded(*decide(definition, **body))
    assert call.status == "waiting"
    return call


def resume(call: Call, outcome: Any, **parts: Any) -> ResumeCall:
    """Its present wait was closed like this."""
    assert call.wait is not None
    digest = call_digest("acme", call, parts.get("arguments")) or ""
    told = {"call_id": call.id, "wait_id": call.wait.wait_id, "outcome": outcome, "digest": digest, **parts}
    return ResumeCall.model_validate(told)


def going_on(call: Call, outcome: Any, **parts: Any) -> tuple[AnyCallEvent, ...]:
    """What comes of that for the call."""
    return decide_resume(resume(call, outcome, **parts), call, AROUND, now=LATER)


def then(call: Call, *events: AnyCallEvent) -> Call:
    """The call after these further events."""
    found: Call | None = call
    for event in events:
        found = evolve_call(found, event)
    assert found is not None
    return found
