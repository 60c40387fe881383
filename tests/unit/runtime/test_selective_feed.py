"""A feed of some kinds of events: what is of no use is not read, what is of use is never missed."""

import asyncio
from collections.abc import Sequence

from tests.unit.runtime.things import Store, background
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime import waking
from toolbus_runtime.feed import Feed
from toolbus_runtime.selective_feed import SelectiveFeed
from toolbus_runtime.waking import Wake


class Counting(Store):
    """A store that takes kinds, and counts how often it is read."""

    reads = 0

    async def read(
        self,
        *,
        after: int = 0,
        limit: int = 1000,
        tenant: str | None = None,
        categories: Sequence[str] = (),
        kinds: Sequence[str] = (),
        correlation_id: str | None = None,
        stream: str | None = None,
    ) -> list[StoredEvent]:
        """The events of these kinds behind a place."""
        assert (tenant, categories, correlation_id, stream) == (None, (), None, None)
        self.reads += 1
        return [event for event in self.events if event.position > after and event.kind in kinds][:limit]


class Rig:
    """A store, a feed of what is wanted, and what a follower has seen."""

    def __init__(self, *wanted: str) -> None:
        self.store = Counting()
        self.wanted = frozenset(wanted)
        self.feed = SelectiveFeed(self.store, lambda: self.wanted)
        self.seen: list[int] = []

    async def commit(self, *kinds: str, is_told: bool = True) -> None:
        """Another process commits events of these kinds, and says so."""
        before = len(self.store.events)
        for kind in kinds:
            await self.store.elsewhere("a")
            self.store.events[-1] = self.store.events[-1]._replace(kind=kind)
        if is_told:
            wake = waking.read(waking.written(self.store.events[before:]))
            assert wake is not None
            self.feed.hear(wake)

    async def follow(self, after: int = 0, limit: int = 1000) -> None:
        """Follow without end."""
        async for events in self.feed.follow(after, limit=limit):
            self.seen += [event.position for event in events]

    async def settled(self) -> list[int]:
        """What was seen when nobody has anything to do any more."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self.seen


async def test_what_nobody_wants_is_not_read() -> None:
    """However much of it is committed."""
    rig = Rig("good")
    await rig.commit("good")
    async with background(rig.follow()):
        assert await rig.settled() == [1]
        reads = rig.store.reads
        for _ in range(50):
            await rig.commit("bad", "worse")
        assert await rig.settled() == [1]
        assert rig.store.reads == reads
        await rig.commit("bad", "good")
        assert await rig.settled() == [1, 103]
        assert rig.store.reads == reads + 1


async def test_a_lost_wake_up_is_made_up_for_by_the_next() -> None:
    """A gap between two of them may hold anything."""
    rig = Rig("good")
    await rig.commit("bad")
    async with background(rig.follow()):
        await rig.settled()
        await rig.commit("good", is_told=False)
        await rig.commit("bad")
        assert await rig.settled() == [2]


async def test_the_last_lost_wake_up_is_found_by_looking() -> None:
    """The position where the log ends says that there is more."""
    rig = Rig("good")
    await rig.commit("bad")
    async with background(rig.follow()):
        await rig.settled()
        await rig.commit("good", is_told=False)
        assert await rig.feed.newest() == 2
        assert await rig.settled() == [2]


async def test_lists_are_of_the_length_asked_for_and_nothing_falls_between_them() -> None:
    """Also where most of the log in between is of no use."""
    rig = Rig("good")
    await rig.commit(*(["bad"] * 5 + ["good"]) * 7)
    async with background(rig.follow(limit=2)):
        assert await rig.settled() == [6, 12, 18, 24, 30, 36, 42]


async def test_whoever_follows_again_finds_what_was_passed_over() -> None:
    """What is wanted from some event on is looked for from there, though it was of no use at the time."""
    rig = Rig("good")
    await rig.commit("good")
    async with background(rig.follow()):
        await rig.settled()
        await rig.commit("late")
        await rig.commit("bad")
        rig.wanted = frozenset({"good", "late"})
        assert await rig.settled() == [1]
        async with background(rig.follow(1)):
            assert await rig.settled() == [1, 2]
        await rig.commit("late")
        assert await rig.settled() == [1, 2, 4]


async def test_own_commits_are_seen() -> None:
    """As those of others are."""
    rig = Rig("good")
    async with background(rig.follow()):
        await rig.settled()
        await rig.commit("bad", "good", is_told=False)
        rig.feed.offer(rig.store.events)
        assert await rig.settled() == [2]


def test_wake_ups_are_read_as_they_are_written_and_nothing_else() -> None:
    """What cannot be read is a lost wake-up."""
    assert waking.read(b"7 9 call.requested.v1,call.dispatched.v1") == Wake(
        7, 9, frozenset({"call.requested.v1", "call.dispatched.v1"})
    )
    for text in (b"", b"7", b"7 9", b"7 9 ", b"-1 2 a", b"1 2 A", b"1 2 a b", b"1" * 19 + b" 2 a", b"1 2 a\n"):
        assert waking.read(text) is None


def test_a_feed_of_everything_heeds_the_position_alone() -> None:
    """It has a use for every kind."""
    feed = Feed(Store())
    feed.hear(Wake(1, 5, frozenset({"any"})))
    assert feed.head == 5


async def test_a_wake_up_that_claims_too_much_blinds_nobody() -> None:
    """What the store does not hold is not passed over: neither what a wake-up claims, nor what was before a restore."""
    rig = Rig("good")
    await rig.commit("good")
    async with background(rig.follow()):
        assert await rig.settled() == [1]
        rig.feed.hear(Wake(900, 10**17, frozenset({"good"})))
        rig.feed.hear(Wake(10**17 + 1, 10**17 + 2, frozenset({"bad"})))
        assert await rig.settled() == [1]
        await rig.commit("bad", "good", is_told=False)
        assert await rig.feed.newest() == 3
        assert await rig.settled() == [1, 3]
        await rig.commit("good")
        assert await rig.settled() == [1, 3, 4]
