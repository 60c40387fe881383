"""Yes and no: the quorum, repeated and late decisions, wrong digests."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.unit.approvals.making import (
    AFTERWARDS,
    DIGEST,
    EXPIRES,
    OTHER,
    SOON,
    approval,
    approve,
    delegation,
    deny,
    function,
    kinds,
    person,
    then,
)
from toolbus_approvals.core.approving import decide_approve
from toolbus_approvals.core.closing import decide_expire, decide_withdraw
from toolbus_approvals.core.late import MAX_LATE, came_late, is_over, over
from toolbus_contracts.errors import Conflict, Refused
from toolbus_contracts.waits import AnswerCameLate, AnyWaitEvent, ApproveWait, DecisionRecorded, Wait, WaitClosed

Say = Callable[..., tuple[AnyWaitEvent, ...]]
BO, CY, DI = (person(f"user:{name}") for name in ("bo", "cy", "di"))
ONE = approval()
TWO = approval("user:bo", "user:cy", "user:di", quorum=2)
APPROVED = then(ONE, approve(ONE, BO))
DENIED = then(ONE, deny(ONE, BO))
EXPIRED = then(ONE, decide_expire(ONE, now=EXPIRES))
WITHDRAWN = then(ONE, decide_withdraw(ONE, note="cancelled", now=SOON))
LATER = SOON + timedelta(seconds=1)


def test_one_yes_ends_an_approval_that_needs_one() -> None:
    """It is on the record with digest and key, and the end names who agreed; unedited arguments stay with the call."""
    decision = DecisionRecorded(
        wait_id="wait_1",
        decision="approve",
        digest=DIGEST,
        subject="user:bo",
        key_id="key_1",
        note="fine",
        at=SOON,
    )
    closed = WaitClosed(
        wait_id="wait_1",
        call_id="call_1",
        wait_kind="approval",
        outcome="approved",
        digest=DIGEST,
        by=("user:bo",),
        note="fine",
        at=SOON,
    )
    assert approve(ONE, BO) == (decision, closed)


def test_two_of_three_are_two_different_persons() -> None:
    """The first yes leaves it open, the same person again adds nothing, the second ends it and both are named."""
    wait = then(TWO, approve(TWO, CY))
    assert wait.is_open
    assert approve(wait, CY) == ()
    assert approve(wait, person("user:cy", key_id="key_9", at=LATER)) == ()
    events = approve(wait, DI)
    assert kinds(events) == ["decision_recorded", "closed"]
    closed = then(wait, events).closed
    assert closed is not None
    assert (closed.outcome, closed.by) == ("approved", ("user:cy", "user:di"))


def test_a_delegate_is_recorded_with_whose_right_they_used() -> None:
    """And counts as themselves among those who agreed."""
    wait = approval("user:bo")
    events = approve(wait, CY, delegations=(delegation("user:bo", "user:cy"),))
    decision = events[0]
    assert isinstance(decision, DecisionRecorded)
    assert (decision.subject, decision.acting_for) == ("user:cy", "user:bo")
    closed = then(wait, events).closed
    assert closed is not None
    assert closed.by == ("user:cy",)


def test_delegator_and_delegate_do_not_make_two() -> None:
    """Both words are on the record, and one right was used."""
    found = (delegation("user:bo", "user:eve"),)
    wait = then(TWO, approve(TWO, person("user:eve"), delegations=found))
    assert kinds(approve(wait, BO)) == ["decision_recorded"]
    wait = then(wait, approve(wait, BO))
    assert wait.is_open
    assert approve(wait, BO) == ()
    closed = then(wait, approve(wait, CY)).closed
    assert closed is not None
    assert closed.by == ("user:eve", "user:cy")


def test_one_no_ends_it() -> None:
    """Whoever has agreed before: also the same person, who has changed their mind."""
    wait = then(TWO, approve(TWO, BO))
    for who in (BO, CY):
        decision, closed = deny(wait, who)
        assert isinstance(decision, DecisionRecorded)
        assert isinstance(closed, WaitClosed)
        assert (decision.decision, closed.outcome, closed.by, closed.note) == ("deny", "denied", (who.subject,), "no")
        assert closed.arguments is None


@pytest.mark.parametrize("say", [approve, deny])
def test_who_may_not_decide_is_refused(say: Say) -> None:
    """Before anything else is said about the wait, also when it is over."""
    for wait in (TWO, then(TWO, deny(TWO, BO))):
        with pytest.raises(Refused) as caught:
            say(wait, person("user:eve"), OTHER)
        assert caught.value.code == "not_an_approver"


def test_a_wrong_digest_is_a_conflict() -> None:
    """What is approved is what was looked at."""
    for say in (approve, deny):
        with pytest.raises(Conflict) as caught:
            say(ONE, BO, OTHER)
        assert (caught.value.code, caught.value.status) == ("digest_mismatch", 409)
        assert caught.value.message == f"wait wait_1 is about {DIGEST} now, not {OTHER}"


def test_another_kind_is_a_conflict() -> None:
    """A function is completed, not approved."""
    for say in (approve, deny):
        with pytest.raises(Conflict, match=r"^wait wait_1 is of kind function, not approval$") as caught:
            say(function(), BO)
        assert caught.value.code == "wrong_wait_kind"


def test_the_same_decision_again_is_the_same_answer() -> None:
    """By the person whose word counted, however late; a redelivered yes must not be refused for having worked."""
    assert approve(APPROVED, person("user:bo", key_id="key_9", at=AFTERWARDS)) == ()
    assert deny(DENIED, person("user:bo", at=AFTERWARDS)) == ()


def test_a_delegates_decision_again_needs_no_delegation() -> None:
    """It counted when it was made."""
    wait = approval("user:bo")
    decided = then(wait, approve(wait, CY, delegations=(delegation("user:bo", "user:cy"),)))
    assert approve(decided, CY) == ()


@pytest.mark.parametrize("wait", [APPROVED, DENIED, EXPIRED, WITHDRAWN])
def test_whoever_speaks_too_late_is_recorded_without_effect(wait: Wait) -> None:
    """A yes and a no, with the right digest or another one."""
    yes = AnswerCameLate(wait_id="wait_1", said="approve", subject="user:cy", key_id="key_1", note="fine", at=SOON)
    no = yes.model_copy(update={"said": "deny", "note": "no"})
    for events, recorded in [(approve(wait, CY), yes), (deny(wait, CY), no), (approve(wait, CY, OTHER), yes)]:
        assert events == (recorded,)
        assert came_late(events)
        afterwards = then(wait, events)
        assert (afterwards.closed, afterwards.decisions, afterwards.late) == (wait.closed, wait.decisions, 1)


def test_the_other_word_of_the_same_person_is_late() -> None:
    """A no after one's own yes has ended it, and the reverse."""
    assert came_late(deny(APPROVED, BO))
    assert came_late(approve(DENIED, BO))


