"""Cancelling calls, and the permission to make an unsafe effect."""

from datetime import datetime, timedelta

import pytest

from tests.unit.dispatcher.making import (
    AGAIN,
    CANCEL_REQUESTED,
    DISPATCHED,
    IN_DOUBT,
    LATER,
    NOW,
    REQUESTED,
    SAFE,
    STARTED,
    STOP_BY,
    after,
    dispatched,
    outcome,
    start,
)
from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptStarted,
    CallCancelled,
    CallExpired,
    CancelCall,
    CancelRequested,
    DoubtAttempt,
    StartAnswer,
)
from toolbus_contracts.errors import Conflict, NotFound
from toolbus_contracts.tools import Limit, Rate
from toolbus_dispatcher.core.calls import decide_cancel, decide_start, known
from toolbus_dispatcher.core.outcomes import decide_doubt, decide_outcome

CANCEL = CancelCall(call_id="call_1", reason="not wanted")
CANCELLED = CallCancelled(call_id="call_1", reason="not wanted", at=LATER)
EXPIRED = CallExpired(call_id="call_1", at=NOW)
DROP = StartAnswer(verdict="drop")
SUCCEEDED = decide_outcome(outcome("succeeded"), dispatched(), now=NOW)


def test_a_command_about_an_unknown_call_is_refused() -> None:
    """There is no such call for this tenant, and the answer names it."""
    call = dispatched()
    assert known(call, "call_1") is call
    with pytest.raises(NotFound, match=r"^there is no call call_2$") as caught:
        known(None, "call_2")
    assert caught.value.code == "not_found"


@pytest.mark.parametrize("history", [(REQUESTED,), (REQUESTED, DISPATCHED)])
def test_a_call_whose_effect_was_not_started_is_cancelled_at_once(history: tuple[AnyCallEvent, ...]) -> None:
    """Nobody has to be asked, and the end says why."""
    assert decide_cancel(CANCEL, after(*history), now=LATER) == (CANCELLED,)


@pytest.mark.parametrize("history", [(STARTED,), (STARTED, IN_DOUBT)])
def test_an_effect_that_may_have_happened_is_only_asked_to_stop(history: tuple[AnyCallEvent, ...]) -> None:
    """A started or doubtful call does not end by a wish; the wish is recorded once."""
    call = after(REQUESTED, DISPATCHED, *history)
    asked = CancelRequested(call_id="call_1", attempt=1, reason="not wanted", at=LATER)
    assert decide_cancel(CANCEL, call, now=LATER) == (asked,)
    assert decide_cancel(CANCEL, after(REQUESTED, DISPATCHED, *history, asked), now=LATER) == ()


def test_cancelling_again_adds_nothing() -> None:
    """A cancelled call may be cancelled as often as one likes."""
    assert decide_cancel(CANCEL, after(REQUESTED, CANCELLED), now=LATER) == ()


@pytest.mark.parametrize(("end", "status"), [(EXPIRED, "expired"), (SUCCEEDED[0], "succeeded")])
def test_a_call_that_ended_otherwise_cannot_be_cancelled(end: AnyCallEvent, status: str) -> None:
    """Its outcome stands, and the refusal tells it."""
    with pytest.raises(Conflict, match=rf"^call call_1 is {status}$") as caught:
        decide_cancel(CANCEL, after(REQUESTED, DISPATCHED, end), now=LATER)
    assert caught.value.code == "call_ended"


def test_a_start_is_granted_for_a_bounded_time() -> None:
    """The first byte within ten seconds, the last one after the tool's time; both stand in the event."""
    events, answer = decide_start(start(), dispatched(timeout_s=30), now=LATER)
    start_by = LATER + timedelta(seconds=10)
    stop_by = start_by + timedelta(seconds=30)
    assert events == (
        AttemptStarted(
            call_id="call_1",
            attempt=1,
            start_id="st_1",
            executor="api_caller@a",
            start_by=start_by,
            stop_by=stop_by,
            at=LATER,
        ),
    )
    assert answer == StartAnswer(verdict="go", start_by=start_by, stop_by=stop_by)


def test_what_is_safe_to_repeat_starts_without_a_record() -> None:
    """It is only asked whether the call is still wanted; others may do the same at once."""
    assert decide_start(start(), dispatched(terms=SAFE), now=LATER) == ((), StartAnswer(verdict="go"))
    stopped = after(REQUESTED.model_copy(update={"terms": SAFE}), DISPATCHED, CANCELLED)
    assert decide_start(start(), stopped, now=LATER) == ((), DROP)


