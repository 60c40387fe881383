"""
Standing still: for whom a call waits, and how it goes on when that wait was closed.

First a person supplies what is missing, then others agree, and last, for a function, its client carries it out. A
server that has begun may want to know more: a person answers it, and others agree again, since they did not know that.
A wait's own stream decides how it ends; here is decided what that means for the call.
"""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple, assert_never

from toolbus_contracts.calls import (
    AnyCallEvent,
    Call,
    CallDenied,
    CallDispatched,
    CallError,
    CallExpired,
    CallFailed,
    CallResumed,
    CallSucceeded,
    Detail,
    ResumeCall,
    Standing,
    WaitAsked,
    call_digest,
    evolve_call,
)
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.tools import MAX_WAIT_S
from toolbus_dispatcher.core.approved import UNSEEN, ByNow, voided, why_void
from toolbus_dispatcher.core.calls import Events

Kind = Literal["input", "approval", "function"]
CLIENT = "client"  # who carried out a function, when nobody is named


class Surroundings(NamedTuple):
    """
    What counts beside the call itself when it goes on.

    `has_room`: nothing of the tenant waits for executors. `by_now`: what the call named as it is now, when that
    matters. `faults`: what is wrong with the arguments that a person changed.
    """

    tenant: str
    has_room: bool = True
    by_now: ByNow = UNSEEN
    faults: tuple[Detail, ...] = ()


def next_wait(call: Call) -> Kind | None:
    """For what the call has to stand still before it goes on; nothing when executors may have it."""
    if call.asked is not None and call.asked.is_open:
        return "input"
    if call.ask_user is not None and not call.has_input:
        return "input"
    if call.approval is not None and call.approved is None:
        return "approval"
    return "function" if call.tool_type == "function" else None


def go_on(call: Call, around: Surroundings, *, now: datetime) -> Events:
    """What comes next for a call that was just accepted, or resumed; nothing when it is held until it is released."""
    if call.deadline_at is not None and now >= call.deadline_at:
        return (CallExpired(call_id=call.id, at=now),)
    kind = next_wait(call)
    if kind is not None:
        return (_asked(call, kind, around.tenant, now),)
    if call.limits or not around.has_room or call.tool_type is None:
        return ()
    return (CallDispatched(call_id=call.id, attempt=call.attempt + 1, tool_type=call.tool_type, at=now),)


def _asked(call: Call, kind: Kind, tenant: str, now: datetime) -> WaitAsked:
    number = call.waits + 1
    expires_at = now + timedelta(seconds=_patience_s(call, kind))
    return WaitAsked(
        call_id=call.id,
        wait_id=wait_id_for_call(call.id, number),
        wait_kind=kind,
        number=number,
        digest=call_digest(tenant, call) or "",
        expires_at=expires_at if call.deadline_at is None else min(expires_at, call.deadline_at),
        at=now,
    )


def _patience_s(call: Call, kind: Kind) -> float:
    """How long the call stands still for this, if its deadline does not come first."""
    match kind:
        case "input":
            return call.form.expires_s if call.form else MAX_WAIT_S
        case "approval":
            return call.approval.expires_s if call.approval else MAX_WAIT_S
        case "function":
            return call.expires_s or MAX_WAIT_S
        case _:
            assert_never(kind)


def decide_resume(command: ResumeCall, call: Call | None, around: Surroundings, *, now: datetime) -> Events:
    """
    Decide how a call goes on whose wait was closed; nothing when it stands still for another one, or not at all.

    A function ends the call with what its client says. What a person agreed to or supplied lets it go on.
    """
    if call is None or call.wait is None or call.wait.wait_id != command.wait_id:
        return ()
    match command.outcome, call.wait.kind:
        case ("approved", "approval") | ("answered", "input"):
            return _resumed(command, call, call.wait, around, now=now)
        case "denied", _:
            return (_denied(command, call, _said_no(command, call), now),)
        case "expired", _:
            return (_expired(command, call, call.wait, now),)
        case "completed" | "failed", "function":
            return (_carried_out(command, call, call.wait, now),)
        case _:
            return ()  # no wait of this kind ends like this; who looks for orphans will tell of the call


def _resumed(command: ResumeCall, call: Call, wait: Standing, around: Surroundings, *, now: datetime) -> Events:
    resumed = CallResumed(
        call_id=call.id,
        wait_id=wait.wait_id,
        wait_kind="approval" if wait.kind == "approval" else "input",
        arguments=command.arguments,
        answers=command.answers,
        digest=command.digest,
        by=command.by,
        at=now,
    )
    after = evolve_call(call, resumed) or call
    if around.faults:
        return resumed, _unfit(call, around.faults, now)
    if wait.kind == "approval":
        reason = why_void(after, around.tenant, held=command.digest, by_now=around.by_now)
        if reason is not None:
            return resumed, voided(after, reason, now)
    return resumed, *go_on(after, around, now=now)


def _unfit(call: Call, faults: tuple[Detail, ...], now: datetime) -> CallFailed:
    """What a person made of the arguments does not fit the tool."""
    message = f"the arguments do not fit {call.tool}: {faults[0].message}"
    error = CallError(code="invalid_arguments", message=message, effect_happened=call.effect_before, details=faults)
    return CallFailed(call_id=call.id, attempt=0, executor="dispatcher", error=error, duration_ms=0.0, at=now)


def _said_no(command: ResumeCall, call: Call) -> CallError:
    """Nothing more is sent; what an earlier attempt did stands."""
    by = f" by {', '.join(command.by)}" if command.by else ""
    message = f"denied{by}" + (f": {command.note}" if command.note else "")
    return CallError(code="denied", message=message, effect_happened=call.effect_before)


def _denied(command: ResumeCall, call: Call, error: CallError, now: datetime) -> CallDenied:
    return CallDenied(call_id=call.id, wait_id=command.wait_id, error=error, by=command.by, at=now)


def _expired(command: ResumeCall, call: Call, wait: Standing, now: datetime) -> AnyCallEvent:
    """Nobody spoke in time: that is a no where an approval says so; and it may have been the deadline of the call."""
    if call.deadline_at is not None and call.deadline_at <= wait.expires_at:
        return CallExpired(call_id=call.id, at=now)
    if wait.kind == "approval" and call.approval is not None and call.approval.on_expiry == "deny":
        message = "nobody agreed in time, which means no"
        error = CallError(code="wait_expired", message=message, effect_happened=call.effect_before)
        return _denied(command, call, error, now)
    return CallExpired(call_id=call.id, wait_id=wait.wait_id, at=now)


def _carried_out(command: ResumeCall, call: Call, wait: Standing, now: datetime) -> AnyCallEvent:
    """What the client of a function says; attempt 0, since no executor made one."""
    executor = command.by[0] if command.by else CLIENT
    took_ms = max(0.0, (now - wait.since).total_seconds() * 1000)
    if command.outcome == "completed":
        output = command.output
        return CallSucceeded(call_id=call.id, attempt=0, executor=executor, output=output, duration_ms=took_ms, at=now)
    error = command.error or CallError(code="function_failed", message="its client gave no reason")
    return CallFailed(call_id=call.id, attempt=0, executor=executor, error=error, duration_ms=took_ms, at=now)