@pytest.mark.parametrize(("at", "is_late"), [(EXPIRES - timedelta(microseconds=1), False), (EXPIRES, True)])
def test_time_ends_a_wait_before_the_clock_says_so(at: datetime, *, is_late: bool) -> None:
    """A yes at the very moment of expiry is no yes, also when nobody has closed the wait yet."""
    for say in (approve, deny):
        assert came_late(say(ONE, person("user:bo", at=at))) == is_late
    with pytest.raises(Conflict) as caught:
        raise over(ONE, EXPIRES)
    assert caught.value.message == f"wait wait_1 expired at {EXPIRES.isoformat()}; what was said came too late"


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        (APPROVED, f"wait wait_1 is approved by user:bo since {SOON.isoformat()}"),
        (DENIED, f"wait wait_1 is denied by user:bo since {SOON.isoformat()}"),
        (EXPIRED, f"wait wait_1 is expired since {EXPIRES.isoformat()}"),
        (WITHDRAWN, f"wait wait_1 is withdrawn since {SOON.isoformat()}"),
    ],
)
def test_a_late_speaker_hears_how_it_ended(wait: Wait, told: str) -> None:
    """With 409, when and by whom."""
    error = over(wait, AFTERWARDS)
    assert (error.code, error.status, error.message) == ("wait_closed", 409, told)


def test_a_wait_without_end_is_over_when_it_was_closed() -> None:
    """A doubt has no time of its own."""
    wait = ONE.model_copy(update={"expires_at": None})
    assert not is_over(wait, AFTERWARDS)
    assert is_over(WITHDRAWN.model_copy(update={"expires_at": None}), SOON)
    assert over(wait, SOON).message.startswith(f"wait wait_1 expired at {SOON.isoformat()}")


def test_late_words_do_not_fill_the_log() -> None:
    """After a hundred they are answered, and not recorded."""
    assert came_late(approve(DENIED.model_copy(update={"late": MAX_LATE - 1}), CY))
    for say in (approve, deny):
        with pytest.raises(Conflict) as caught:
            say(DENIED.model_copy(update={"late": MAX_LATE}), CY)
        assert caught.value.code == "wait_closed"


def test_nothing_that_was_said_in_time_is_late() -> None:
    """Neither events that decide, nor none."""
    assert not came_late(approve(ONE, BO))
    assert not came_late(())


@pytest.mark.parametrize(("arguments", "digest"), [({"amount": 1}, None), (None, OTHER)])
def test_an_edit_without_its_digest_is_a_fault_of_ours(arguments: dict[str, int] | None, digest: str | None) -> None:
    """It must never be taken for a yes to the arguments as they are."""
    with pytest.raises(AssertionError):
        decide_approve(ApproveWait(digest=DIGEST, arguments=arguments), ONE, BO, edited_digest=digest)


def test_an_approver_races_with_a_no() -> None:
    """Whoever is decided first counts, and the other came too late."""
    assert came_late(approve(then(ONE, deny(ONE, CY)), BO))
    assert came_late(deny(then(ONE, approve(ONE, BO)), CY))
