"""Who may decide an approval, and for whom."""

from datetime import timedelta

import pytest

from tests.unit.approvals.making import AFTERWARDS, EXPIRES, NOW, SOON, approval, approve, delegation, person, then
from toolbus_approvals.core.delegating import decide_delegate
from toolbus_approvals.core.eligible import Standing, counted, named, needed, standing_of
from toolbus_contracts.errors import Refused
from toolbus_contracts.waits import DelegateWait, Delegation, Spoken, Wait, WaitEscalated

BO, CY, DI = (person(f"user:{name}") for name in ("bo", "cy", "di"))
BY_NAME = approval("user:bo", "role:finance")


def refusal(wait: Wait, who: Spoken, *delegations: Delegation) -> str:
    """The words in which somebody hears that they may not decide."""
    with pytest.raises(Refused) as caught:
        standing_of(wait, who, delegations, SOON)
    assert (caught.value.code, caught.value.status) == ("not_an_approver", 403)
    return caught.value.message


def handed(wait: Wait, who: Spoken, to: str, hours: int = 1) -> Wait:
    """The wait after somebody let another decide it for so long."""
    return then(wait, decide_delegate(DelegateWait(to=to, until=who.at + timedelta(hours=hours)), wait, who))


@pytest.mark.parametrize(
    ("wait", "who"),
    [
        (BY_NAME, BO),
        (BY_NAME, person("user:di", "sales", "finance")),
        (approval(), DI),
        (approval("service:crm"), person("service:crm")),
        (approval("user:ana", requester_may_approve=True), person("user:ana")),
        (approval("agent:bot", requester_may_approve=True), person("agent:bot")),
    ],
)
def test_who_is_named_may_decide(wait: Wait, who: Spoken) -> None:
    """By subject, by role, or because nobody is named; the requester only where the policy says so."""
    assert standing_of(wait, who, (), SOON) == Standing(who.subject)


@pytest.mark.parametrize(
    ("wait", "who"),
    [
        (BY_NAME, DI),
        (BY_NAME, person("user:di", "sales")),
        (approval("role:bo"), person("user:bo")),
        (approval("user:finance"), person("user:di", "finance")),
    ],
)
def test_who_is_not_named_may_not(wait: Wait, who: Spoken) -> None:
    """A role is no person of that name, and the reverse."""
    assert refusal(wait, who) == f"{who.subject} is not among those who may decide wait wait_1"


@pytest.mark.parametrize("subject", ["agent:bot", "user:ana"])
@pytest.mark.parametrize("wait", [approval(), approval("agent:bot", "user:ana", "role:finance")])
def test_who_asked_for_the_call_may_not(wait: Wait, subject: str) -> None:
    """Neither who submitted it nor on whose behalf, with whatever role and key."""
    told = refusal(wait, person(subject, "finance", key_id="key_9"), delegation("user:bo", subject, "finance"))
    assert told == f"{subject} asked for the call, or it was asked for on their behalf"


def test_a_call_on_nobodys_behalf_has_one_requester() -> None:
    """Then only the submitter is kept out."""
    wait = approval().model_copy(update={"requester": approval().requester.model_copy(update={"on_behalf_of": None})})
    assert standing_of(wait, person("user:ana"), (), SOON) == Standing("user:ana")


def test_those_to_whom_it_escalated_may_decide_too() -> None:
    """In addition to the approvers, once it happened."""
    lead = person("user:eve", "lead")
    escalated = then(BY_NAME, (WaitEscalated(wait_id="wait_1", step=1, to=("role:lead",), at=NOW),))
    assert refusal(BY_NAME, lead)
    assert standing_of(escalated, lead, (), SOON) == Standing("user:eve")
    assert standing_of(escalated, BO, (), SOON) == Standing("user:bo")


def test_an_escalation_never_narrows() -> None:
    """Where anybody may decide, anybody still may."""
    escalated = then(approval(), (WaitEscalated(wait_id="wait_1", step=1, to=("role:lead",), at=NOW),))
    assert named(escalated) == frozenset()
    assert standing_of(escalated, DI, (), SOON) == Standing("user:di")


def test_a_delegate_of_the_wait_acts_for_who_delegated() -> None:
    """Until the moment that was said, and no longer."""
    wait = handed(BY_NAME, BO, "user:cy")
    assert standing_of(wait, CY, (), SOON) == Standing("user:cy", "user:bo")
    assert standing_of(wait, BO, (), SOON) == Standing("user:bo")
    with pytest.raises(Refused):
        standing_of(wait, CY, (), SOON + timedelta(hours=1))


def test_the_last_word_about_a_delegate_counts() -> None:
    """Whoever delegates again may give less time than before."""
    wait = handed(handed(BY_NAME, BO, "user:cy", hours=5), BO, "user:cy", hours=1)
    assert standing_of(wait, CY, (), SOON) == Standing("user:cy", "user:bo")
    with pytest.raises(Refused):
        standing_of(wait, CY, (), SOON + timedelta(hours=2))


