"""
Who may decide an approval, and for whom.

A **person** is a subject, whatever key speaks for it. A **right** is that of one person who may decide: used by that
person, or by somebody to whom it was delegated. A quorum counts decisions of different persons with different rights.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import Approval
from toolbus_contracts.waits import DecisionRecorded, Delegation, Spoken, Wait

ROLE = "role:"


class Standing(NamedTuple):
    """In whose place somebody decides: nobody's when the right is their own."""

    subject: str
    acting_for: str | None = None


def policy_of(wait: Wait) -> Approval:
    """Who has to agree."""
    return wait.approval or Approval()


def named(wait: Wait) -> frozenset[str]:
    """Roles and subjects that may decide, escalations included; empty when anybody may."""
    approvers = policy_of(wait).approvers
    return frozenset((*approvers, *wait.escalated_to)) if approvers else frozenset()


def requesters(wait: Wait) -> frozenset[str]:
    """Whose word does not count, because they asked for the call, or it was asked for on their behalf."""
    if policy_of(wait).requester_may_approve:
        return frozenset()
    return frozenset(one for one in (wait.requester.subject, wait.requester.on_behalf_of) if one)


def may_in_person(wait: Wait, subject: str, roles: Iterable[str]) -> bool:
    """Whether somebody with these roles may decide in their own right."""
    if subject in requesters(wait):
        return False
    asked = named(wait)
    return not asked or not asked.isdisjoint({subject, *(ROLE + role for role in roles)})


def standing_of(wait: Wait, who: Spoken, delegations: Sequence[Delegation], now: datetime) -> Standing:
    """
    In whose place the speaker decides: in person where they may, else for one whose right is not used yet.

    Raises:
        Refused: `not_an_approver`.
    """
    if who.subject in requesters(wait):
        raise Refused("not_an_approver", f"{who.subject} asked for the call, or it was asked for on their behalf")
    if may_in_person(wait, who.subject, who.roles):
        return Standing(who.subject)
    rights = _delegated(wait, who.subject, delegations, now)
    if not rights:
        raise Refused("not_an_approver", f"{who.subject} is not among those who may decide wait {wait.id}")
    used = {right_of(decision) for decision in wait.decisions}
    return Standing(who.subject, next((right for right in rights if right not in used), rights[0]))


def _delegated(wait: Wait, subject: str, delegations: Sequence[Delegation], now: datetime) -> list[str]:
    """Whose rights somebody may use now, without those who asked for the call."""
    last = {one.subject: one.until for one in wait.delegated if one.to == subject}  # the last word of each counts
    here = [delegator for delegator, until in last.items() if now < until and delegator not in requesters(wait)]
    everywhere = [
        one.subject
        for one in delegations
        if one.to == subject and one.holds(now) and may_in_person(wait, one.subject, one.roles)
    ]
    return [*here, *(one for one in everywhere if one not in here)]


def right_of(decision: DecisionRecorded) -> str:
    """Whose right a decision used."""
    return decision.acting_for or decision.subject


def counted(decisions: Iterable[DecisionRecorded]) -> tuple[DecisionRecorded, ...]:
    """The decisions that count towards a quorum: the first of each person and of each right."""
    found: list[DecisionRecorded] = []
    for one in decisions:
        is_new = all(one.subject != other.subject and right_of(one) != right_of(other) for other in found)
        if one.decision == "approve" and is_new:
            found.append(one)
    return tuple(found)


def needed(wait: Wait) -> int:
    """How many have to agree: after an edit always somebody besides the one who made it."""
    quorum = policy_of(wait).quorum
    return max(quorum, 2) if wait.edits else quorum
