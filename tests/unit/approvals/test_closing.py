"""What time does to a wait, and what becomes of one that nobody needs."""

from datetime import datetime, timedelta

import pytest

from tests.unit.approvals.making import (
    AFTERWARDS,
    DIGEST,
    EXPIRES,
    NOW,
    SOON,
    approval,
    approve,
    deny,
    function,
    person,
    question,
    then,
)
from toolbus_approvals.core.closing import decide_escalate, decide_expire, decide_withdraw, next_due
from toolbus_contracts.tools import Approval, Escalation
from toolbus_contracts.waits import Wait, WaitClosed, WaitEscalated

HOUR = timedelta(hours=1)
STEPS = (
    Escalation(after_s=7200, to=("role:board", "user:eve")),
    Escalation(after_s=3600, to=("role:lead",)),
    Escalation(after_s=86400, to=("role:late",)),
)
STAGED = approval("user:bo", quorum=2, escalate=STEPS)
ENDLESS = approval().model_copy(update={"expires_at": None})
FIRST = WaitEscalated(wait_id="wait_1", step=1, to=("role:lead",), at=NOW + HOUR)
SECOND = WaitEscalated(wait_id="wait_1", step=2, to=("role:board", "user:eve"), at=NOW + 2 * HOUR)
CLOSED = then(approval(), deny(approval(), person("user:bo")))


@pytest.mark.parametrize(
    ("wait", "note"),
    [
        (STAGED, "0 of 2 agreed in time"),
        (then(STAGED, approve(STAGED, person("user:bo"))), "1 of 2 agreed in time"),
        (function(), ""),
        (question(), ""),
    ],
)
def test_a_wait_expires_at_its_time(wait: Wait, note: str) -> None:
    """At that very moment, not before; once it is over nothing more happens to it."""
    assert decide_expire(wait, now=EXPIRES - timedelta(microseconds=1)) == ()
    for now in (EXPIRES, AFTERWARDS):
        events = decide_expire(wait, now=now)
        assert events == (
            WaitClosed(
                wait_id="wait_1",
                call_id="call_1",
                wait_kind=wait.kind,
                outcome="expired",
                digest=DIGEST,
                note=note,
                at=now,
            ),
        )
        assert decide_expire(then(wait, events), now=AFTERWARDS) == ()


@pytest.mark.parametrize("wait", [None, ENDLESS, CLOSED])
def test_what_has_no_end_or_has_ended_does_not_expire(wait: Wait | None) -> None:
    """A doubt waits until it is settled; a wait that is not there yet has nothing to expire."""
    assert decide_expire(wait, now=AFTERWARDS) == ()


@pytest.mark.parametrize(
    ("now", "events"),
    [
        (NOW + HOUR - timedelta(microseconds=1), ()),
        (NOW + HOUR, (FIRST,)),
        (NOW + 2 * HOUR, (FIRST.model_copy(update={"at": NOW + 2 * HOUR}), SECOND)),
        (EXPIRES, ()),
    ],
)
def test_a_wait_escalates_step_by_step(now: datetime, events: tuple[WaitEscalated, ...]) -> None:
    """In the order of their times, however they were written; what was missed is made up for, but not at the end."""
    assert decide_escalate(STAGED, now=now) == events


def test_each_step_is_taken_once() -> None:
    """Deciding again adds nothing until the next is due; those who were asked stay asked."""
    wait = then(STAGED, decide_escalate(STAGED, now=NOW + HOUR))
    assert decide_escalate(wait, now=NOW + HOUR) == ()
    assert decide_escalate(wait, now=NOW + 2 * HOUR) == (SECOND,)
    wait = then(wait, (SECOND,))
    assert wait.escalated_to == ("role:lead", "role:board", "user:eve")
    assert decide_escalate(wait, now=EXPIRES - timedelta(microseconds=1)) == ()


@pytest.mark.parametrize("wait", [None, CLOSED, function(), ENDLESS])
def test_what_has_no_steps_or_has_ended_does_not_escalate(wait: Wait | None) -> None:
    """Only approvals have any."""
    assert decide_escalate(wait, now=AFTERWARDS) == ()


def test_an_endless_wait_escalates_too() -> None:
    """Should there be one."""
    wait = STAGED.model_copy(update={"expires_at": None})
    assert len(decide_escalate(wait, now=AFTERWARDS)) == 3


@pytest.mark.parametrize(
    ("wait", "due"),
    [
        (STAGED, NOW + HOUR),
        (then(STAGED, (FIRST,)), NOW + 2 * HOUR),
        (then(STAGED, (FIRST, SECOND)), EXPIRES),
        (function(), EXPIRES),
        (ENDLESS, None),
        (CLOSED, None),
    ],
)
def test_the_next_thing_that_time_does_is_known(wait: Wait, due: datetime | None) -> None:
    """The next step or the end, whichever comes first."""
    assert next_due(wait) == due


def test_a_step_after_the_end_is_never_due() -> None:
    """Looking again when it says so always finds something to do."""
    late = Approval(escalate=(Escalation(after_s=172800, to=("role:lead",)),))
    wait = approval().model_copy(update={"approval": late})
    assert next_due(wait) == EXPIRES


def test_a_wait_that_its_call_needs_no_more_is_withdrawn() -> None:
    """With a note that says why; one that is over stays as it is, and one that was never opened is no wait."""
    wait = then(STAGED, approve(STAGED, person("user:bo")))
    assert decide_withdraw(wait, note="the call was cancelled", now=SOON) == (
        WaitClosed(
            wait_id="wait_1",
            call_id="call_1",
            wait_kind="approval",
            outcome="withdrawn",
            digest=DIGEST,
            note="the call was cancelled",
            at=SOON,
        ),
    )
    for other in (None, CLOSED):
        assert decide_withdraw(other, note="", now=SOON) == ()
