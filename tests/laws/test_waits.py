"""Laws of waits: whoever says whatever, in whatever order, at whatever time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.waiting import Decide, History, commands, delays, histories
from tests.unit.approvals.making import EXPIRES, NOW, REQUESTER, grant
from toolbus_approvals.core.closing import decide_escalate, decide_expire, next_due
from toolbus_approvals.core.eligible import counted, named, policy_of, right_of
from toolbus_approvals.core.grants import decide_use
from toolbus_approvals.core.late import is_over
from toolbus_approvals.core.revoking import decide_revoke
from toolbus_contracts.waits import (
    AnswerCameLate,
    AnyGrantEvent,
    DecisionRecorded,
    DelegationRevoked,
    Grant,
    Spoken,
    Wait,
    WaitClosed,
    WaitEdited,
    WaitEscalated,
    evolve_grant,
    evolve_wait,
    wait_events,
)

moments = st.floats(0, 30).map(lambda hours: NOW + timedelta(hours=hours))
ASKED_FOR_IT = {REQUESTER.subject, REQUESTER.on_behalf_of}


def end_of(history: History) -> WaitClosed | None:
    """The one event that closed the wait."""
    ends = [event for event in history.events if isinstance(event, WaitClosed)]
    assert len(ends) <= 1
    return ends[0] if ends else None


@given(history=histories(), decide=commands, now=moments, delay=delays)
def test_deciding_twice_adds_nothing(history: History, decide: Decide, now: datetime, delay: timedelta) -> None:
    """But for words that come too late, which are recorded each time that they are said."""
    if history.take(decide, now):
        again = history.take(decide, now + delay)
        assert all(isinstance(event, AnswerCameLate | WaitEscalated) for event in again)
        assert not any(isinstance(event, WaitEscalated) for event in history.take(decide, now + delay))


@given(history=histories())
def test_an_answer_is_for_whoever_asked(history: History) -> None:
    """That of a server is told to it and changes no argument; any other completes the arguments and nothing else."""
    end = end_of(history)
    if end is not None and end.outcome == "answered":
        is_told = history.wait.is_from_server
        assert (end.answers is not None, end.arguments is None) == (is_told, is_told)
        assert not is_told or end.digest == history.opened.digest


@given(history=histories(), decide=commands)
def test_a_wait_closes_once_and_nothing_counts_afterwards(history: History, decide: Decide) -> None:
    """After the end there are only words that came too late."""
    end = end_of(history)
    if end is not None:
        place = history.events.index(end)
        assert all(isinstance(event, AnswerCameLate) for event in history.events[place + 1 :])
        before = history.wait
        history.take(decide, EXPIRES)
        assert (history.wait.closed, history.wait.decisions) == (before.closed, before.decisions)
    assert (history.wait.closed is None) == (end is None)


@given(history=histories())
def test_nothing_but_decisions_makes_a_yes(history: History) -> None:
    """As many different persons with different rights as the policy asks for agreed to the very digest, in time."""
    end = end_of(history)
    if end is None or end.outcome != "approved":
        return
    wait = history.wait
    agreeing = counted(wait.decisions)
    assert len({one.subject for one in agreeing}) == len({right_of(one) for one in agreeing}) == len(agreeing)
    assert len(agreeing) >= policy_of(wait).quorum
    assert all((one.decision, one.digest) == ("approve", end.digest) for one in wait.decisions)
    assert end.by == tuple(one.subject for one in agreeing)
    assert all(one.at < EXPIRES for one in agreeing)
    assert end.digest == wait.digest


@given(history=histories())
def test_nobody_edits_and_completes_the_quorum_alone(history: History) -> None:
    """What was edited goes on only when somebody else agrees, with a right of their own."""
    end = end_of(history)
    if end is not None and end.outcome == "approved" and history.wait.edits:
        editor = history.wait.edits[-1]
        assert end.arguments == editor.arguments
        assert end.digest == editor.digest
        assert any(one.subject != editor.subject for one in counted(history.wait.decisions))
        assert len(end.by) >= 2
    elif end is not None and end.outcome == "approved":
        assert end.arguments is None


@given(history=histories())
def test_whoever_asked_for_the_call_never_decides_it(history: History) -> None:
    """Neither in person nor by anybody, unless the policy lets them; whoever decides has the right to at that time."""
    for event, state in zip(history.events[1:], history.states, strict=False):
        if not isinstance(event, DecisionRecorded | WaitEdited):
            continue
        parts = {event.subject, event.acting_for} if isinstance(event, DecisionRecorded) else {event.subject}
        if not policy_of(state).requester_may_approve:
            assert not parts & ASKED_FOR_IT
        if isinstance(event, DecisionRecorded) and named(state):
            asked = {one for one in named(state) if not one.startswith("role:")}
            roles = {"role:finance": {"user:bo", "user:cy", "user:ana"}, "role:lead": {"user:cy"}}
            asked |= {subject for role in named(state) for subject in roles.get(role, ())}
            assert right_of(event) in asked


@given(history=histories())
def test_one_no_is_the_end(history: History) -> None:
    """A denied wait has exactly one no, its last decision; no other end has any."""
    end = end_of(history)
    noes = [event for event in history.events if isinstance(event, DecisionRecorded) and event.decision == "deny"]
    if end is not None and end.outcome == "denied":
        assert [one.subject for one in noes] == list(end.by)
    else:
        assert noes == []


@given(history=histories())
def test_nothing_happens_in_time_after_its_time(history: History) -> None:
    """What is said at the expiry or later is late; only the clock and the call itself close a wait then."""
    for event in history.events[1:]:
        if history.opened.expires_at is not None and event.at >= EXPIRES and isinstance(event, WaitClosed):
            assert event.outcome in {"expired", "withdrawn"}
        if isinstance(event, DecisionRecorded | WaitEdited | WaitEscalated) and history.opened.expires_at is not None:
            assert event.at < EXPIRES
        if isinstance(event, WaitClosed) and event.outcome == "expired":
            assert event.at >= EXPIRES


@given(history=histories())
def test_what_is_due_happens_then_and_not_before(history: History) -> None:
    """The next thing that time does is known: nothing before it, something at it."""
    wait = history.wait
    due = next_due(wait)
    if due is None:
        assert wait.closed is not None or wait.expires_at is None
        assert decide_expire(wait, now=EXPIRES + timedelta(days=31)) == ()
        return
    before = due - timedelta(microseconds=1)
    assert (decide_expire(wait, now=before), decide_escalate(wait, now=before)) == ((), ())
    assert decide_expire(wait, now=due) or decide_escalate(wait, now=due)


@given(history=histories(), data=st.data())
def test_a_decided_history_may_be_cut_anywhere(history: History, data: st.DataObject) -> None:
    """A state that was written down half-way and read again goes on as if it had never been."""
    cut = data.draw(st.integers(1, len(history.events)))
    kept: Wait | None = Wait.model_validate_json(history.states[cut - 1].model_dump_json(by_alias=True))
    texts = [event.model_dump_json(by_alias=True) for event in history.events[cut:]]
    assert reduce(evolve_wait, map(wait_events.validate_json, texts), kept) == history.wait


@given(history=histories())
def test_all_events_speak_of_their_wait(history: History) -> None:
    """And those who came too late are counted."""
    assert {event.wait_id for event in history.events} == {"wait_1"}
    assert history.wait.late == sum(isinstance(event, AnswerCameLate) for event in history.events)
    assert is_over(history.wait, NOW) == (history.wait.closed is not None)


uses = st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["use"] * 9 + ["revoke"]), delays), max_size=20)


@given(room=st.integers(1, 4), taken=uses)
def test_a_grant_is_never_used_more_often_than_it_says(room: int, taken: list[tuple[int, str, timedelta]]) -> None:
    """Each wait once, none after its end or its revocation."""
    found: Grant | None = grant(uses=room)
    now, is_revoked = NOW, False
    for number, what, delay in taken:
        now += delay
        assert found is not None
        if what == "revoke":
            who = Spoken(subject="user:bo", at=now)
            events: Sequence[AnyGrantEvent | DelegationRevoked] = decide_revoke(found, who)
            is_revoked = True
        else:
            events = decide_use(found, f"wait_{number}", now)
            assert not events or (now < found.until and not is_revoked)
        for event in events:
            assert not isinstance(event, DelegationRevoked)
            found = evolve_grant(found, event)
    assert found is not None
    assert len(set(found.used_by)) == len(found.used_by) <= room
