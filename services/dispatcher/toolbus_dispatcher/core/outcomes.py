"""
Decide what becomes of an attempt: what its executor reports, silence, and what a probe or a person found out.

Like `calls`: (command, state, now) → events, and none when there was nothing left to decide.
"""

from datetime import datetime, timedelta

from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptFailed,
    Call,
    CallCancelled,
    CallError,
    CallFailed,
    CallInDoubt,
    CallSucceeded,
    DoubtAttempt,
    DoubtProbed,
    DoubtSettled,
    EffectDoubled,
    InputAsked,
    RecordOutcome,
    RecordProbe,
    SettleDoubt,
)
from toolbus_contracts.errors import Conflict
from toolbus_dispatcher.core.asking import decide_asked, why_not_asked
from toolbus_dispatcher.core.calls import Events
from toolbus_dispatcher.core.standing import Surroundings, go_on
from toolbus_dispatcher.core.verdict import judge, next_attempt_at


def decide_outcome(command: RecordOutcome, call: Call | None, *, may_retry: bool = True, now: datetime) -> Events:
    """
    Decide what an executor's finding means; a call that ended keeps its end.

    A success of any attempt ends the call. Everything else counts for the present attempt only, and only
    while nobody has told of it yet; once it was started, only from whoever holds the start: another who was
    given the same work may have sent nothing, which says nothing of the one who may have sent it.
    `may_retry` is false when the tool's budget of retries is used up.
    """
    if call is None or call.is_terminal:
        return ()
    if command.result == "succeeded":
        return (*_doubled(command, call, now), _succeeded(command, now))
    if command.attempt != call.attempt or call.status not in {"dispatched", "running", "in_doubt"}:
        return ()
    if call.start is not None and call.start.start_id != command.delivery_id:
        return ()
    if command.asked is not None:
        return _asked(command, call, command.asked, may_retry=may_retry, now=now)
    error = command.error or CallError(code="internal", message="the executor gave no reason")
    match judge(command, call.terms, call.retry):
        case "retry" if call.is_cancel_requested or not may_retry:
            return (_given_up(command, call, error, now),)
        case "retry":
            return (_retried(command, call, error, now),)
        case "in_doubt":
            if call.status == "in_doubt":
                return ()
            return (_in_doubt(call, error.model_copy(update={"effect_happened": "unknown"}), now),)
        case _:
            return (_given_up(command, call, error, now),)


def _asked(command: RecordOutcome, call: Call, asked: InputAsked, *, may_retry: bool, now: datetime) -> Events:
    """The server did nothing yet: a person is asked, or (it wants nothing but that) the call is made again."""
    error = why_not_asked(call, asked)
    if error is not None or call.is_cancel_requested:
        return (_given_up(command, call, error or CallError(code="input_required", message=""), now),)
    required, after = decide_asked(command, call, asked, now=now)
    if asked.form is not None:
        return required, *go_on(after, Surroundings(command.tenant), now=now)
    error = CallError(code="input_required", message="the server wants the same call again before it goes on")
    return required, _retried(command, after, error, now) if may_retry else _given_up(command, after, error, now)


def _retried(command: RecordOutcome, call: Call, error: CallError, now: datetime) -> AnyCallEvent:
    """Another attempt, when one is left and comes in time; otherwise this failure is the end."""
    retry_at = next_attempt_at(call, command.retry_after_s, now)
    if retry_at is None:
        return _given_up(command, call, error, now)
    return AttemptFailed(
        call_id=command.call_id,
        attempt=command.attempt,
        executor=command.executor,
        error=error,
        retry_at=retry_at,
        duration_ms=command.duration_ms,
        response_ms=command.response_ms,
        at=now,
    )


def _given_up(command: RecordOutcome, call: Call, error: CallError, now: datetime) -> AnyCallEvent:
    """The failure that ends the call; when it was to be stopped and nothing happened, it was stopped."""
    if error.effect_happened == "no" and call.effect_before != "no":  # what an earlier attempt may have done stands
        error = error.model_copy(update={"effect_happened": call.effect_before})
    if call.is_cancel_requested and error.effect_happened == "no":
        return CallCancelled(call_id=call.id, reason="nothing was sent", at=now)
    return _failed(command, error, now)


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
        response_ms=command.response_ms,
        at=now,
    )


