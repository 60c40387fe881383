"""
The feed: this process's tail of the log, by position.

Everything that reads the log in order (relay, projections, reactions, streams to browsers) follows
it. At the head it hands events on in memory; whoever is further behind reads the store. The bus only
wakes it: a lost wake-up costs a moment, never an event.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.port import EventStore
from toolbus_runtime.waking import Wake

KEPT_EVENTS = 20_000
KEPT_CHARS = 32 * 1024 * 1024  # of their text: large events must not take all memory
READ_LIMIT = 1_000
POLL_S = 0.5
CALM_AFTER_S = 5.0  # without an event
CALM_POLL_S = 2.0


class Feed:
    """Follows one store; `offer` hands in what this process committed, `wake` says that others did."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._recent: list[StoredEvent] = []  # contiguous positions, the newest at the end
        self._chars = 0  # of the text of the recent ones
        self._head = 0
        self._changed = asyncio.Event()

    @property
    def head(self) -> int:
        """The newest position that this process has heard of."""
        return self._head

    def offer(self, events: Sequence[StoredEvent]) -> None:
        """Hand in events that were just committed here, in position order."""
        if self._recent and events[0].position != self._recent[-1].position + 1:
            self._recent, self._chars = [], 0  # another process committed in between; the rest is in the store
        self._recent.extend(events)
        self._chars += sum([len(event.data) for event in events])
        if len(self._recent) > 2 * KEPT_EVENTS or self._chars > 2 * KEPT_CHARS:
            self._trim()
        self.wake(events[-1].position)

    def _trim(self) -> None:
        """Keep the newest, half of what may be kept."""
        kept, self._chars = 0, 0
        for event in reversed(self._recent):
            if kept == KEPT_EVENTS or self._chars + len(event.data) > KEPT_CHARS:
                break
            kept += 1
            self._chars += len(event.data)
        self._recent = self._recent[len(self._recent) - kept :]

    def wake(self, position: int) -> None:
        """Say that the log reaches this position now."""
        if position > self._head:
            self._head = position
            self._changed.set()
            self._changed = asyncio.Event()

    def hear(self, wake: Wake) -> None:
        """Hear what another process committed."""
        self.wake(wake.last)

    async def newest(self) -> int:
        """
        The position where the log ends now, as the store says.

        Raises:
            Unavailable: the store is away.
        """
        self.wake(await self._store.head())
        return self._head

    async def run(self) -> None:
        """
        Look into the store now and then, in case that a wake-up was lost.

        While nothing happens it looks less often, and keeps no events: everybody has had them.
        """
        loop = asyncio.get_running_loop()
        heard, heard_at = self._head, loop.time()
        while True:
            with suppress(Unavailable):  # readiness tells that the store is away; the next look comes soon
                await self.newest()
            if self._head != heard:
                heard, heard_at = self._head, loop.time()
            is_calm = loop.time() - heard_at >= CALM_AFTER_S
            if is_calm:
                self._recent, self._chars = [], 0
            await asyncio.sleep(CALM_POLL_S if is_calm else POLL_S)

    async def follow(self, after: int, *, limit: int = READ_LIMIT) -> AsyncIterator[list[StoredEvent]]:
        """
        Every event behind `after`, in order, in lists of at most `limit`, without end.

        Raises:
            Unavailable: the store is away; follow again from the last position seen.
        """
        while True:
            changed = self._changed
            events = await self._behind(after, limit)
            if events:
                after = events[-1].position
                yield events
            else:  # a head that the store does not have (an older copy was restored) must not make us spin
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if self._head <= after else POLL_S):
                        await changed.wait()

    async def _behind(self, after: int, limit: int) -> list[StoredEvent]:
        if self._recent and self._recent[0].position <= after + 1:
            skip = after + 1 - self._recent[0].position
            if skip < len(self._recent):
                return self._recent[skip : skip + limit]
        if self._head <= after:
            return []
        return await self._store.read(after=after, limit=limit)
