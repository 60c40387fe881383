"""
Reading a stream backward, newest first.

JetStream finds the next message on a subject, and not the one before. So windows of sequences are read, each
from its old end to its new one, and the windows go backward: they grow while they hold little, since other
subjects' messages lie in between, and shrink when they hold more than is wanted.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from toolbus_runtime.bus.lookups import Lookups, StoredMessage

T = TypeVar("T")
WINDOW_BYTES = 4 * 1024 * 1024  # bodies read in one window
PAGE_BYTES = 16 * 1024 * 1024  # bodies on one page: it may be shorter than asked for
_STEP = 4
_SPARE = 2  # so many times what is wanted may lie in a window


class Read(NamedTuple, Generic[T]):
    """What was found, newest first, and the sequence before which the next page begins; None after the last one."""

    items: tuple[T, ...]
    before: int | None


class Backward(Generic[T]):
    """The messages of one stream on one subject (wildcards allowed); `keep` makes of each what is kept of it."""

    def __init__(self, lookups: Lookups, stream: str, subject: str, keep: Callable[[StoredMessage], T]) -> None:
        self._lookups = lookups
        self._stream = stream
        self._subject = subject
        self._keep = keep

    async def read(self, limit: int, before: int | None = None) -> Read[T]:
        """At most `limit` messages, the newest of those before this sequence (of all when it is None)."""
        oldest = await self._next(1)
        newest = await self._lookups.last_message(self._stream, self._subject)
        if oldest is None or newest is None:
            return Read((), None)
        upper = newest.sequence + 1 if before is None else min(before, newest.sequence + 1)
        found: list[_Kept[T]] = []
        width = limit
        while upper > oldest.sequence and len(found) < limit and sum(one.size for one in found) < PAGE_BYTES:
            lower = max(oldest.sequence, upper - width)
            window = await self._window(lower, upper, _SPARE * limit)
            if window is None:
                width = max(1, (upper - lower) // _STEP)
                continue
            if len(window) * _STEP <= width:
                width *= _STEP
            found += window[: limit - len(found)]
            upper = lower
        end = found[-1].sequence if found else upper
        return Read(tuple(one.kept for one in found), end if end > oldest.sequence else None)

    async def _window(self, lower: int, upper: int, room: int) -> "list[_Kept[T]] | None":
        """The messages from `lower` up to `upper`, newest first; None when it holds more than one should read."""
        found: list[_Kept[T]] = []
        size = 0
        while lower < upper:
            message = await self._next(lower)
            if message is None or message.sequence >= upper:
                break
            size += len(message.data)
            if found and (len(found) >= room or size > WINDOW_BYTES):
                return None
            found.append(_Kept(message.sequence, len(message.data), self._keep(message)))
            lower = message.sequence + 1
        return found[::-1]

    async def _next(self, sequence: int) -> StoredMessage | None:
        return await self._lookups.next_message(self._stream, self._subject, sequence)


class _Kept(NamedTuple, Generic[T]):
    sequence: int
    size: int
    kept: T