def _failed(command: RecordOutcome, error: CallError, now: datetime) -> CallFailed:
    return CallFailed(
        call_id=command.call_id,
        attempt=command.attempt,
        executor=command.executor,
        error=error,
        duration_ms=command.duration_ms,
        response_ms=command.response_ms,
        at=now,
    )


def decide_doubt(command: DoubtAttempt, call: Call | None, *, now: datetime) -> Events:
    """
    Say that nobody knows: the leader saw a started attempt stay silent for as long as it may take.

    What is safe to repeat is tried again, unless it was to be stopped. Nothing is compared with `stop_by`: clocks of
    different processes, or of one before and after it was set, may differ.
    """
    if call is None or call.status != "running" or call.start is None or call.attempt != command.attempt:
        return ()
    error = CallError(
        code="executor_lost",
        message=f"attempt {call.attempt} was started and nothing was heard of it until its time was over",
        effect_happened="unknown",
    )
    if call.terms.is_safe_to_repeat:
        lost = RecordOutcome(
            call_id=call.id,
            tenant="",
            attempt=call.attempt,
            delivery_id=call.start.start_id,
            executor="dispatcher",
            result="unknown",
        )
        return (_given_up(lost, call, error, now) if call.is_cancel_requested else _retried(lost, call, error, now),)
    return (_in_doubt(call, error, now),)


def _in_doubt(call: Call, error: CallError, now: datetime) -> CallInDoubt:
    """Nobody knows; the tool's probe, if it has one, is asked a little later."""
    probe_at = now + timedelta(seconds=call.probe.settle_after_s) if call.probe else None
    return CallInDoubt(call_id=call.id, attempt=call.attempt, error=error, probe_at=probe_at, at=now)


def decide_probe(command: RecordProbe, call: Call | None, *, now: datetime) -> Events:
    """
    Record what a probe found out about a call in doubt.

    What did not happen is as if nothing had been sent: the next attempt is due, if one is left.
    """
    if call is None or call.status != "in_doubt" or call.attempt != command.attempt or call.probe_at is None:
        return ()
    probed = DoubtProbed(
        call_id=call.id,
        attempt=call.attempt,
        probe_call_id=command.probe_call_id,
        verdict=command.verdict,
        note=command.note,
        at=now,
    )
    finding = RecordOutcome(
        call_id=call.id,
        tenant="",
        attempt=call.attempt,
        delivery_id=command.probe_call_id,
        executor=f"probe:{command.probe_call_id}",
        result="succeeded" if command.verdict == "happened" else "not_sent",
        output={"probe": command.output},
    )
    match command.verdict:
        case "unclear":
            return (probed,)
        case "happened":
            return probed, _succeeded(finding, now)
        case _:
            error = CallError(code="probed_failed", message=f"the probe says that it did not happen: {command.note}")
            if call.is_cancel_requested:
                return probed, _given_up(finding, call, error, now)
            return probed, _retried(finding, call, error, now)


def decide_settle(command: SettleDoubt, call: Call, *, executor: str, now: datetime) -> Events:
    """
    Record what a person found out about a call in doubt.

    Raises:
        Conflict: the call is not in doubt.
    """
    if call.status != "in_doubt":
        raise Conflict("call_ended" if call.is_terminal else "not_in_doubt", f"call {call.id} is {call.status}")
    settled = DoubtSettled(call_id=call.id, attempt=call.attempt, outcome=command.outcome, note=command.note, at=now)
    told = {"call_id": call.id, "attempt": call.attempt, "executor": executor, "duration_ms": 0.0, "at": now}
    match command.outcome:
        case "succeeded":
            return settled, CallSucceeded.model_validate({**told, "output": command.output})
        case "failed":
            error = CallError(code="settled_failed", message=command.note, effect_happened="no")
            return settled, CallFailed.model_validate({**told, "error": error})
        case _:
            return (settled,)  # another attempt is due at once, and released like any other
