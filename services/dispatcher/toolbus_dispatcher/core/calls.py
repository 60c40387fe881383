"""
Decide what a command means for one call: (command, state, now) → events.

No events means that there was nothing left to decide: the command was taken before, or came too late
to matter. What becomes of an attempt is decided in `outcomes`. Read next to `toolbus_contracts.calls`, which
holds the states and `evolve_call`.
"""

from datetime import datetime, timedelta

from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptStarted,
    Call,
    CallCancelled,
    CallDispatched,
    CallExpired,
    CancelCall,
    CancelRequested,
    ReleaseCall,
    StartAnswer,
    StartAttempt,
)
from toolbus_contracts.errors import Conflict, NotFound
from toolbus_dispatcher.core.approved import UNSEEN, ByNow, voided, why_void

START_WINDOW = timedelta(seconds=10)  # how long a granted start may wait before its first byte
Events = tuple[AnyCallEvent, ...]


def known(call: Call | None, call_id: str) -> Call:
    """
    The call that a command speaks of.

    Raises:
        NotFound: this tenant has no such call.
    """
    if call is None:
        raise NotFound(f"there is no call {call_id}")
    return call


def decide_cancel(command: CancelCall, call: Call, *, now: datetime) -> Events:
    """
    Stop a call: at once while no unsafe effect was started, else by asking its executor.

    Raises:
        Conflict: the call ended otherwise.
    """
    match call.status:
        case "cancelled":
            return ()
        case status if call.is_terminal:
            raise Conflict("call_ended", f"call {call.id} is {status}")
        case "running" | "in_doubt":
            if call.is_cancel_requested:
                return ()
            return (CancelRequested(call_id=call.id, attempt=call.attempt, reason=command.reason, at=now),)
        case _:
            return (CallCancelled(call_id=call.id, reason=command.reason, at=now),)


def decide_start(
    command: StartAttempt, call: Call | None, *, by_now: ByNow = UNSEEN, now: datetime
) -> tuple[Events, StartAnswer]:
    """
    Decide whether an executor may make the effect of an attempt; the same `start_id` hears the same again.

    For a call that is safe to repeat it is only asked whether it is still wanted, unless a rate has to be kept.
    What was approved is compared with what the executor holds, with the call, and with what it named as that is now.
    """
    drop = StartAnswer(verdict="drop")
    if call is None or call.attempt != command.attempt:
        return (), drop
    if call.status == "running" and call.start is not None:
        start = call.start
        if start.start_id != command.start_id:
            return (), StartAnswer(verdict="taken", start_by=start.start_by, stop_by=start.stop_by)
        # Who asks again while the call is to be stopped finds the time to send over, and says if it has sent nothing.
        start_by = min(start.start_by, now) if call.is_cancel_requested else start.start_by
        return (), StartAnswer(verdict="go", start_by=start_by, stop_by=start.stop_by)
    if call.status != "dispatched":
        return (), drop
    if call.deadline_at is not None and now >= call.deadline_at:
        return (CallExpired(call_id=call.id, at=now),), drop
    reason = why_void(call, command.tenant, held=command.digest, by_now=by_now)
    if reason is not None:
        return (voided(call, reason, now),), drop
    if not call.needs_start:
        return (), StartAnswer(verdict="go")  # it may be made again: nothing to record
    return _started(command, call, now)


def _started(command: StartAttempt, call: Call, now: datetime) -> tuple[Events, StartAnswer]:
    start_by = now + START_WINDOW
    started = AttemptStarted(
        call_id=call.id,
        attempt=call.attempt,
        start_id=command.start_id,
        executor=command.executor,
        start_by=start_by,
        stop_by=start_by + timedelta(seconds=call.timeout_s),
        at=now,
    )
    return (started,), StartAnswer(verdict="go", start_by=started.start_by, stop_by=started.stop_by)


def decide_release(command: ReleaseCall, call: Call | None, *, now: datetime) -> Events:
    """Give a call to the executors: its first attempt, or the next one; the leader knows when that is due."""
    if call is None or call.attempt + 1 != command.attempt or call.tool_type is None:
        return ()
    if call.status not in {"requested", "retrying"}:
        return ()
    if call.deadline_at is not None and now >= call.deadline_at:
        return (CallExpired(call_id=call.id, at=now),)
    return (CallDispatched(call_id=call.id, attempt=command.attempt, tool_type=call.tool_type, at=now),)


def decide_expire(call: Call | None, *, now: datetime) -> Events:
    """
    End a call whose deadline passed, unless an unsafe effect was started: then its own outcome counts.

    Of a call that stands still the wait expires, which the wait's own stream decides.
    """
    if call is None or call.is_terminal or call.deadline_at is None or now < call.deadline_at:
        return ()
    if call.status in {"running", "in_doubt", "waiting"}:
        return ()
    return (CallExpired(call_id=call.id, at=now),)
