"""Laws of decisions about a call: whatever is asked, in whatever order, at whatever time."""

from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.histories import RETRY_ON, Decide, History, commands, delays, histories, steps
from tests.unit.dispatcher.making import NOW, outcome
from toolbus_contracts.calls import (
    MAX_ROUNDS,
    TERMINAL_KINDS,
    AttemptFailed,
    AttemptStarted,
    Call,
    CallDispatched,
    CallInDoubt,
    CallResumed,
    DoubtProbed,
    DoubtSettled,
    InputRequired,
    WaitAsked,
    call_digest,
    call_events,
    evolve_call,
)
from toolbus_dispatcher.core.outcomes import decide_outcome

AFTERWARDS = NOW + timedelta(days=1)


@given(history=histories(), decide=commands)
def test_deciding_twice_adds_nothing(history: History, decide: Decide) -> None:
    """The same command a second time finds nothing left to decide, or is refused; its time does not matter."""
    if history.take(decide, AFTERWARDS):
        assert history.take(decide, AFTERWARDS + timedelta(seconds=1)) == ()


@given(taken=steps)
def test_every_decided_event_moves_a_state(taken: list[tuple[Decide, timedelta]]) -> None:
    """From nothing on, an event that was decided leads to a state that speaks of the same call."""
    history, now = History(), NOW
    for decide, delay in taken:
        now += delay
        events = history.take(decide, now)
        if events:
            assert history.call is not None
            assert all(event.call_id == history.call.id for event in events)


@given(history=histories())
def test_a_call_ends_at_most_once(history: History) -> None:
    """One terminal event for any order of commands, and nothing after it."""
    ends = [index for index, event in enumerate(history.events) if event.kind in TERMINAL_KINDS]
    assert len(ends) <= 1
    assert ends in ([], [len(history.events) - 1])
    assert history.call is not None
    assert history.call.is_terminal == bool(ends)
    assert (history.call.finished_at is not None) == bool(ends)


@given(history=histories(), decide=commands)
def test_what_has_ended_stays_as_it_is(history: History, decide: Decide) -> None:
    """No command adds anything to a call that ended."""
    if history.call is not None and history.call.is_terminal:
        assert history.take(decide, AFTERWARDS) == ()


@given(history=histories(), data=st.data())
def test_a_decided_history_may_be_cut_anywhere(history: History, data: st.DataObject) -> None:
    """A state that was written down half-way and read again goes on as if it had never been."""
    cut = data.draw(st.integers(0, len(history.events)))
    half = history.states[cut]
    kept = half and Call.model_validate_json(half.model_dump_json(by_alias=True))
    texts = [event.model_dump_json(by_alias=True) for event in history.events[cut:]]
    assert reduce(evolve_call, map(call_events.validate_json, texts), kept) == history.call


@given(history=histories())
def test_an_unsafe_effect_is_started_once_per_attempt(history: History) -> None:
    """No two executors hold a permission for one attempt, and attempts are numbered one by one."""
    started = [event.attempt for event in history.events if isinstance(event, AttemptStarted)]
    assert len(set(started)) == len(started)
    given_out = [event.attempt for event in history.events if isinstance(event, CallDispatched)]
    assert given_out == list(range(1, len(given_out) + 1))


@given(history=histories())
def test_a_further_attempt_has_a_ground(history: History) -> None:
    """The one before failed, a person wants another, or its server was answered; nothing was told in between."""
    asked: InputRequired | None = None
    for before, event in pairwise(history.events):
        asked = event if isinstance(event, InputRequired) else asked
        if isinstance(event, CallDispatched) and event.attempt > 1:
            ground = asked if isinstance(before, CallResumed) else before
            assert isinstance(ground, AttemptFailed | DoubtSettled | InputRequired)
            assert not isinstance(ground, DoubtSettled) or ground.outcome == "retry"
            assert ground.attempt == event.attempt - 1


