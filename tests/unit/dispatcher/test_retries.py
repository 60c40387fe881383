"""Attempts that came to nothing, and what releases the next one."""

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
    SAFE,
    STARTED,
    after,
    dispatched,
    outcome,
    start,
)
from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptFailed,
    Call,
    CallCancelled,
    CallDispatched,
    CallError,
    CallExpired,
    CallFailed,
    CancelCall,
    DoubtAttempt,
    DoubtSettled,
    ReleaseCall,
    ResponseExcerpt,
)
from toolbus_contracts.tools import Retry
from toolbus_dispatcher.core.calls import decide_cancel, decide_expire, decide_release, decide_start
from toolbus_dispatcher.core.outcomes import decide_doubt, decide_outcome
from toolbus_dispatcher.core.verdict import next_attempt_at

RETRY = Retry(attempts=3, first_delay_s=10.0, jitter=0.0, retry_on=(503,))
RETRIED = REQUESTED.model_copy(update={"retry": RETRY})
DUE_AT = LATER + timedelta(seconds=10)
SETTLED = DoubtSettled(call_id="call_1", attempt=1, outcome="retry", note="", at=LATER)
BUSY = CallError(
    code="http_status", message="busy", response=ResponseExcerpt(status_code=503, headers={}, body_excerpt="")
)
FAILED: dict[str, Any] = {
    "call_id": "call_1",
    "attempt": 1,
    "executor": "api_caller@a",
    "duration_ms": 12.5,
    "at": LATER,
}
ATTEMPT_FAILED = AttemptFailed(**FAILED, error=NOT_SENT, retry_at=DUE_AT)


def given(*events: AnyCallEvent, **changes: Any) -> Call:
    """A call that is tried again, with the executors, after these events."""
    return after(RETRIED.model_copy(update=changes), DISPATCHED, *events)


@pytest.mark.parametrize("history", [(), (STARTED,), (STARTED, IN_DOUBT)])
def test_what_was_not_sent_is_tried_again(history: tuple[AnyCallEvent, ...]) -> None:
    """Whatever the contract: nothing happened. Also when it is told late, of a call in doubt."""
    events = decide_outcome(outcome("not_sent", error=NOT_SENT, response_ms=2.5), given(*history), now=LATER)
    assert events == (ATTEMPT_FAILED.model_copy(update={"response_ms": 2.5}),)
    assert given(*history, *events).status == "retrying"


def test_silence_on_a_safe_effect_is_tried_again() -> None:
    """Running it again does no harm."""
    events = decide_outcome(outcome("unknown", error=LOST), given(terms=SAFE), now=LATER)
    assert events == (ATTEMPT_FAILED.model_copy(update={"error": LOST}),)


@pytest.mark.parametrize(("asked_s", "delay_s"), [(None, 10), (3.0, 10), (30.0, 30)])
def test_an_answer_that_asks_for_it_is_tried_again_of_an_unsafe_effect_too(
    asked_s: float | None, delay_s: float
) -> None:
    """Its tool lists the status in `retry_on`: an answer was received, so that nobody has to guess."""
    (event,) = decide_outcome(outcome("failed", error=BUSY, retry_after_s=asked_s), given(STARTED), now=LATER)
    retry_at = LATER + timedelta(seconds=delay_s)
    assert event == ATTEMPT_FAILED.model_copy(update={"error": BUSY, "retry_at": retry_at})


def test_a_call_without_a_retry_of_its_own_has_the_default() -> None:
    """Three attempts."""
    call = dispatched()
    (event,) = decide_outcome(outcome("not_sent"), call, now=LATER)
    assert isinstance(event, AttemptFailed)
    assert event.retry_at == next_attempt_at(call, None, LATER)
    assert call.retry == Retry(attempts=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"retry": Retry(attempts=1)},
        {"deadline_at": DUE_AT},
    ],
)
@pytest.mark.parametrize("result", ["not_sent", "unknown"])
def test_an_attempt_after_which_none_may_come_is_the_end(changes: dict[str, Any], result: str) -> None:
    """None is left, or it would come too late."""
    events = decide_outcome(outcome(result, error=NOT_SENT), given(terms=SAFE, **changes), now=LATER)
    assert events == (CallFailed(**FAILED, error=NOT_SENT),)


@pytest.mark.parametrize("result", ["not_sent", "unknown"])
def test_a_budget_that_is_used_up_makes_the_failure_the_end(result: str) -> None:
    """The answer at hand is the outcome."""
    events = decide_outcome(outcome(result, error=NOT_SENT), given(terms=SAFE), may_retry=False, now=LATER)
    assert events == (CallFailed(**FAILED, error=NOT_SENT),)


def test_a_budget_says_nothing_about_a_doubt() -> None:
    """What is unsafe is not repeated anyway."""
    (event,) = decide_outcome(outcome("unknown"), given(STARTED), may_retry=False, now=LATER)
    assert event.kind == "call.in_doubt.v1"


@pytest.mark.parametrize(("happened", "end"), [("no", CallCancelled), ("unknown", CallFailed)])
def test_a_call_that_was_to_be_stopped_is_not_tried_again(happened: str, end: type) -> None:
    """It ends as cancelled when nothing happened, and as what it is when something may have."""
    error = LOST.model_copy(update={"effect_happened": happened})
    (event,) = decide_outcome(outcome("unknown", error=error), given(STARTED, CANCEL_REQUESTED, terms=SAFE), now=LATER)
    assert isinstance(event, end)


@pytest.mark.parametrize("result", ["failed", "not_sent", "unknown"])
def test_a_failure_that_was_told_is_not_told_again(result: str) -> None:
    """The same run reported twice, or a second run of the same work, finds the call put off."""
    assert decide_outcome(outcome(result, error=LOST), given(ATTEMPT_FAILED), now=LATER) == ()


