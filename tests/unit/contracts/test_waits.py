"""States of waits, grants and delegations, and what people see of them."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from tests.unit.approvals.making import (
    ARGUMENTS,
    EXPIRES,
    NOW,
    OPENED,
    REQUESTER,
    SOON,
    approval,
    approve,
    delegation,
    deny,
    edit,
    function,
    grant,
    person,
    then,
)
from toolbus_contracts.calls import CallError
from toolbus_contracts.waits import (
    AnswerCameLate,
    AnyWaitEvent,
    CompleteCall,
    DelegationGiven,
    DelegationRevoked,
    FunctionError,
    GrantRevoked,
    GrantUsed,
    WaitClosed,
    WaitDelegated,
    WaitEscalated,
    evolve_delegation,
    evolve_grant,
    evolve_wait,
    view_delegation,
    view_grant,
    view_wait,
)

BO = person("user:bo")
LATE = AnswerCameLate(wait_id="wait_1", said="approve", subject="user:cy", key_id=None, at=SOON)
ESCALATED = WaitEscalated(wait_id="wait_1", step=1, to=("role:lead",), at=SOON)
DELEGATED = WaitDelegated(wait_id="wait_1", subject="user:bo", key_id=None, to="user:cy", until=EXPIRES, at=SOON)
LOST = CallError(code="connection_lost", message="no answer", effect_happened="unknown")


def test_a_function_gives_output_or_error() -> None:
    """Nobody guesses which was meant."""
    error = FunctionError(message="no")
    assert CompleteCall(output=0).error is None
    assert CompleteCall(error=error).output is None
    with pytest.raises(ValidationError, match="output or error, not both"):
        CompleteCall(output=0, error=error)


@pytest.mark.parametrize(
    "event", [ESCALATED, DELEGATED, LATE, *deny(approval(), BO)], ids=lambda event: str(event.kind)
)
def test_nothing_can_be_told_of_a_stream_without_its_head(event: AnyWaitEvent) -> None:
    """A log that was cut there leaves no state."""
    assert evolve_wait(None, event) is None


def test_nothing_can_be_told_of_a_grant_without_its_head() -> None:
    """As of a wait."""
    assert evolve_grant(None, GrantUsed(grant_id="grant_1", wait_id="wait_1", at=SOON)) is None
    assert evolve_grant(None, GrantRevoked(grant_id="grant_1", subject="user:bo", at=SOON)) is None
    assert evolve_delegation(None, DelegationRevoked(delegation_id="d", subject="user:bo", at=SOON)) is None


def test_an_open_wait_is_shown_with_all_that_may_be_asked() -> None:
    """Who may decide are those of the policy and those to whom it escalated."""
    wait = then(approval("role:finance", may_edit=True), (ESCALATED,))
    wait = then(wait, edit(wait, person("user:bo", "finance"), {"amount": 1}))
    found = view_wait(wait)
    assert (found.id, found.call_id, found.kind, found.status, found.outcome) == (
        "wait_1",
        "call_1",
        "approval",
        "open",
        None,
    )
    assert (found.arguments, found.proposed, found.digest) == ({"amount": 1}, ARGUMENTS, wait.digest)
    assert found.may_decide == ("role:finance", "role:lead")
    assert (found.requester, found.labels, found.contract) == (REQUESTER, {"team": "billing"}, OPENED.terms)
    assert (len(found.edits), len(found.decisions), found.note) == (1, 1, "")
    assert (found.opened_at, found.expires_at, found.closed_at) == (NOW, EXPIRES, None)


def test_a_closed_wait_is_shown_with_its_end() -> None:
    """How, when and why, and how many came too late."""
    wait = then(approval(), (*deny(approval(), BO), LATE, LATE))
    found = view_wait(wait)
    assert (found.status, found.outcome, found.closed_at, found.note, found.late) == (
        "closed",
        "denied",
        SOON,
        "no",
        2,
    )


def test_a_failed_function_shows_its_error() -> None:
    """And a doubt that which made it one, also after it was withdrawn."""
    closed = WaitClosed(
        wait_id="wait_1", call_id="call_1", wait_kind="function", outcome="failed", digest="", error=LOST, at=SOON
    )
    assert view_wait(then(function(), (closed,))).error == LOST
    doubt = function(wait_kind="doubt", error=LOST, attempt=2)
    withdrawn = closed.model_copy(update={"outcome": "withdrawn", "error": None})
    for wait in (doubt, then(doubt, (withdrawn,))):
        assert (view_wait(wait).error, view_wait(wait).attempt, view_wait(wait).may_decide) == (LOST, 2, ())


def test_decisions_that_speak_of_other_arguments_are_void() -> None:
    """The edit stays, with who made it."""
    wait = approval(quorum=3, may_edit=True)
    wait = then(wait, approve(wait, BO))
    wait = then(wait, edit(wait, person("user:cy"), {"amount": 1}))
    assert [decision.subject for decision in wait.decisions] == ["user:cy"]
    assert [(one.subject, one.arguments) for one in wait.edits] == [("user:cy", {"amount": 1})]


def test_what_is_left_of_a_grant() -> None:
    """Nothing once it has ended or was revoked, and never less than nothing."""
    found = evolve_grant(grant(uses=2), GrantUsed(grant_id="grant_1", wait_id="wait_1", at=SOON))
    assert found is not None
    assert (found.left(SOON), found.left(EXPIRES - timedelta(microseconds=1)), found.left(EXPIRES)) == (1, 1, 0)
    assert found.model_copy(update={"uses": 0}).left(SOON) == 0
    revoked = evolve_grant(found, GrantRevoked(grant_id="grant_1", subject="user:bo", at=SOON))
    assert revoked is not None
    assert revoked.left(SOON) == 0
    shown = view_grant(revoked, SOON).model_dump(mode="json", by_alias=True)
    assert (shown["left"], shown["uses"], shown["while"], shown["subject"]) == (0, 2, None, "user:bo")
    assert "roles" not in shown


def test_a_delegation_holds_until_its_end() -> None:
    """Or until it is revoked; people see it without the roles."""
    given = DelegationGiven(
        delegation_id="delegation_1",
        subject="user:bo",
        roles=("finance",),
        key_id="key_1",
        to="user:cy",
        until=EXPIRES,
        note="",
        at=NOW,
    )
    found = evolve_delegation(None, given)
    assert found == delegation("user:bo", "user:cy", "finance")
    assert (found.holds(SOON), found.holds(EXPIRES)) == (True, False)
    revoked = evolve_delegation(found, DelegationRevoked(delegation_id="delegation_1", subject="user:bo", at=SOON))
    assert revoked is not None
    assert not revoked.holds(SOON)
    shown = view_delegation(revoked)
    assert (shown.id, shown.to, shown.revoked_at) == ("delegation_1", "user:cy", SOON)