def test_a_rate_has_to_know_when_a_call_starts() -> None:
    """What is safe to repeat is recorded too, and silence on it is another attempt."""
    rated = REQUESTED.model_copy(update={"terms": SAFE, "limits": (Limit(of="tool", name="t", rate=Rate(calls=1)),)})
    events, answer = decide_start(start(), after(rated, DISPATCHED), now=LATER)
    assert (answer.verdict, [event.kind for event in events]) == ("go", ["call.attempt_started.v1"])
    silent = decide_doubt(DoubtAttempt(call_id="call_1", attempt=1), after(rated, DISPATCHED, *events), now=LATER)
    assert [event.kind for event in silent] == ["call.attempt_failed.v1"]


@pytest.mark.parametrize("now", [LATER, STOP_BY])
@pytest.mark.parametrize(("start_id", "verdict"), [("st_1", "go"), ("st_2", "taken")])
def test_one_start_holds_the_attempt(start_id: str, verdict: str, now: datetime) -> None:
    """The same start hears the same answer again; another hears until when the attempt is taken."""
    events, answer = decide_start(start(start_id=start_id), after(REQUESTED, DISPATCHED, STARTED), now=now)
    assert events == ()
    assert answer.model_dump(exclude_none=True) == {
        "verdict": verdict,
        "start_by": STARTED.start_by,
        "stop_by": STARTED.stop_by,
    }


@pytest.mark.parametrize(("asked_after_s", "left_s"), [(-60, None), (0, 0)])
def test_who_asks_again_for_what_is_to_be_stopped_may_not_send_any_more(asked_after_s: int, left_s: int | None) -> None:
    """Its time to send is over, or stays over: it tells that nothing was sent, if that is so."""
    unwanted = CancelRequested(call_id="call_1", attempt=1, reason="", at=LATER)
    now = STARTED.start_by + timedelta(seconds=asked_after_s)
    _, answer = decide_start(start(), after(REQUESTED, DISPATCHED, STARTED, unwanted), now=now)
    assert (answer.verdict, answer.stop_by) == ("go", STARTED.stop_by)
    assert answer.start_by == (now if left_s is None else STARTED.start_by)


@pytest.mark.parametrize(
    "history",
    [
        (REQUESTED,),
        (REQUESTED, DISPATCHED, CANCELLED),
        (REQUESTED, DISPATCHED, EXPIRED),
        (REQUESTED, DISPATCHED, STARTED, IN_DOUBT),
        (REQUESTED, DISPATCHED, *SUCCEEDED),
        (REQUESTED, DISPATCHED, STARTED, IN_DOUBT, AGAIN),
    ],
)
def test_no_start_where_none_is_due(history: tuple[AnyCallEvent, ...]) -> None:
    """A call that was cancelled, ended, is in doubt, or went on to another attempt gives no permission."""
    assert decide_start(start(), after(*history), now=LATER) == ((), DROP)


def test_no_start_for_an_unknown_call_or_a_future_attempt() -> None:
    """Work that nobody recorded is dropped."""
    assert decide_start(start(), None, now=LATER) == ((), DROP)
    assert decide_start(start(attempt=2), dispatched(), now=LATER) == ((), DROP)


@pytest.mark.parametrize(("seconds", "verdict"), [(-1, "go"), (0, "drop"), (1, "drop")])
def test_no_start_once_the_deadline_has_come(seconds: int, verdict: str) -> None:
    """The call expires instead, at the moment of its deadline and not before."""
    now = LATER + timedelta(seconds=seconds)
    events, answer = decide_start(start(), dispatched(deadline_at=LATER), now=now)
    assert answer.verdict == verdict
    if verdict == "drop":
        assert events == (CallExpired(call_id="call_1", at=now),)


def test_a_retry_that_a_person_asked_for_is_not_stopped_by_the_cancel_before_it() -> None:
    """Whoever settles a doubt as `retry` decides after the cancel: the new attempt may start, and be cancelled anew."""
    call = after(REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED, IN_DOUBT, AGAIN)
    assert not call.is_cancel_requested
    events, answer = decide_start(start(attempt=2), call, now=LATER)
    assert answer.verdict == "go"
    running = after(REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED, IN_DOUBT, AGAIN, *events)
    assert decide_cancel(CANCEL, running, now=LATER) == (
        CancelRequested(call_id="call_1", attempt=2, reason="not wanted", at=LATER),
    )
