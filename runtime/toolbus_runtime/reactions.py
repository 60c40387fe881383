"""
Reactions: event → commands, from a checkpoint in the store, so that none is lost and none doubled.

The commands that come of an event carry ids derived from it; an event that is seen twice after a
crash changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.store.port import Checkpoint, EventStore

log = structlog.get_logger(__name__)
RETRY_S = 0.5
React = Callable[[StoredEvent], Awaitable[None]]


class Reactions:
    """
    Calls `react` for every event of these kinds, at least once.

    Events of one stream are answered in order; those of different streams of one list at once: thousands that
    came together must not wait for a commit each. Each list is heard before anything of it is answered.
    """

    def __init__(
        self,
        name: str,
        store: EventStore,
        feed: Feed,
        *,
        leadership: Leadership,
        reactions: dict[str, React],
        hear: Callable[[Sequence[StoredEvent]], None] = lambda _: None,
    ) -> None:
        self._name = f"reactions:{name}"
        self._store = store
        self._feed = feed
        self._leadership = leadership
        self._reactions = reactions
        self._hear = hear

    async def run(self) -> None:
        """Follow the log until cancelled; what cannot be done now is tried again from the same place."""
        while True:
            try:
                await self._follow()
            except Unavailable as error:
                log.warning("reaction.waiting", reactions=self._name, reason=error.message)
            except Exception:  # it stops here, loudly; relay and sweeper, which run beside it, must not
                log.exception("reaction.failed", reactions=self._name)
            await asyncio.sleep(RETRY_S)

    async def _follow(self) -> None:
        position = (await self._store.load_checkpoint(self._name)).position
        saved = asyncio.get_running_loop().time()
        async for events in self._feed.follow(position):
            self._hear(events)
            found = [event for event in events if event.kind in self._reactions]
            await self._answer(found)
            now = asyncio.get_running_loop().time()
            if found or now - saved > 1.0:
                saved = now
                checkpoint = Checkpoint(events[-1].position)
                if not await self._store.save_checkpoint(self._name, checkpoint, lease=self._leadership.lease):
                    raise Unavailable("the lease was lost")

    async def _answer(self, events: Sequence[StoredEvent]) -> None:
        """All of these are answered; when that failed for one, the others of other streams are all the same."""
        by_stream: dict[str, list[StoredEvent]] = {}
        for event in events:
            by_stream.setdefault(event.stream, []).append(event)
        results = await asyncio.gather(*map(self._in_order, by_stream.values()), return_exceptions=True)
        for error in results:
            if error is not None:
                raise error

    async def _in_order(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            await self._reactions[event.kind](event)
