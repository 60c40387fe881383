"""Edits: what was decided before is void, and nobody both edits and completes the quorum alone."""

from typing import Any

import pytest

from tests.unit.approvals.making import (
    ARGUMENTS,
    DIGEST,
    SOON,
    TENANT,
    approval,
    approve,
    delegation,
    deny,
    edit,
    kinds,
    person,
    then,
)
from toolbus_approvals.core.late import came_late
from toolbus_approvals.core.opening import digest_with
from toolbus_contracts.errors import Conflict, Refused
from toolbus_contracts.waits import DecisionRecorded, Wait, WaitEdited

BO, CY, DI = (person(f"user:{name}") for name in ("bo", "cy", "di"))
LESS = {"charge": "ch_1", "amount": 5}
LEAST = {"charge": "ch_1", "amount": 1}


def editable(quorum: int = 1, *approvers: str) -> Wait:
    """An approval whose arguments may be edited, with the digest that they really have."""
    wait = approval(*approvers, quorum=quorum, may_edit=True)
    return wait.model_copy(update={"digest": digest_with(wait, TENANT, wait.arguments)})


ONE = editable()
EDITED = then(ONE, edit(ONE, BO, LESS))


def test_an_edit_is_recorded_with_the_yes_of_who_made_it() -> None:
    """Both speak of the new digest, and the arguments of the call are kept beside the new ones."""
    digest = digest_with(ONE, TENANT, LESS)
    assert edit(ONE, BO, LESS) == (
        WaitEdited(wait_id="wait_1", arguments=LESS, digest=digest, subject="user:bo", key_id="key_1", at=SOON),
        DecisionRecorded(
            wait_id="wait_1", decision="approve", digest=digest, subject="user:bo", key_id="key_1", at=SOON
        ),
    )
    assert (EDITED.arguments, EDITED.proposed, EDITED.digest) == (LESS, ARGUMENTS, digest)


def test_whoever_edits_does_not_complete_the_quorum_alone() -> None:
    """Not by another yes, nor with another key; a second person does, and the edited arguments go with the end."""
    assert EDITED.is_open
    assert approve(EDITED, BO) == ()
    assert approve(EDITED, person("user:bo", key_id="key_9")) == ()
    closed = then(EDITED, approve(EDITED, CY)).closed
    assert closed is not None
    assert (closed.outcome, closed.digest, closed.arguments) == ("approved", EDITED.digest, LESS)
    assert closed.by == ("user:bo", "user:cy")


def test_a_delegate_does_not_complete_what_the_delegator_edited() -> None:
    """Nor the reverse: they use one right."""
    wait = editable(1, "user:bo", "user:cy")
    found = (delegation("user:bo", "user:di"),)
    edited = then(wait, edit(wait, BO, LESS))
    assert kinds(approve(edited, DI, delegations=found)) == ["decision_recorded"]
    edited = then(wait, edit(wait, DI, LESS, delegations=found))
    assert kinds(approve(edited, BO)) == ["decision_recorded"]
    assert kinds(approve(edited, CY)) == ["decision_recorded", "closed"]


def test_an_edit_voids_what_was_decided_before() -> None:
    """Who agreed to other arguments is asked again, and their old yes is a conflict."""
    wait = editable(2)
    wait = then(wait, approve(wait, CY))
    edited = then(wait, edit(wait, BO, LESS))
    assert [decision.subject for decision in edited.decisions] == ["user:bo"]
    with pytest.raises(Conflict) as caught:
        approve(edited, CY, wait.digest)
    assert caught.value.code == "digest_mismatch"
    assert kinds(approve(edited, CY)) == ["decision_recorded", "closed"]


def test_an_edit_of_an_edit_is_by_the_last_editor() -> None:
    """Whoever edited before may agree to what the other made of it."""
    again = then(EDITED, edit(EDITED, CY, LEAST))
    assert [decision.subject for decision in again.decisions] == ["user:cy"]
    assert kinds(approve(again, BO)) == ["decision_recorded", "closed"]
    assert approve(again, CY) == ()


def test_an_edit_back_to_the_proposal_is_an_edit() -> None:
    """It takes two as well, and the arguments are those of the call again."""
    back = then(EDITED, edit(EDITED, CY, ARGUMENTS))
    assert (back.digest, back.arguments) == (ONE.digest, ARGUMENTS)
    assert kinds(approve(back, BO)) == ["decision_recorded", "closed"]


def test_arguments_that_change_nothing_are_a_plain_yes() -> None:
    """Also where nothing may be edited."""
    for wait in (ONE, ONE.model_copy(update={"approval": approval().approval})):
        assert kinds(edit(wait, BO, dict(reversed(ARGUMENTS.items())))) == ["decision_recorded", "closed"]


@pytest.mark.parametrize("policy", [approval().approval, None])
def test_where_nothing_may_be_edited_an_edit_is_refused(policy: Any) -> None:
    """The default: approve it as it is, or deny."""
    with pytest.raises(Refused) as caught:
        edit(ONE.model_copy(update={"approval": policy}), BO, LESS)
    assert (caught.value.code, caught.value.status) == ("edit_not_allowed", 403)


def test_an_edit_of_what_is_no_longer_there_is_a_conflict() -> None:
    """Somebody edited meanwhile: look again."""
    with pytest.raises(Conflict) as caught:
        edit(EDITED, CY, LEAST, digest=DIGEST)
    assert caught.value.code == "digest_mismatch"


def test_the_same_edit_again_is_the_same_answer() -> None:
    """A redelivered edit, with the digest of what was there before, adds nothing; by somebody else it is a conflict."""
    assert edit(EDITED, BO, LESS, digest=ONE.digest) == ()
    approved = then(EDITED, approve(EDITED, CY))
    assert edit(approved, BO, LESS, digest=ONE.digest) == ()
    with pytest.raises(Conflict):
        edit(EDITED, CY, LESS, digest=ONE.digest)


def test_an_edit_may_be_denied() -> None:
    """By its editor too; the arguments of the call do not change then."""
    for who in (BO, CY):
        closed = then(EDITED, deny(EDITED, who)).closed
        assert closed is not None
        assert (closed.outcome, closed.arguments) == ("denied", None)


def test_a_late_edit_is_late() -> None:
    """As any other word."""
    assert came_late(edit(then(ONE, deny(ONE, CY)), BO, LESS))


def test_an_edit_may_complete_no_quorum_of_others() -> None:
    """It voids their decisions: a third person's edit needs a new quorum."""
    wait = editable(2)
    wait = then(wait, approve(wait, BO))
    wait = then(wait, edit(wait, DI, LESS))
    assert wait.is_open
    wait = then(wait, edit(wait, CY, LEAST))
    assert wait.is_open
    closed = then(wait, approve(wait, DI)).closed
    assert closed is not None
    assert closed.by == ("user:cy", "user:di")
