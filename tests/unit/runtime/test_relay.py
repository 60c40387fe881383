"""The relay: every event gets to the bus, in order, whatever the bus forgets."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import orjson

from tests.unit.runtime.things import Store, background, in_virtual_time, loop_clock, pass_time, until
from tests.unit.runtime.wire import Wire
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.relay import CHECKPOINT, BusMessage, Relay


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


def test_everything_is_published_in_order() -> None:
    """Events and work, each in its stream; the lag tells what is not there yet."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(7)
        async with scene.relaying() as relay:
            assert relay.lag == 7
            await scene.caught_up(relay)
            await scene.fill(2)
            await scene.caught_up(relay)
        assert scene.told == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert scene.wire.streams["WORK"].positions() == [3, 6, 9]

    in_virtual_time(scenario())


def test_a_new_leader_goes_on_where_the_last_one_stood() -> None:
    """The checkpoint is kept when a relay stops; nothing is lost, and hardly anything told twice."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(5)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        await scene.fill(2)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        assert scene.told == [1, 2, 3, 4, 5, 6, 7]
        assert scene.resent == 0

    in_virtual_time(scenario())


def test_a_bus_that_is_away_is_waited_for() -> None:
    """Also when it goes away in the middle of a list: that list is told again from its beginning."""

    async def scenario() -> None:
        scene = Scene()
        scene.wire.is_away = True
        await scene.fill(4)
        async with scene.relaying() as relay:
            await pass_time(60)
            assert relay.position == 0
            scene.wire.is_away, scene.wire.away_after = False, 2
            await until(lambda: scene.wire.is_away)
            assert relay.position == 0
            scene.wire.is_away, scene.wire.away_after = False, None
            await scene.caught_up(relay)
        assert scene.told == [1, 2, 1, 2, 3, 4]

    in_virtual_time(scenario())


def test_events_that_the_bus_lost_are_told_again() -> None:
    """It was restored from an older copy: what is missing comes from the store, work is sent again."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            del scene.wire.streams["EVENTS"].messages[4:]
            del scene.wire.streams["WORK"].messages[1:]
            relay.on_reconnect()
            await until(lambda: len(scene.told) == 9)
            assert (scene.told, scene.resent) == ([1, 2, 3, 4, 5, 6, 7, 8, 9], 1)
            await scene.fill(1)
            await scene.caught_up(relay)
        assert scene.told[-1] == 10

    in_virtual_time(scenario())


def test_streams_that_were_taken_away_are_made_and_filled_again() -> None:
    """Also when nobody publishes anything and the connection never broke."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(3)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            scene.wire.streams.clear()
            await until(lambda: scene.wire.streams and scene.told == [1, 2, 3], 60)
            assert scene.resent == 1

    in_virtual_time(scenario())


def test_a_loss_is_made_good_once_whoever_leads_next() -> None:
    """Although no event came in between: the next leader knows the streams as they are now."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(3)
        async with scene.relaying("a") as relay:
            await scene.caught_up(relay)
            await pass_time(1)
            await scene.fill(1)
            await scene.caught_up(relay)
            assert (await scene.store.load_checkpoint(CHECKPOINT)).position == 4
            scene.wire.streams.clear()
            await until(lambda: scene.wire.streams and scene.told == [1, 2, 3, 4], 60)
        await scene.store.release_lease("main", "a")
        async with scene.relaying("b") as relay:
            await scene.caught_up(relay)
            await pass_time(5)
        assert (scene.told, scene.resent) == ([1, 2, 3, 4], 1)

    in_virtual_time(scenario())


def test_a_loss_that_is_seen_only_by_an_ack_is_made_good_too() -> None:
    """The bus came back shorter, and the relay published before it heard of the new connection."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            del scene.wire.streams["EVENTS"].messages[4:]
            await scene.fill(2)
            await until(lambda: set(scene.told) == set(range(1, 12)))
            await scene.caught_up(relay)

    in_virtual_time(scenario())


def test_lost_work_is_sent_again_when_an_ack_shows_the_loss() -> None:
    """The number that was due is the only sign of it."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            scene.wire.streams["WORK"].messages.clear()
            await scene.fill(3)
            await until(lambda: scene.resent == 1)
            await scene.caught_up(relay)

    in_virtual_time(scenario())


def test_a_refill_that_was_interrupted_goes_on() -> None:
    """The bus goes away while it is filled again; what is still missing is not forgotten."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            scene.wire.streams["EVENTS"].messages.clear()
            scene.wire.away_after = 4
            relay.on_reconnect()
            await until(lambda: scene.wire.is_away)
            scene.wire.is_away, scene.wire.away_after = False, None
            await until(lambda: set(scene.told) == set(range(1, 10)))

    in_virtual_time(scenario())


def test_a_message_that_the_bus_refuses_is_buried_and_the_others_go_on() -> None:
    """Whether it is refused at once or by its ack: one event must not stop all others."""

    async def scenario() -> None:
        scene = Scene()
        scene.wire.refused = {"toolbus.evt.2"}
        scene.wire.refused_late = {"toolbus.work.3"}
        await scene.fill(4)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        assert scene.told == [1, 3, 4]
        dead = scene.wire.streams["DEAD"].messages
        assert [kept.subject for kept in dead] == ["toolbus.dead.acme.refused_by_bus"] * 2
        assert orjson.loads(dead[0].data) == {
            "subject": "toolbus.evt.2",
            "position": 2,
            "bytes": len(scene.store.events[1].data),
        }
        assert [kept.headers for kept in dead] == [
            {"Toolbus-Error": "toolbus.evt.2 is refused in two lines"},
            {"Toolbus-Error": "too large"},
        ]

    in_virtual_time(scenario())


def test_a_message_that_cannot_even_be_buried_stops_nobody() -> None:
    """It is in the log of the process, and its event is in the store."""

    async def scenario() -> None:
        scene = Scene()
        scene.wire.refused = {"toolbus.evt.1", "toolbus.dead.acme.refused_by_bus"}
        await scene.fill(2)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        assert scene.told == [2]

    in_virtual_time(scenario())


def test_only_who_leads_keeps_the_place() -> None:
    """A leader that was paused must not set its successor back."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(2)
        async with scene.relaying("a") as old:
            await scene.caught_up(old)
            await scene.store.release_lease("main", "a")
            async with scene.relaying("b") as new:
                await scene.fill(5)
                await scene.caught_up(new)
            old.position = 1
        assert (await scene.store.load_checkpoint(CHECKPOINT)).position == 7

    in_virtual_time(scenario())


def test_a_long_log_is_followed_in_pieces_and_the_place_is_kept_on_the_way() -> None:
    """A crash far behind the head does not begin at the beginning again."""

    async def scenario() -> None:
        scene = Scene()
        async with scene.relaying() as relay:
            for _ in range(3):
                await scene.fill(2)
                await scene.caught_up(relay)
                await pass_time(1)
            assert (await scene.store.load_checkpoint(CHECKPOINT)).position >= 4

    in_virtual_time(scenario())