def test_a_success_that_comes_late_ends_a_call_that_was_to_be_tried_again() -> None:
    """Nothing has to be tried again then, and nothing was doubled."""
    (event,) = decide_outcome(outcome("succeeded", output=7), given(ATTEMPT_FAILED), now=LATER)
    assert event.kind == "call.succeeded.v1"


SILENT = CallError(
    code="executor_lost",
    message="attempt 1 was started and nothing was heard of it until its time was over",
    effect_happened="unknown",
)
LOST_FOR_GOOD: dict[str, Any] = {**FAILED, "executor": "dispatcher", "duration_ms": 0.0, "error": SILENT}


@pytest.mark.parametrize(
    ("history", "changes", "end"),
    [
        ((), {}, AttemptFailed(**LOST_FOR_GOOD, retry_at=DUE_AT)),
        ((), {"retry": Retry(attempts=1)}, CallFailed(**LOST_FOR_GOOD)),
        ((CANCEL_REQUESTED,), {}, CallFailed(**LOST_FOR_GOOD)),
    ],
)
def test_a_safe_attempt_that_stays_silent_is_tried_again(
    history: tuple[AnyCallEvent, ...], changes: dict[str, Any], end: AnyCallEvent
) -> None:
    """Unless none is left, or it was to be stopped: then it has failed, and nobody knows what it did."""
    call = given(STARTED, *history, terms=SAFE, **changes)
    assert decide_doubt(DoubtAttempt(call_id="call_1", attempt=1), call, now=LATER) == (end,)


def test_nothing_starts_while_a_call_is_put_off() -> None:
    """Work that is delivered again after its failure was told is dropped."""
    events, answer = decide_start(start(), given(ATTEMPT_FAILED), now=LATER)
    assert (events, answer.verdict) == ((), "drop")


@pytest.mark.parametrize("event", [ATTEMPT_FAILED, SETTLED])
def test_a_call_that_is_put_off_is_cancelled_at_once(event: AnyCallEvent) -> None:
    """Nobody has it."""
    call = given(STARTED, IN_DOUBT, event)
    cancelled = CallCancelled(call_id="call_1", reason="enough", at=LATER)
    assert decide_cancel(CancelCall(call_id="call_1", reason="enough"), call, now=LATER) == (cancelled,)


def test_a_call_that_is_put_off_ends_at_its_deadline() -> None:
    """Nothing was started that could still answer."""
    call = given(ATTEMPT_FAILED, deadline_at=DUE_AT)
    assert decide_expire(call, now=DUE_AT - timedelta(seconds=1)) == ()
    assert decide_expire(call, now=DUE_AT) == (CallExpired(call_id="call_1", at=DUE_AT),)


def release(attempt: int = 1) -> ReleaseCall:
    """The backlog lets the call go."""
    return ReleaseCall(call_id="call_1", attempt=attempt)


def test_a_held_call_is_given_to_the_executors() -> None:
    """Its first attempt."""
    assert decide_release(release(), after(RETRIED), now=NOW) == (DISPATCHED,)


@pytest.mark.parametrize("seconds", [-3600, 0, 1])
def test_a_next_attempt_is_released(seconds: float) -> None:
    """With the next number, and only when it is the one that was meant; that it is due the leader knows."""
    now = DUE_AT + timedelta(seconds=seconds)
    assert decide_release(release(2), given(ATTEMPT_FAILED), now=now) == (AGAIN.model_copy(update={"at": now}),)
    assert decide_release(release(1), given(ATTEMPT_FAILED), now=now) == ()
    assert decide_release(release(3), given(ATTEMPT_FAILED), now=now) == ()


def test_a_doubt_that_was_settled_as_retry_is_released() -> None:
    """Also when the tool's attempts are used up: a person wants it."""
    history = (STARTED, IN_DOUBT, SETTLED)
    assert decide_release(release(2), given(*history, retry=Retry(attempts=1)), now=LATER) == (
        AGAIN.model_copy(update={"at": LATER}),
    )


@pytest.mark.parametrize(
    "history",
    [
        (DISPATCHED,),
        (DISPATCHED, STARTED),
        (DISPATCHED, STARTED, IN_DOUBT),
        (CallCancelled(call_id="call_1", reason="", at=NOW),),
        (CallExpired(call_id="call_1", at=NOW),),
    ],
)
@pytest.mark.parametrize("attempt", [1, 2])
def test_only_what_waits_is_released(history: tuple[AnyCallEvent, ...], attempt: int) -> None:
    """A release that was decided twice, or came too late, adds nothing."""
    assert decide_release(release(attempt), after(RETRIED, *history), now=LATER) == ()


def test_what_is_not_there_is_not_released() -> None:
    """Nor a call whose type is not known: it was refused."""
    assert decide_release(release(), None, now=LATER) == ()
    assert decide_release(release(), after(RETRIED).model_copy(update={"tool_type": None}), now=LATER) == ()


@pytest.mark.parametrize(
    ("seconds", "kind"), [(-1, "call.dispatched.v1"), (0, "call.expired.v1"), (9, "call.expired.v1")]
)
def test_what_was_held_beyond_its_deadline_expires(seconds: float, kind: str) -> None:
    """No executor gets it any more."""
    call = after(RETRIED.model_copy(update={"deadline_at": LATER}))
    (event,) = decide_release(release(), call, now=LATER + timedelta(seconds=seconds))
    assert event.kind == kind


def test_released_twice_is_released_once() -> None:
    """Two leaders may believe to be the one."""
    first = decide_release(release(), after(RETRIED), now=NOW)
    assert first == (CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW),)
    assert decide_release(release(), after(RETRIED, *first), now=NOW) == ()
