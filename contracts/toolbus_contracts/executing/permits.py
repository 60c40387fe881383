"""Permission to make an effect: what the dispatcher's answer allows, on our own clock. Source: DESIGN §5."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from toolbus_contracts.calls import StartAnswer
from toolbus_contracts.digests import effect_digest
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.work import WorkItem


class Permit(NamedTuple):
    """Times on the executor's clock, in seconds: nothing leaves after `send_by`, all ends at `stop_by`."""

    send_by: float | None = None
    stop_by: float | None = None


def needs_start(item: WorkItem) -> bool:
    """True when nothing may be sent without asking: by order, and always when it is not safe to repeat."""
    return item.needs_start or not item.terms.is_safe_to_repeat


def held_digest(item: WorkItem, secrets: Mapping[str, int] | None = None) -> str | None:
    """
    The digest of what this work item holds, when an approval depends on it: nothing of it is taken on trust.

    `secrets`: the generation of each secret as it would be sent, by name.
    """
    if item.approved is None:
        return None
    return effect_digest(
        tenant=item.tenant,
        call_id=item.call_id,
        definition_hash=item.definition.definition_hash(item.surface),
        arguments=item.arguments,
        on_behalf_of=item.on_behalf_of,
        deadline_at=item.deadline_at,
        setup=item.setup,
        secrets=secrets,
        answers=None if item.continued is None else item.continued.given,
    )


def is_late(item: WorkItem, now: datetime) -> bool:
    """True when the deadline of the call has passed."""
    return item.deadline_at is not None and now >= item.deadline_at


def permit(item: WorkItem, answer: StartAnswer | None, *, now: datetime, clock_s: float) -> Permit | None:
    """
    What may be done, or nothing when the work is to be dropped; `answer` is none for work that need not ask.

    `now` and `clock_s` are the same moment, as the dispatcher's calendar and as the executor's clock tell it.

    Raises:
        Unavailable: another executor holds the attempt, or the answer lacks its times; come back later.
    """

    def on_clock(at: datetime) -> float:
        return clock_s + (at - now).total_seconds()

    deadline = None if item.deadline_at is None else on_clock(item.deadline_at)
    if answer is None:
        return Permit(send_by=deadline)
    match answer:
        case StartAnswer(verdict="drop"):
            return None
        case StartAnswer(verdict="go", start_by=datetime() as start_by, stop_by=datetime() as stop_by):
            send_by = on_clock(start_by)
            return Permit(send_by if deadline is None else min(send_by, deadline), on_clock(stop_by))
        case StartAnswer(verdict="go", start_by=None) if not needs_start(item):
            return Permit(send_by=deadline)
        case StartAnswer(verdict="taken", stop_by=datetime() as stop_by):
            wait_s = max((stop_by - now).total_seconds(), 0.0)
            raise Unavailable(f"{item.call_id}: another executor holds attempt {item.attempt}", wait_s + 0.1)
        case _:
            raise Unavailable(f"{item.call_id}: the answer to start lacks its times")
