"""Waits that are over: by an event, or because their time has passed; and what becomes of words that come too late."""

from datetime import datetime
from typing import Literal

from toolbus_contracts.errors import Conflict
from toolbus_contracts.waits import AnswerCameLate, AnyWaitEvent, Spoken, Wait, WaitKind

MAX_LATE = 100  # on the record; what comes after is answered only: a closed stream must not grow without end
Said = Literal["approve", "deny", "answer", "complete"]


def is_over(wait: Wait, now: datetime) -> bool:
    """True when nobody's word counts any more, also before the clock has said so on the wait's stream."""
    return not wait.is_open or (wait.expires_at is not None and now >= wait.expires_at)


def over(wait: Wait, now: datetime) -> Conflict:
    """The answer to whoever speaks when a wait is over: how it ended, when and by whom; what counts stands."""
    if wait.closed is None:
        ended_at = wait.expires_at or now
        return Conflict("wait_closed", f"wait {wait.id} expired at {ended_at.isoformat()}; what was said came too late")
    closed = wait.closed
    by = f" by {', '.join(closed.by)}" if closed.by else ""
    return Conflict("wait_closed", f"wait {wait.id} is {closed.outcome}{by} since {closed.at.isoformat()}")


def late(wait: Wait, who: Spoken, said: Said, note: str) -> tuple[AnyWaitEvent, ...]:
    """
    Put on the record that somebody spoke when a wait was over; whoever appends this answers with `over`.

    Raises:
        Conflict: `wait_closed`, when so many came late that no more are recorded.
    """
    if wait.late >= MAX_LATE:
        raise over(wait, who.at)
    return (AnswerCameLate(wait_id=wait.id, said=said, subject=who.subject, key_id=who.key_id, note=note, at=who.at),)


def came_late(events: tuple[AnyWaitEvent, ...]) -> bool:
    """True when these events say that somebody came too late: the answer is then `over`."""
    return any(isinstance(event, AnswerCameLate) for event in events)


def must_be(wait: Wait, kind: WaitKind) -> None:
    """
    Let only waits of this kind through.

    Raises:
        Conflict: `wrong_wait_kind`.
    """
    if wait.kind != kind:
        raise Conflict("wrong_wait_kind", f"wait {wait.id} is of kind {wait.kind}, not {kind}")


def must_match(wait: Wait, digest: str) -> None:
    """
    Let only words through that speak of what would run now.

    Raises:
        Conflict: `digest_mismatch`.
    """
    if digest != wait.digest:
        raise Conflict("digest_mismatch", f"wait {wait.id} is about {wait.digest} now, not {digest}")
