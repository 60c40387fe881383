"""Decide what time does to a wait: it escalates, and expires; and what becomes of one that its call needs no more."""

from datetime import datetime, timedelta

from toolbus_approvals.core.eligible import counted, needed
from toolbus_contracts.tools import Escalation
from toolbus_contracts.waits import AnyWaitEvent, Wait, WaitClosed, WaitEscalated, WaitOutcome

Events = tuple[AnyWaitEvent, ...]


def next_due(wait: Wait) -> datetime | None:
    """When time does something to the wait next; none when it is over, or waits without end."""
    if not wait.is_open:
        return None
    due = [_escalates_at(wait, step) for step in _steps(wait)[wait.escalations :]]
    return min([*due, *([wait.expires_at] if wait.expires_at is not None else [])], default=None)


def decide_expire(wait: Wait | None, *, now: datetime) -> Events:
    """Close a wait whose time has passed; before that, and once it is over, nothing is added."""
    if wait is None or not wait.is_open or wait.expires_at is None or now < wait.expires_at:
        return ()
    note = f"{len(counted(wait.decisions))} of {needed(wait)} agreed in time" if wait.kind == "approval" else ""
    return (_closed(wait, "expired", note, now),)


def decide_escalate(wait: Wait | None, *, now: datetime) -> Events:
    """Let others decide as well, for every step that is due; each step once, and none after the end."""
    if wait is None or not wait.is_open or (wait.expires_at is not None and now >= wait.expires_at):
        return ()
    return tuple(
        WaitEscalated(wait_id=wait.id, step=number, to=step.to, at=now)
        for number, step in enumerate(_steps(wait), 1)
        if number > wait.escalations and now >= _escalates_at(wait, step)
    )


def decide_withdraw(wait: Wait | None, *, note: str, now: datetime) -> Events:
    """Close a wait that its call needs no more; one that is over, or was never opened, is left alone."""
    return () if wait is None or not wait.is_open else (_closed(wait, "withdrawn", note, now),)


def _steps(wait: Wait) -> list[Escalation]:
    """The escalations in the order in which they are due, however they were written."""
    return sorted(wait.approval.escalate, key=lambda step: step.after_s) if wait.approval else []


def _escalates_at(wait: Wait, step: Escalation) -> datetime:
    return wait.opened_at + timedelta(seconds=step.after_s)


def _closed(wait: Wait, outcome: WaitOutcome, note: str, now: datetime) -> WaitClosed:
    return WaitClosed(
        wait_id=wait.id,
        call_id=wait.call_id,
        wait_kind=wait.kind,
        outcome=outcome,
        digest=wait.digest,
        note=note,
        at=now,
    )
