"""Histories of calls, written into a store."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tests.unit.dispatcher.backlogs import limit
from tests.unit.dispatcher.making import DISPATCHED, LOST, NOT_SENT, NOW, REQUESTED
from toolbus_contracts.calls import (
    AnyCallEvent,
    ApprovalVoided,
    AttemptFailed,
    AttemptStarted,
    CallCancelled,
    CallDenied,
    CallInDoubt,
    CallResumed,
    CallSucceeded,
    DoubtProbed,
    DoubtSettled,
    InputAsked,
    InputRequired,
    WaitAsked,
)
from toolbus_contracts.tools import Limit
from toolbus_dispatcher.aggregates import CALL
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Append, Appended, NewEvent

HistoryEvents = Sequence[AnyCallEvent]
SOON = NOW + timedelta(hours=1)


async def write(store: MemoryStore, *histories: HistoryEvents, tenant: str = "acme") -> None:
    """Put the events of several calls behind what the store has of them."""
    appends = []
    for events in histories:
        stream = f"{tenant}/{CALL}/{events[0].call_id}"
        version = len([event for event in store.events if event.stream == stream])
        appends.append(
            Append(
                tenant=tenant,
                category=CALL,
                stream=stream,
                expected_version=version,
                events=tuple(NewEvent(event.kind, event.model_dump_json()) for event in events),
                causation_id=f"{stream} {version}",
                correlation_id="exec_1",
                actor=REQUESTED.actor.model_dump_json(),
            )
        )
    assert all(isinstance(result, Appended) for result in await store.append(appends))


def requested(call_id: str, *limits: Limit, **changes: Any) -> AnyCallEvent:
    """The call was accepted; held when nothing follows."""
    return REQUESTED.model_copy(update={"call_id": call_id, "limits": limits, **changes})


def asked(call_id: str, number: int = 1, kind: Any = "approval") -> AnyCallEvent:
    """It stands still for somebody."""
    wait_id, digest = f"wait_{number}", REQUESTED.definition_hash
    told: dict[str, Any] = {"wait_id": wait_id, "wait_kind": kind, "number": number, "digest": digest}
    return WaitAsked(call_id=call_id, expires_at=SOON, at=NOW, **told)


def resumed(call_id: str, number: int = 1, kind: Any = "approval") -> AnyCallEvent:
    """It goes on."""
    told: dict[str, Any] = {"wait_id": f"wait_{number}", "wait_kind": kind, "by": ("user:bo",)}
    return CallResumed(call_id=call_id, digest=REQUESTED.definition_hash, at=NOW, **told)


def wanted(call_id: str, attempt: int = 1, **changes: Any) -> AnyCallEvent:
    """Its server wants to know more."""
    told: dict[str, Any] = {"asked": InputAsked(request_state="s1"), "duration_ms": 1.0, "at": NOW, **changes}
    return InputRequired(call_id=call_id, attempt=attempt, executor="x", **told)


def denied(call_id: str) -> AnyCallEvent:
    """Somebody said no."""
    return CallDenied(call_id=call_id, wait_id="wait_1", error=LOST, by=("user:bo",), at=NOW)


def voided(call_id: str) -> AnyCallEvent:
    """It was not any more what was approved."""
    return ApprovalVoided(call_id=call_id, wait_id="wait_1", error=LOST, at=NOW)


def dispatched(call_id: str, attempt: int = 1) -> AnyCallEvent:
    """It was given to the executors."""
    return DISPATCHED.model_copy(update={"call_id": call_id, "attempt": attempt})


def started(call_id: str, attempt: int = 1) -> AnyCallEvent:
    """One of them may send it."""
    return AttemptStarted(
        call_id=call_id, attempt=attempt, start_id="st", executor="x", start_by=NOW, stop_by=NOW, at=NOW
    )


def failed(call_id: str, attempt: int = 1, **changes: Any) -> AnyCallEvent:
    """The attempt came to nothing, and the next one is due at once unless told otherwise."""
    told = {"error": NOT_SENT, "retry_at": NOW, "duration_ms": 1.0, **changes}
    return AttemptFailed.model_validate({"call_id": call_id, "attempt": attempt, "executor": "x", "at": NOW, **told})


def doubted(call_id: str, attempt: int = 1, **changes: Any) -> AnyCallEvent:
    """Nobody knows what became of it."""
    return CallInDoubt.model_validate({"call_id": call_id, "attempt": attempt, "error": LOST, "at": NOW, **changes})


def probed(call_id: str) -> AnyCallEvent:
    """Its probe could not tell."""
    return DoubtProbed(call_id=call_id, attempt=1, probe_call_id="call_p", verdict="unclear", note="", at=NOW)


def settled(call_id: str, outcome: Any = "retry") -> AnyCallEvent:
    """A person said what happened."""
    return DoubtSettled(call_id=call_id, attempt=1, outcome=outcome, note="", at=NOW)


def succeeded(call_id: str, **changes: Any) -> AnyCallEvent:
    """The tool answered."""
    told = {"output": 7, "duration_ms": 1.0, **changes}
    return CallSucceeded.model_validate({"call_id": call_id, "attempt": 1, "executor": "x", "at": NOW, **told})


def cancelled(call_id: str) -> AnyCallEvent:
    """It was stopped."""
    return CallCancelled(call_id=call_id, reason="", at=NOW)


A, B = limit("a", concurrency=5), limit("b", calls=50, per_s=86400)
BEGUN = [requested("c", A, B), dispatched("c"), started("c"), wanted("c")]
STATES: dict[str, list[Any]] = {
    "asked by its server": [*BEGUN, asked("c", 1, "input")],
    "answered, and held": [*BEGUN, asked("c", 1, "input"), resumed("c", 1, "input")],
    "answered, and gone": [*BEGUN, asked("c", 1, "input"), resumed("c", 1, "input"), dispatched("c", 2)],
    "answered without a start": [
        *(requested("c"), dispatched("c"), wanted("c"), asked("c", 1, "input")),
        *(resumed("c", 1, "input"), asked("c", 2)),
    ],
    "wanted again": [*BEGUN, failed("c", retry_at=SOON)],
    "requested": [requested("c", A, B, priority=8)],
    "waiting": [requested("c", A, B), asked("c")],
    "waiting again": [requested("c"), asked("c", 1, "input"), resumed("c", 1, "input"), asked("c", 2)],
    "resumed, and held": [requested("c", A, B, priority=8), asked("c"), resumed("c")],
    "resumed, and gone": [requested("c"), asked("c"), resumed("c"), dispatched("c")],
    "denied": [requested("c", A), asked("c"), denied("c")],
    "voided": [requested("c", A), asked("c"), resumed("c"), dispatched("c"), voided("c")],
    "dispatched": [requested("c", A, B), dispatched("c")],
    "without limits": [requested("c"), dispatched("c")],
    "running": [requested("c", A, B), dispatched("c"), started("c")],
    "retrying": [requested("c", A, B), dispatched("c"), failed("c", retry_at=SOON)],
    "retrying, and due": [requested("c", A, B), dispatched("c"), failed("c")],
    "dispatched again": [requested("c", A, B), dispatched("c"), failed("c"), dispatched("c", 2)],
    "retrying again": [requested("c", A), dispatched("c"), failed("c"), dispatched("c", 2), failed("c", 2)],
    "in doubt": [requested("c", A, B), dispatched("c"), started("c"), doubted("c", probe_at=SOON)],
    "in doubt, probed": [requested("c", A), dispatched("c"), started("c"), doubted("c"), probed("c")],
    "settled as retry": [requested("c", A, B), dispatched("c"), started("c"), doubted("c"), settled("c")],
    "settled, gone": [requested("c", A), dispatched("c"), doubted("c"), settled("c"), dispatched("c", 2)],
    "settled as an end": [requested("c", A), dispatched("c"), doubted("c"), settled("c", "succeeded"), succeeded("c")],
    "succeeded": [requested("c", A, B), dispatched("c"), succeeded("c")],
    "cancelled while held": [requested("c", A, B), cancelled("c")],
    "cancelled before the next attempt": [requested("c", A), dispatched("c"), failed("c"), cancelled("c")],
}