@pytest.mark.parametrize(
    ("found", "may"),
    [
        (delegation("user:bo", "user:cy"), True),
        (delegation("user:eve", "user:cy", "finance"), True),
        (delegation("user:eve", "user:cy", "sales"), False),
        (delegation("user:eve", "user:cy"), False),
        (delegation("user:bo", "user:di"), False),
        (delegation("user:bo", "user:cy", until=SOON), False),
        (delegation("user:bo", "user:cy", revoked_at=NOW), False),
        (delegation("user:ana", "user:cy", "finance"), False),
        (delegation("agent:bot", "user:cy", "finance"), False),
    ],
)
def test_a_delegate_for_every_wait_acts_for_who_may_decide_it(found: Delegation, *, may: bool) -> None:
    """With the roles of who delegated, while it holds, and never for who asked for the call."""
    if may:
        assert standing_of(BY_NAME, CY, (found,), SOON) == Standing("user:cy", found.subject)
    else:
        assert refusal(BY_NAME, CY, found)


def test_roles_of_a_delegate_are_not_those_of_the_delegator() -> None:
    """A role that the delegate has does not make the delegator an approver."""
    found = delegation("user:eve", "user:cy")
    assert standing_of(BY_NAME, person("user:cy", "finance"), (found,), SOON) == Standing("user:cy")


def test_a_requesters_delegation_of_the_wait_is_void() -> None:
    """Should one stand in the log, it lets nobody decide."""
    allowed = approval("user:ana", requester_may_approve=True)
    wait = handed(allowed, person("user:ana"), "user:cy")
    assert standing_of(wait, CY, (), SOON) == Standing("user:cy", "user:ana")
    policy = BY_NAME.approval
    assert refusal(wait.model_copy(update={"approval": policy}), CY)


def test_a_delegate_uses_a_right_that_is_free() -> None:
    """Of several delegators the first whose right nobody used yet."""
    both = (delegation("user:bo", "user:cy"), delegation("user:eve", "user:cy", "finance"))
    wait = approval("user:bo", "role:finance", quorum=3)
    assert standing_of(wait, CY, both, SOON) == Standing("user:cy", "user:bo")
    decided = then(wait, approve(wait, BO))
    assert standing_of(decided, CY, both, SOON) == Standing("user:cy", "user:eve")
    assert standing_of(decided, CY, both[:1], SOON) == Standing("user:cy", "user:bo")


def test_one_delegator_is_named_once() -> None:
    """A delegation of this wait and one of every wait are one right."""
    wait = handed(BY_NAME, BO, "user:cy")
    assert standing_of(wait, CY, (delegation("user:bo", "user:cy"),), AFTERWARDS - timedelta(hours=24)) == Standing(
        "user:cy", "user:bo"
    )


def test_a_quorum_counts_persons_and_rights_once() -> None:
    """Two keys are one person, and a delegator with their delegate is one right."""
    wait = approval("user:bo", "user:cy", "role:finance", quorum=3)
    stand_in = person("user:di")
    found = delegation("user:bo", "user:di")
    wait = then(wait, approve(wait, stand_in, delegations=(found,)))
    wait = then(wait, approve(wait, BO))
    wait = then(wait, approve(wait, CY))
    assert approve(wait, person("user:cy", key_id="key_9")) == ()
    assert [decision.subject for decision in wait.decisions] == ["user:di", "user:bo", "user:cy"]
    assert [decision.subject for decision in counted(wait.decisions)] == ["user:di", "user:cy"]
    assert wait.is_open


def test_only_yes_counts_towards_a_quorum() -> None:
    """A no in the log is none."""
    wait = approval(quorum=2)
    decided = then(wait, approve(wait, BO))
    no = decided.decisions[0].model_copy(update={"decision": "deny", "subject": "user:cy"})
    assert counted((no, *decided.decisions)) == decided.decisions


def test_one_person_acting_for_two_is_one() -> None:
    """However many rights they use, and whatever stands in the log."""
    wait = approval(quorum=3)
    (one,) = then(wait, approve(wait, BO)).decisions
    twice = (one.model_copy(update={"acting_for": "user:eve"}), one.model_copy(update={"acting_for": "user:fay"}))
    assert counted(twice) == twice[:1]


@pytest.mark.parametrize(("quorum", "edited", "expected"), [(1, False, 1), (1, True, 2), (2, True, 2), (3, True, 3)])
def test_an_edit_needs_a_second_person(quorum: int, *, edited: bool, expected: int) -> None:
    """Whoever edits cannot complete the quorum alone."""
    wait = approval(quorum=quorum, may_edit=True)
    decided = wait.model_copy(update={"edits": ("an edit",) if edited else ()})
    assert needed(decided) == expected


def test_a_wait_of_another_kind_has_the_default_policy() -> None:
    """One person, whoever it is but the requester."""
    wait = approval().model_copy(update={"approval": None, "expires_at": EXPIRES})
    assert needed(wait) == 1
    assert standing_of(wait, DI, (), SOON) == Standing("user:di")
    assert refusal(wait, person("user:ana"))
