"""What executors report, deadlines, silence, and what people settle."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import (
    AGAIN,
    CANCEL_REQUESTED,
    DISPATCHED,
    IN_DOUBT,
    LATER,
    LOST,
    NOT_SENT,
    NOW,
    REQUESTED,
    STARTED,
    STOP_BY,
    after,
    dispatched,
    outcome,
)
from toolbus_contracts.calls import (
    AnyCallEvent,
    CallCancelled,
    CallError,
    CallExpired,
    CallFailed,
    CallInDoubt,
    CallSucceeded,
    DoubtAttempt,
    DoubtSettled,
    EffectDoubled,
    SettleDoubt,
)
from toolbus_contracts.errors import Conflict
from toolbus_dispatcher.core.calls import decide_expire
from toolbus_dispatcher.core.outcomes import decide_doubt, decide_outcome, decide_settle

RUNNING = (REQUESTED, DISPATCHED, STARTED)
DOUBTFUL = (*RUNNING, IN_DOUBT)
ENDS = (
    CallExpired(call_id="call_1", at=NOW),
    CallCancelled(call_id="call_1", reason="", at=NOW),
    *decide_outcome(outcome("succeeded"), dispatched(), now=NOW),
    *decide_outcome(outcome("failed"), dispatched(), now=NOW),
)
FAILED: dict[str, Any] = {
    "call_id": "call_1",
    "attempt": 1,
    "executor": "api_caller@a",
    "duration_ms": 12.5,
    "at": LATER,
}
DOUBT = DoubtAttempt(call_id="call_1", attempt=1)
NO_REASON = CallError(code="internal", message="the executor gave no reason")


@pytest.mark.parametrize("history", [(REQUESTED, DISPATCHED), RUNNING, DOUBTFUL])
def test_a_success_ends_the_call(history: tuple[AnyCallEvent, ...]) -> None:
    """Also as the late answer to a doubt: output, executor and durations are kept."""
    events = decide_outcome(outcome("succeeded", output={"ok": True}, response_ms=7.5), after(*history), now=LATER)
    assert events == (CallSucceeded(**FAILED, output={"ok": True}, response_ms=7.5),)


@pytest.mark.parametrize("history", [RUNNING, DOUBTFUL])
@pytest.mark.parametrize("result", ["failed", "not_sent", "unknown"])
def test_who_does_not_hold_the_start_cannot_tell_that_nothing_happened(
    history: tuple[AnyCallEvent, ...], result: str
) -> None:
    """Work that came again finds its deadline passed, or an argument gone; whoever started may have sent it."""
    other = outcome(result, delivery_id="st_2", error=NOT_SENT)
    assert decide_outcome(other, after(*history), now=LATER) == ()


def test_a_success_counts_whoever_tells_of_it() -> None:
    """An effect that happened has happened."""
    (event,) = decide_outcome(outcome("succeeded", delivery_id="st_2"), after(*RUNNING), now=LATER)
    assert isinstance(event, CallSucceeded)


def test_a_success_of_an_earlier_attempt_ends_the_call() -> None:
    """The effect has happened, whatever was tried since; the event names the attempt that made it."""
    (event,) = decide_outcome(outcome("succeeded", attempt=1), after(*DOUBTFUL, AGAIN), now=LATER)
    assert isinstance(event, CallSucceeded)
    assert event.attempt == 1


def test_an_effect_that_may_have_happened_twice_is_told() -> None:
    """An answer of attempt 1 that comes after attempt 2 was started: both may have had their effect."""
    second = STARTED.model_copy(update={"attempt": 2, "start_id": "s2"})
    history = (*DOUBTFUL, AGAIN, second)
    events = decide_outcome(outcome("succeeded", attempt=1), after(*history), now=LATER)
    assert events[0] == EffectDoubled(call_id="call_1", attempt=1, later_attempt=2, at=LATER)
    assert isinstance(events[1], CallSucceeded)
    assert after(*history, *events).is_effect_doubled
    assert not after(*history, events[1]).is_effect_doubled


def test_the_answer_of_the_present_attempt_doubles_nothing() -> None:
    """One attempt, one effect."""
    (event,) = decide_outcome(outcome("succeeded", attempt=1), after(*RUNNING), now=LATER)
    assert isinstance(event, CallSucceeded)


@pytest.mark.parametrize("result", ["failed", "not_sent", "unknown"])
def test_other_news_of_an_earlier_attempt_changes_nothing(result: str) -> None:
    """The present attempt is still under way."""
    assert decide_outcome(outcome(result, attempt=1, error=LOST), after(*DOUBTFUL, AGAIN), now=LATER) == ()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("result", ["succeeded", "failed", "not_sent", "unknown"])
def test_a_call_that_ended_keeps_its_end(end: AnyCallEvent, result: str) -> None:
    """A late answer after cancel, expiry or another answer adds no second end."""
    assert decide_outcome(outcome(result), after(REQUESTED, DISPATCHED, end), now=LATER) == ()


def test_an_outcome_of_an_unknown_call_is_nobodys() -> None:
    """There is nothing to record it on."""
    assert decide_outcome(outcome("succeeded"), None, now=LATER) == ()


@pytest.mark.parametrize("history", [(REQUESTED, DISPATCHED), RUNNING, DOUBTFUL])
def test_a_failure_ends_the_call(history: tuple[AnyCallEvent, ...]) -> None:
    """With the reason that the executor gave."""
    error = CallError(code="http_status", message="500", effect_happened="yes")
    events = decide_outcome(outcome("failed", error=error, response_ms=7.5), after(*history), now=LATER)
    assert events == (CallFailed(**FAILED, error=error, response_ms=7.5),)


def test_a_failure_without_a_reason_says_so() -> None:
    """Nobody has to guess why the reason is missing."""
    (event,) = decide_outcome(outcome("failed"), dispatched(), now=LATER)
    assert event == CallFailed(**FAILED, error=NO_REASON)


@pytest.mark.parametrize("result", ["failed", "not_sent"])
@pytest.mark.parametrize("history", [RUNNING, DOUBTFUL])
def test_not_sent_after_a_cancel_is_cancelled(history: tuple[AnyCallEvent, ...], result: str) -> None:
    """Somebody wanted it stopped, and it was, before any effect; it is not tried again."""
    events = decide_outcome(outcome(result, error=NOT_SENT), after(*history, CANCEL_REQUESTED), now=LATER)
    assert events == (CallCancelled(call_id="call_1", reason="nothing was sent", at=LATER),)


@pytest.mark.parametrize("happened", ["yes", "unknown"])
def test_a_failure_with_an_effect_stays_a_failure_after_a_cancel(happened: str) -> None:
    """`cancelled` would say that nothing happened."""
    error = LOST.model_copy(update={"effect_happened": happened})
    (event,) = decide_outcome(outcome("failed", error=error), after(*RUNNING, CANCEL_REQUESTED), now=LATER)
    assert event == CallFailed(**FAILED, error=error)


@pytest.mark.parametrize("error", [None, LOST])
@pytest.mark.parametrize("history", [(REQUESTED, DISPATCHED), RUNNING])
def test_silence_on_an_unsafe_effect_is_a_doubt(history: tuple[AnyCallEvent, ...], error: CallError | None) -> None:
    """Nobody guesses: the effect is unknown, whatever the error said of it."""
    events = decide_outcome(outcome("unknown", error=error), after(*history), now=LATER)
    doubt = (error or NO_REASON).model_copy(update={"effect_happened": "unknown"})
    assert events == (CallInDoubt(call_id="call_1", attempt=1, error=doubt, at=LATER),)


def test_silence_is_in_doubt_once() -> None:
    """The second report of the same silence adds nothing."""
    assert decide_outcome(outcome("unknown"), after(*DOUBTFUL), now=LATER) == ()


@pytest.mark.parametrize(("seconds", "is_over"), [(-1, False), (0, True), (5, True)])
def test_a_deadline_ends_a_call_that_was_not_started(seconds: int, is_over: bool) -> None:
    """At its moment and not before."""
    now = LATER + timedelta(seconds=seconds)
    events = decide_expire(dispatched(deadline_at=LATER), now=now)
    assert events == ((CallExpired(call_id="call_1", at=now),) if is_over else ())


@pytest.mark.parametrize("events", [(STARTED,), (STARTED, IN_DOUBT), *((end,) for end in ENDS)])
def test_a_deadline_does_not_end_what_was_started_or_has_ended(events: tuple[AnyCallEvent, ...]) -> None:
    """A started effect is answered by its own outcome."""
    call = after(REQUESTED.model_copy(update={"deadline_at": NOW}), DISPATCHED, *events)
    assert decide_expire(call, now=LATER) == ()


def test_without_a_deadline_nothing_expires() -> None:
    """Nor does a call that is not there."""
    assert decide_expire(dispatched(), now=LATER) == ()
    assert decide_expire(None, now=LATER) == ()


@pytest.mark.parametrize("seconds", [-3600, 0, 5])
def test_a_start_that_stays_silent_becomes_a_doubt(seconds: int) -> None:
    """Whoever watched it knows when its time was over, and not the time of day: clocks differ, and are set."""
    now = STOP_BY + timedelta(seconds=seconds)
    events = decide_doubt(DOUBT, after(*RUNNING), now=now)
    message = "attempt 1 was started and nothing was heard of it until its time was over"
    error = CallError(code="executor_lost", message=message, effect_happened="unknown")
    assert events == (CallInDoubt(call_id="call_1", attempt=1, error=error, at=now),)


@pytest.mark.parametrize("history", [(REQUESTED, DISPATCHED), DOUBTFUL, (*DOUBTFUL, AGAIN), (*RUNNING, ENDS[2])])
def test_only_a_running_attempt_becomes_a_doubt(history: tuple[AnyCallEvent, ...]) -> None:
    """An answer, another attempt or a doubt that is there already leave nothing to say."""
    assert decide_doubt(DOUBT, after(*history), now=STOP_BY) == ()
    assert decide_doubt(DOUBT, None, now=STOP_BY) == ()


def test_silence_of_an_earlier_attempt_is_no_doubt_of_a_later_one() -> None:
    """A timer of attempt 1 that fires late does not touch attempt 2."""
    second = STARTED.model_copy(update={"attempt": 2, "start_id": "st_2"})
    assert decide_doubt(DOUBT, after(*DOUBTFUL, AGAIN, second), now=STOP_BY) == ()


def settle(outcome: str, **parts: Any) -> tuple[AnyCallEvent, ...]:
    """What follows when user:bo settles the doubt this way."""
    command = SettleDoubt.model_validate({"call_id": "call_1", "outcome": outcome, "note": "seen it", **parts})
    return decide_settle(command, after(*DOUBTFUL), executor="user:bo", now=LATER)


def settled(outcome: str) -> DoubtSettled:
    """The verdict on the record."""
    return DoubtSettled.model_validate(
        {"call_id": "call_1", "attempt": 1, "outcome": outcome, "note": "seen it", "at": LATER}
    )


END: dict[str, Any] = {"call_id": "call_1", "attempt": 1, "executor": "user:bo", "duration_ms": 0.0, "at": LATER}


def test_a_doubt_settled_as_succeeded_ends_the_call() -> None:
    """With the output that the person found out, in the person's name."""
    assert settle("succeeded", output=7) == (settled("succeeded"), CallSucceeded(**END, output=7))


