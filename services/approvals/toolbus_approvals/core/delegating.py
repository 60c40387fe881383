"""Decide about delegations: of one wait, and of every wait until a moment. What was delegated is not passed on."""

from datetime import datetime, timedelta

from toolbus_approvals.core.eligible import may_in_person, requesters
from toolbus_approvals.core.late import is_over, must_be, over
from toolbus_contracts.errors import Conflict, Fault, Refused
from toolbus_contracts.tools import MAX_WAIT_S
from toolbus_contracts.waits import (
    AnyDelegationEvent,
    AnyWaitEvent,
    Delegated,
    DelegateWait,
    Delegation,
    DelegationGiven,
    GiveDelegation,
    Spoken,
    Wait,
    WaitDelegated,
)

LONGEST = timedelta(seconds=MAX_WAIT_S)  # longer than any wait can stand


def must_end_soon(until: datetime, now: datetime) -> None:
    """
    Let only moments through that lie ahead, and not too far.

    Raises:
        Refused: `invalid_request`.
    """
    if not now < until <= now + LONGEST:
        message = f"until must lie ahead, at most {LONGEST.days} days"
        raise Refused("invalid_request", message, (Fault("/until", message),))


def decide_delegate(command: DelegateWait, wait: Wait, who: Spoken) -> tuple[AnyWaitEvent, ...]:
    """
    Let somebody else decide this wait in the speaker's place; the last word about each of them counts.

    Raises:
        Refused: `not_an_approver`, the speaker may not decide in their own right, or the other may never decide it;
            `invalid_request`.
        Conflict: `wait_closed`; `wrong_wait_kind`.
    """
    must_be(wait, "approval")
    if not may_in_person(wait, who.subject, who.roles):
        raise Refused("not_an_approver", f"{who.subject} has no right of their own to decide wait {wait.id}")
    _must_be_another(command.to, who.subject)
    if command.to in requesters(wait):
        raise Refused("not_an_approver", f"{command.to} asked for the call, or it was asked for on their behalf")
    if is_over(wait, who.at):
        raise over(wait, who.at)
    must_end_soon(command.until, who.at)
    before = [one for one in wait.delegated if (one.subject, one.to) == (who.subject, command.to)]
    if before and before[-1] == Delegated(subject=who.subject, to=command.to, until=command.until):
        return ()
    return (
        WaitDelegated(
            wait_id=wait.id, subject=who.subject, key_id=who.key_id, to=command.to, until=command.until, at=who.at
        ),
    )


def decide_give_delegation(
    command: GiveDelegation, delegation: Delegation | None, who: Spoken, *, delegation_id: str
) -> tuple[AnyDelegationEvent, ...]:
    """
    Let somebody else decide every wait in the speaker's place until a moment, with the roles the speaker has now.

    Raises:
        Refused: `invalid_request`, to oneself, or not until a moment at most 31 days ahead.
        Conflict: `already_exists`.
    """
    if delegation is not None:
        raise Conflict("already_exists", f"delegation {delegation_id} exists")
    _must_be_another(command.to, who.subject)
    must_end_soon(command.until, who.at)
    return (
        DelegationGiven(
            delegation_id=delegation_id,
            subject=who.subject,
            roles=who.roles,
            key_id=who.key_id,
            to=command.to,
            until=command.until,
            note=command.note,
            at=who.at,
        ),
    )


def _must_be_another(to: str, subject: str) -> None:
    if to == subject:
        message = "nobody delegates to themselves"
        raise Refused("invalid_request", message, (Fault("/to", message),))
