"""
A feed of some kinds of events only: for services that have no use for most of what happens.

A wake-up says which kinds were committed where. While none of them is wanted and no position is missing between two
wake-ups, nothing is read at all; otherwise the store is asked for the wanted kinds alone.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress

from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.feed import POLL_S, READ_LIMIT, Feed
from toolbus_runtime.store.port import EventStore
from toolbus_runtime.waking import Wake

Kinds = frozenset[str]


class SelectiveFeed(Feed):
    """
    `wanted` is asked again at every wake-up and every reading: what is wanted may change.

    Whoever wants more from some event on follows again from there: what was passed over before was judged by what
    was wanted then.
    """

    def __init__(self, store: EventStore, wanted: Callable[[], Kinds]) -> None:
        super().__init__(store)
        self._wanted = wanted
        self._dull = (0, 0)  # behind the first of these positions and up to the second nothing was wanted
        self._judged_by: Kinds = frozenset()  # what was wanted all that time

    def offer(self, events: Sequence[StoredEvent]) -> None:
        """Hear of events that were just committed here."""
        self.hear(Wake(events[0].position, events[-1].position, frozenset({event.kind for event in events})))

    def hear(self, wake: Wake) -> None:
        """Hear what was committed, here or elsewhere; followers look only if there is something for them."""
        if wake.last <= self._head:
            return
        wanted = self._wanted()
        if wake.first > self._head + 1 or not wanted.isdisjoint(wake.kinds):
            self.wake(wake.last)
            return
        if self._dull[1] == self._head:
            self._dull, self._judged_by = (self._dull[0], wake.last), self._judged_by & wanted
        else:
            self._dull, self._judged_by = (self._head, wake.last), wanted
        self._head = wake.last

    async def newest(self) -> int:
        """
        The position where the log ends now, as the store says: it wins over what was heard before it was asked.

        Raises:
            Unavailable: the store is away.
        """
        believed, found = self._head, await self._store.head()
        if found < believed == self._head:
            self._head, self._dull, self._judged_by = found, (0, 0), frozenset()
        self.wake(found)
        return self._head

    async def follow(self, after: int, *, limit: int = READ_LIMIT) -> AsyncIterator[list[StoredEvent]]:
        """
        Every wanted event behind `after`, in order, in lists of at most `limit`, without end.

        Raises:
            Unavailable: the store is away; follow again from the last position seen.
        """
        is_new = True
        while True:
            changed, head, wanted = self._changed, self._head, self._wanted()
            if not is_new or wanted <= self._judged_by:
                after = self._past_dull(after)
            is_new = False
            if head > after:
                # Asked before it is read: no further than the store really goes, whatever a wake-up claims.
                end = min(head, await self.newest())
                events = await self._store.read(after=after, limit=limit, kinds=sorted(wanted))
                if events:
                    after = events[-1].position
                    yield events
                    continue
                after = max(after, end)
            if self._head != head or self._changed is not changed:
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._head <= after else POLL_S):
                    await changed.wait()

    def _past_dull(self, after: int) -> int:
        start, end = self._dull
        return end if start <= after < end else after