@given(history=histories())
def test_an_unsafe_effect_is_repeated_only_when_it_is_known_not_to_have_happened(history: History) -> None:
    """Nothing was sent, the answer asks for it, the probe or a person says so: never for silence."""
    assert history.call is not None
    if history.call.terms.is_safe_to_repeat:
        return
    for before, event in pairwise([None, *history.events]):
        if not isinstance(event, AttemptFailed):
            continue
        assert event.error.code in {"not_sent", "http_status", "probed_failed", "input_required"}
        if event.error.code == "http_status":
            assert event.error.response is not None
            assert event.error.response.status_code == RETRY_ON
        if event.error.code == "input_required":
            assert isinstance(before, InputRequired)
        if event.error.code == "probed_failed":
            assert isinstance(before, DoubtProbed)
            assert before.verdict == "not_happened"


@given(history=histories(), result=st.sampled_from(["failed", "not_sent", "unknown"]))
def test_who_did_not_start_tells_nothing_of_who_did(history: History, result: str) -> None:
    """The same work, given to somebody else too, may have sent nothing: that says nothing of what was started."""
    call = history.call
    if call is not None and call.start is not None:
        told = outcome(result, call.attempt, delivery_id="st_9")
        assert decide_outcome(told, call, now=AFTERWARDS) == ()


@given(history=histories())
def test_retries_are_bounded_and_put_off(history: History) -> None:
    """By the tool's number of attempts, except when a person wants another, or its server; and each has its time."""
    rounds = 0
    for event in history.events:
        rounds += isinstance(event, InputRequired)
        if isinstance(event, AttemptFailed):
            assert event.attempt - rounds < (history.call.retry.attempts if history.call else 0)
            assert event.retry_at > event.at
    assert rounds <= MAX_ROUNDS


@given(history=histories())
def test_a_doubt_is_probed_once(history: History) -> None:
    """Then only a late answer or a person can tell."""
    probed = [event.attempt for event in history.events if isinstance(event, DoubtProbed)]
    doubted = [event.attempt for event in history.events if isinstance(event, CallInDoubt)]
    assert len(set(probed)) == len(probed)
    assert set(probed) <= set(doubted)


@given(history=histories())
def test_a_safe_call_is_never_in_doubt(history: History) -> None:
    """Running it again is always an answer, also when it had to ask to start."""
    doubted = any(isinstance(event, CallInDoubt) for event in history.events)
    assert history.call is not None
    assert not (doubted and history.call.terms.is_safe_to_repeat)


@given(history=histories(), delay=delays)
def test_cancelling_never_hides_an_effect(history: History, delay: timedelta) -> None:
    """A call is cancelled or expired only while no effect of its present attempt was started."""
    for event, state in zip(history.events, history.states, strict=False):
        if event.kind == "call.expired.v1":
            assert state is not None
            assert state.start is None
        if event.kind == "call.cancelled.v1" and state is not None and state.start is not None:
            assert event.model_dump()["reason"] == "nothing was sent"


def moments(history: History) -> list[datetime]:
    """When each event was decided."""
    return [event.at for event in history.events]


@given(history=histories())
def test_a_log_tells_its_story_in_order(history: History) -> None:
    """Times never run backwards, and a permission ends after it begins."""
    assert moments(history) == sorted(moments(history))
    for event in history.events:
        if isinstance(event, AttemptStarted):
            assert event.at < event.start_by < event.stop_by


@given(history=histories())
def test_nothing_is_given_out_that_somebody_still_has_to_agree_to(history: History) -> None:
    """No attempt before the approval, none of a function; and a start is granted to what was approved alone."""
    for event, state in zip(history.events, history.states, strict=False):
        if isinstance(event, CallDispatched | AttemptStarted):
            assert state is not None
            assert state.wait is None
            assert state.tool_type != "function"
            assert state.approval is None or state.approved is not None
            assert state.asked is None or not state.asked.is_open
        if isinstance(event, AttemptStarted) and state is not None and state.approved is not None:
            assert state.approved.digest == call_digest("acme", state)


@given(history=histories())
def test_waits_are_numbered_one_by_one_and_answered_once(history: History) -> None:
    """Each is asked for when the one before has been answered."""
    asked = [event.number for event in history.events if isinstance(event, WaitAsked)]
    answered = [event.wait_id for event in history.events if isinstance(event, CallResumed)]
    assert asked == list(range(1, len(asked) + 1))
    assert len(set(answered)) == len(answered)
    assert len(asked) - len(answered) in {0, 1}
    assert history.call is not None
    assert (history.call.wait is not None) == (history.call.status == "waiting")
