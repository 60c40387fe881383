"""A store, a bus, and a relay between them, for the tests of the relay."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from tests.unit.runtime.things import Store, background, loop_clock, until
from tests.unit.runtime.wire import Wire
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.relay import BusMessage, Relay


async def to_messages(events: Sequence[StoredEvent]) -> list[list[BusMessage]]:
    """An event for those who listen, and work with every third one."""
    found = []
    for event in events:
        headers = {"ce-position": str(event.position)}
        told = BusMessage("EVENTS", f"toolbus.evt.{event.position}", event.data.encode(), headers)
        work = BusMessage("WORK", f"toolbus.work.{event.position}", b"{}", headers)
        found.append([told, work] if event.position % 3 == 0 else [told])
    return found


@dataclass
class Scene:
    """A store, a bus, and a relay between them."""

    store: Store = field(default_factory=lambda: Store(loop_clock))
    wire: Wire = field(default_factory=Wire)
    resent: int = 0

    def __post_init__(self) -> None:
        """Begin with a feed that has heard of nothing."""
        self.feed = Feed(self.store)

    async def fill(self, count: int) -> None:
        """Commit so many events."""
        for _ in range(count):
            await self.store.elsewhere("a")
        self.feed.wake(len(self.store.events))

    @asynccontextmanager
    async def relaying(self, owner: str = "a") -> AsyncIterator[Relay]:
        """A leader that relays."""
        assert await self.store.hold_lease("main", owner, 3600)
        leadership = Leadership(self.store, "main", owner)
        bus = cast("Bus", self.wire)
        relay = Relay(self.store, bus, self.feed, leadership, to_messages, self._restore, self._resend)
        async with background(relay.run()):
            yield relay

    async def caught_up(self, relay: Relay) -> None:
        """Everything that is stored counts as relayed."""
        await until(lambda: relay.position == len(self.store.events) and relay.lag == 0)

    async def _restore(self) -> None:
        for name in ("EVENTS", "WORK", "DEAD"):
            if name not in self.wire.streams:
                self.wire.make(name)

    async def _resend(self) -> None:
        self.resent += 1

    @property
    def told(self) -> list[int]:
        """The positions that lie in EVENTS, as they lie."""
        return self.wire.streams["EVENTS"].positions()
