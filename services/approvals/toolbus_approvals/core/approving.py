"""
Decide what somebody's yes or no means for an approval.

No decision is ever a yes. One no ends the call; a yes counts for what its digest stands for; an edit voids what was
decided before, and whoever made it cannot complete the quorum alone.
"""

from collections.abc import Sequence
from typing import Literal

from toolbus_approvals.core.eligible import Standing, counted, needed, standing_of
from toolbus_approvals.core.late import is_over, late, must_be, must_match
from toolbus_contracts.errors import Refused
from toolbus_contracts.waits import (
    AnyWaitEvent,
    ApproveWait,
    DecisionRecorded,
    Delegation,
    DenyWait,
    Spoken,
    Wait,
    WaitClosed,
    WaitEdited,
    evolve_wait,
)

Events = tuple[AnyWaitEvent, ...]


def decide_approve(
    command: ApproveWait,
    wait: Wait,
    who: Spoken,
    *,
    delegations: Sequence[Delegation] = (),
    edited_digest: str | None = None,
) -> Events:
    """
    Agree to what the digest stands for, or change the arguments and agree to that.

    `edited_digest` is that of what would run with `command.arguments` (`opening.digest_with`); arguments that change
    nothing are no edit. The same word of the same person again adds nothing. When the wait is over the event says
    that it came late, and the answer is `late.over`.

    Raises:
        Refused: `not_an_approver`; `edit_not_allowed`.
        Conflict: `digest_mismatch`; `wrong_wait_kind`.
    """
    must_be(wait, "approval")
    changes = _changes(command, edited_digest)
    if _has_said(wait, who, "approve", edited_digest if changes and edited_digest else command.digest):
        return ()
    standing = standing_of(wait, who, delegations, who.at)
    if is_over(wait, who.at):
        return late(wait, who, "approve", command.note)
    must_match(wait, command.digest)
    if changes and edited_digest is not None:
        if wait.approval is None or not wait.approval.may_edit:
            raise Refused("edit_not_allowed", f"the arguments of wait {wait.id} may be approved or denied only")
        return _edited(command, wait, who, standing, digest=edited_digest)
    return agreed(wait, _decision(wait, who, standing, says="approve", note=command.note))


def decide_deny(command: DenyWait, wait: Wait, who: Spoken, *, delegations: Sequence[Delegation] = ()) -> Events:
    """
    Say no, which ends the wait; the same no of the same person again adds nothing.

    Raises:
        Refused: `not_an_approver`.
        Conflict: `digest_mismatch`; `wrong_wait_kind`.
    """
    must_be(wait, "approval")
    if _has_said(wait, who, "deny", command.digest):
        return ()
    standing = standing_of(wait, who, delegations, who.at)
    if is_over(wait, who.at):
        return late(wait, who, "deny", command.note)
    must_match(wait, command.digest)
    decision = _decision(wait, who, standing, says="deny", note=command.note)
    return decision, _closed(wait, "denied", decision, by=(who.subject,))


def agreed(wait: Wait, decision: DecisionRecorded) -> Events:
    """A yes, and the end of the wait when it was the last one needed."""
    word_of = counted((*wait.decisions, decision))
    if len(word_of) < needed(wait):
        return (decision,)
    return decision, _closed(wait, "approved", decision, by=tuple(one.subject for one in word_of))


def _edited(command: ApproveWait, wait: Wait, who: Spoken, standing: Standing, *, digest: str) -> Events:
    edited = WaitEdited(
        wait_id=wait.id,
        arguments=command.arguments,
        digest=digest,
        subject=who.subject,
        key_id=who.key_id,
        note=command.note,
        at=who.at,
    )
    afterwards = evolve_wait(wait, edited) or wait
    return edited, *agreed(afterwards, _decision(afterwards, who, standing, says="approve", note=command.note))


def _changes(command: ApproveWait, edited_digest: str | None) -> bool:
    """Whether the command brings other arguments than those that its digest stands for."""
    if (command.arguments is None) != (edited_digest is None):
        raise AssertionError("an edit comes with the digest of what it makes, and only an edit does")
    return edited_digest is not None and edited_digest != command.digest


def _has_said(wait: Wait, who: Spoken, decision: Literal["approve", "deny"], digest: str) -> bool:
    return any((one.subject, one.decision, one.digest) == (who.subject, decision, digest) for one in wait.decisions)


def _decision(
    wait: Wait, who: Spoken, standing: Standing, *, says: Literal["approve", "deny"], note: str
) -> DecisionRecorded:
    return DecisionRecorded(
        wait_id=wait.id,
        decision=says,
        digest=wait.digest,
        subject=who.subject,
        key_id=who.key_id,
        acting_for=standing.acting_for,
        note=note,
        at=who.at,
    )


def _closed(
    wait: Wait, outcome: Literal["approved", "denied"], last: DecisionRecorded, *, by: tuple[str, ...]
) -> WaitClosed:
    return WaitClosed(
        wait_id=wait.id,
        call_id=wait.call_id,
        wait_kind=wait.kind,
        outcome=outcome,
        digest=wait.digest,
        arguments=wait.arguments if wait.edits and outcome == "approved" else None,
        by=by,
        note=last.note,
        at=last.at,
    )
