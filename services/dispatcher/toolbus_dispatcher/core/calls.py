"""
Decide what a command means for one call: (command, state, now) → events.

No events means that there was nothing left to decide: the command was taken before, or came too late
to matter. Read next to `toolbus_contracts.calls`, which holds the states and `evolve_call`.
"""

from datetime import datetime, timedelta

from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptStarted,
    Call,
    CallCancelled,
    CallDispatched,
    CallError,
    CallExpired,
    CallFailed,
    CallInDoubt,
    CallSucceeded,
    CancelCall,
    CancelRequested,
    DoubtAttempt,
    DoubtSettled,
    EffectDoubled,
    RecordOutcome,
    SettleDoubt,
    StartAnswer,
    StartAttempt,
)
from toolbus_contracts.errors import Conflict, NotFound

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
            return (CancelRequested(call_id=call.id, reason=command.reason, at=now),)
        case _:
            return (CallCancelled(call_id=call.id, reason=command.reason, at=now),)


def decide_start(command: StartAttempt, call: Call | None, *, now: datetime) -> tuple[Events, StartAnswer]:
    """
    Decide whether an executor may make the effect of an attempt; the same `start_id` hears the same again.

    For a call that is safe to repeat it is only asked whether it is still wanted.
    """
    drop = StartAnswer(verdict="drop")
    if call is None or call.attempt != command.attempt:
        return (), drop
    if call.status == "running" and call.start is not None:
        start = call.start
        is_same = start.start_id == command.start_id
        return (), StartAnswer(verdict="go" if is_same else "taken", start_by=start.start_by, stop_by=start.stop_by)
    if call.status != "dispatched":
        return (), drop
    if call.deadline_at is not None and now >= call.deadline_at:
        return (CallExpired(call_id=call.id, at=now),), drop
    if call.terms.is_safe_to_repeat:
        return (), StartAnswer(verdict="go")  # it may be made again: nothing to record
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


def decide_outcome(command: RecordOutcome, call: Call | None, *, now: datetime) -> Events:
    """Decide what an executor's finding means; a call that ended keeps its end."""
    if call is None or call.is_terminal:
        return ()
    is_current = command.attempt == call.attempt
    match command.result:
        case "succeeded":
            return (*_doubled(command, call, now), _succeeded(command, now))
        case "failed" if is_current:
            error = command.error or CallError(code="internal", message="the executor gave no reason")
            if call.is_cancel_requested and error.effect_happened == "no":
                return (CallCancelled(call_id=call.id, reason="nothing was sent", at=now),)
            return (_failed(command, error, now),)
        case "unknown" if is_current and call.status != "in_doubt":
            error = command.error or CallError(code="connection_lost", message="no answer")
            if call.terms.is_safe_to_repeat:
                return (_failed(command, error.model_copy(update={"retryable": True}), now),)
            doubt = error.model_copy(update={"effect_happened": "unknown"})
            return (CallInDoubt(call_id=call.id, attempt=call.attempt, error=doubt, at=now),)
        case _:
            return ()


def _doubled(command: RecordOutcome, call: Call, now: datetime) -> tuple[EffectDoubled, ...]:
    """An earlier attempt succeeded after all: say so when a later one was started, and may not be repeated."""
    if command.attempt >= call.attempt or call.start is None or call.terms.is_safe_to_repeat:
        return ()
    return (EffectDoubled(call_id=call.id, attempt=command.attempt, later_attempt=call.attempt, at=now),)


def _succeeded(command: RecordOutcome, now: datetime) -> CallSucceeded:
    return CallSucceeded(
        call_id=command.call_id,
        attempt=command.attempt,
        executor=command.executor,
        output=command.output,
        duration_ms=command.duration_ms,
        at=now,
    )


def _failed(command: RecordOutcome, error: CallError, now: datetime) -> CallFailed:
    return CallFailed(
        call_id=command.call_id,
        attempt=command.attempt,
        executor=command.executor,
        error=error,
        duration_ms=command.duration_ms,
        at=now,
    )


def decide_expire(call: Call | None, *, now: datetime) -> Events:
    """End a call whose deadline passed, unless an unsafe effect was started: then its own outcome counts."""
    if call is None or call.is_terminal or call.deadline_at is None or now < call.deadline_at:
        return ()
    if call.status in {"running", "in_doubt"}:
        return ()
    return (CallExpired(call_id=call.id, at=now),)


def decide_doubt(command: DoubtAttempt, call: Call | None, *, now: datetime) -> Events:
    """Say that nobody knows, once a started attempt stayed silent beyond its `stop_by`."""
    if call is None or call.status != "running" or call.start is None or call.attempt != command.attempt:
        return ()
    if now < call.start.stop_by:
        return ()
    error = CallError(
        code="executor_lost",
        message=f"attempt {call.attempt} was started and nothing was heard of it until its time was over",
        effect_happened="unknown",
    )
    return (CallInDoubt(call_id=call.id, attempt=call.attempt, error=error, at=now),)


def decide_settle(command: SettleDoubt, call: Call, *, executor: str, now: datetime) -> Events:
    """
    Record what a person found out about a call in doubt.

    Raises:
        Conflict: the call is not in doubt.
    """
    if call.status != "in_doubt":
        raise Conflict("call_ended" if call.is_terminal else "not_in_doubt", f"call {call.id} is {call.status}")
    settled = DoubtSettled(call_id=call.id, attempt=call.attempt, outcome=command.outcome, note=command.note, at=now)
    return settled, _settled_end(command, call, executor, now)


def _settled_end(command: SettleDoubt, call: Call, executor: str, now: datetime) -> AnyCallEvent:
    """What follows from the verdict: the call's end, or another attempt."""
    match command.outcome:
        case "succeeded":
            return CallSucceeded(
                call_id=call.id, attempt=call.attempt, executor=executor, output=command.output, duration_ms=0.0, at=now
            )
        case "failed":
            error = CallError(code="settled_failed", message=command.note, effect_happened="no")
            return CallFailed(
                call_id=call.id, attempt=call.attempt, executor=executor, error=error, duration_ms=0.0, at=now
            )
        case "retry" if call.tool_type is not None:
            return CallDispatched(call_id=call.id, attempt=call.attempt + 1, tool_type=call.tool_type, at=now)
        case _:
            raise AssertionError(f"call {call.id} is in doubt and was never dispatched")
