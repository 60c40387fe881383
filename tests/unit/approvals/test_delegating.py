"""Delegations: of one wait, and of every wait until a moment."""

from datetime import datetime, timedelta

import pytest

from tests.unit.approvals.making import EXPIRES, SOON, approval, deny, function, person, then
from toolbus_approvals.core.delegating import (
    LONGEST,
    decide_delegate,
    decide_give_delegation,
)
from toolbus_contracts.errors import Conflict, Refused
from toolbus_contracts.waits import (
    AnyDelegationEvent,
    AnyWaitEvent,
    DelegateWait,
    Delegation,
    DelegationGiven,
    GiveDelegation,
    Spoken,
    Wait,
    WaitDelegated,
    evolve_delegation,
)

BO = person("user:bo", "finance")
WAIT = approval("role:finance", "user:di")
UNTIL = SOON + timedelta(hours=1)
WRONG_TIMES = [SOON, SOON - timedelta(seconds=1), SOON + LONGEST + timedelta(microseconds=1)]


def delegate(
    wait: Wait = WAIT, who: Spoken = BO, to: str = "user:cy", until: datetime = UNTIL
) -> tuple[AnyWaitEvent, ...]:
    """Somebody lets another decide a wait."""
    return decide_delegate(DelegateWait(to=to, until=until), wait, who)


def give(
    who: Spoken = BO, to: str = "user:cy", until: datetime = UNTIL, before: Delegation | None = None
) -> tuple[AnyDelegationEvent, ...]:
    """Somebody lets another decide every wait."""
    return decide_give_delegation(
        GiveDelegation(to=to, until=until, note="away"), before, who, delegation_id="delegation_1"
    )


def test_who_may_decide_a_wait_may_delegate_it() -> None:
    """It is on the record with key and end; the same again adds nothing, another end does."""
    events = delegate()
    assert events == (
        WaitDelegated(wait_id="wait_1", subject="user:bo", key_id="key_1", to="user:cy", until=UNTIL, at=SOON),
    )
    wait = then(WAIT, events)
    assert delegate(wait) == ()
    shorter = delegate(wait, until=UNTIL - timedelta(minutes=1))
    assert len(shorter) == 1
    assert len(delegate(then(wait, shorter))) == 1
    assert len(delegate(wait, to="user:eve")) == 1


@pytest.mark.parametrize(
    ("who", "to"),
    [
        (person("user:eve"), "user:cy"),
        (person("user:ana", "finance"), "user:cy"),
        (BO, "user:ana"),
        (BO, "agent:bot"),
    ],
)
def test_who_may_not_decide_takes_no_part_in_delegating(who: Spoken, to: str) -> None:
    """Neither gives it somebody without a right, nor somebody who asked for the call, nor is it given to these."""
    with pytest.raises(Refused) as caught:
        delegate(who=who, to=to)
    assert caught.value.code == "not_an_approver"


def test_what_was_delegated_is_not_passed_on() -> None:
    """A delegate has no right of their own."""
    with pytest.raises(Refused, match=r"^user:cy has no right of their own to decide wait wait_1$"):
        delegate(then(WAIT, delegate()), person("user:cy"), "user:di")


def test_a_requester_who_may_approve_may_delegate_too() -> None:
    """Where the policy says so."""
    wait = approval("user:ana", "user:bo", requester_may_approve=True)
    assert len(delegate(wait, person("user:ana"), "agent:bot")) == 1


def test_nobody_delegates_to_themselves() -> None:
    """It would say nothing."""
    for refused in (lambda: delegate(to="user:bo"), lambda: give(to="user:bo")):
        with pytest.raises(Refused) as caught:
            refused()
        assert (caught.value.code, [fault.path for fault in caught.value.faults]) == ("invalid_request", ["/to"])


@pytest.mark.parametrize("until", WRONG_TIMES)
def test_a_delegation_ends_in_the_next_31_days(until: datetime) -> None:
    """Not in the past, nor never."""
    for refused in (lambda: delegate(until=until), lambda: give(until=until)):
        with pytest.raises(Refused, match=r"^until must lie ahead, at most 31 days$") as caught:
            refused()
        assert (caught.value.code, [fault.path for fault in caught.value.faults]) == ("invalid_request", ["/until"])


def test_a_delegation_may_last_31_days() -> None:
    """To the moment."""
    assert delegate(until=SOON + LONGEST)
    assert give(until=SOON + LONGEST)


def test_a_wait_that_is_over_is_not_delegated() -> None:
    """By its clock, or because somebody decided it."""
    for wait, who in [(then(WAIT, deny(WAIT, BO)), BO), (WAIT, person("user:bo", "finance", at=EXPIRES))]:
        with pytest.raises(Conflict) as caught:
            delegate(wait, who)
        assert caught.value.code == "wait_closed"


def test_only_approvals_are_delegated() -> None:
    """Others have nobody who was named."""
    with pytest.raises(Conflict) as caught:
        delegate(function())
    assert caught.value.code == "wrong_wait_kind"


def test_a_delegation_of_every_wait_keeps_the_roles_of_who_gave_it() -> None:
    """As they are now."""
    given = DelegationGiven(
        delegation_id="delegation_1",
        subject="user:bo",
        roles=("finance",),
        key_id="key_1",
        to="user:cy",
        until=UNTIL,
        note="away",
        at=SOON,
    )
    assert give() == (given,)
    found = evolve_delegation(None, given)
    with pytest.raises(Conflict) as caught:
        give(before=found)
    assert caught.value.code == "already_exists"