def test_a_doubt_settled_as_failed_ends_the_call() -> None:
    """The person vouches that nothing happened; the note is the reason."""
    error = CallError(code="settled_failed", message="seen it", effect_happened="no")
    assert settle("failed") == (settled("failed"), CallFailed(**END, error=error))


def test_a_doubt_settled_as_retry_is_due_at_once() -> None:
    """Released like any other, numbered on, so that nothing of the attempt before is taken for it."""
    assert settle("retry") == (settled("retry"),)
    call = after(*DOUBTFUL, *settle("retry"))
    assert (call.status, call.attempt, call.retry_at) == ("retrying", 1, LATER)


@pytest.mark.parametrize(
    ("history", "code", "status"),
    [(RUNNING, "not_in_doubt", "running"), ((*RUNNING, ENDS[2]), "call_ended", "succeeded")],
)
def test_only_a_doubt_can_be_settled(history: tuple[AnyCallEvent, ...], code: str, status: str) -> None:
    """What still runs may answer; what ended stays so: also when a late answer came before the person did."""
    command = SettleDoubt(call_id="call_1", outcome="retry", note="seen it")
    with pytest.raises(Conflict, match=rf"^call call_1 is {status}$") as caught:
        decide_settle(command, after(*history), executor="user:bo", now=LATER)
    assert caught.value.code == code
