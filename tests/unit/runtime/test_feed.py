"""The feed: this process's tail of the log."""

import asyncio
from collections.abc import Sequence

from tests.unit.runtime.things import Store, background, in_virtual_time, pass_time
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.feed import CALM_AFTER_S, CALM_POLL_S, KEPT_CHARS, KEPT_EVENTS, POLL_S, Feed


class Counting(Store):
    """A store that counts how often it is read."""

    reads = looks = 0

    async def head(self) -> int:
        """The newest position, and count."""
        self.looks += 1
        return await super().head()

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
        """Read, and count."""
        assert (tenant, categories, kinds, correlation_id, stream) == (None, (), (), None, None)
        self.reads += 1
        return await super().read(after=after, limit=limit)


async def filled(count: int) -> Counting:
    """A store with so many events."""
    store = Counting()
    for _ in range(count):
        await store.elsewhere("a")
    return store


async def positions(feed: Feed, after: int, count: int, limit: int = 1000) -> list[int]:
    """The positions of the next events behind a place."""
    found: list[int] = []
    async with asyncio.timeout(60):
        async for events in feed.follow(after, limit=limit):
            found += [event.position for event in events]
            if len(found) >= count:
                break
    return found


async def test_what_was_committed_here_is_handed_on_in_memory() -> None:
    """At the head nobody asks the store."""
    store = await filled(4)
    feed = Feed(store)
    feed.offer(store.events[:2])
    feed.offer(store.events[2:])
    assert await positions(feed, 0, 4) == [1, 2, 3, 4]
    assert await positions(feed, 2, 2) == [3, 4]
    assert await positions(feed, 0, 4, limit=3) == [1, 2, 3, 4]
    assert (store.reads, feed.head) == (0, 4)


async def test_whoever_is_further_behind_reads_the_store() -> None:
    """What was before this process began to hear is found there, in lists of the length asked for."""
    store = await filled(5)
    feed = Feed(store)
    feed.offer(store.events[3:])
    assert await positions(feed, 0, 5, limit=2) == [1, 2, 3, 4, 5]
    assert store.reads == 2


async def test_a_gap_left_by_another_process_is_filled_from_the_store() -> None:
    """Events of others in between are not skipped, and order is kept."""
    store = await filled(4)
    feed = Feed(store)
    feed.offer(store.events[:1])
    feed.offer(store.events[3:])
    assert await positions(feed, 1, 3) == [2, 3, 4]
    assert await positions(feed, 3, 1) == [4]


async def test_only_the_newest_are_kept_in_memory() -> None:
    """The ring is trimmed; older events come from the store, and none is lost at the seam."""
    store = await filled(1)
    event = store.events[0]
    many = [event._replace(position=place) for place in range(1, 2 * KEPT_EVENTS + 2)]
    feed = Feed(store)
    feed.offer(many[:-1])
    assert len(feed._recent) == 2 * KEPT_EVENTS
    feed.offer(many[-1:])
    assert len(feed._recent) == KEPT_EVENTS
    assert await positions(feed, len(many) - 3, 3) == [len(many) - 2, len(many) - 1, len(many)]


async def test_large_events_give_way_sooner() -> None:
    """What is kept is bounded by its length, too; the newest stay."""
    store = await filled(1)
    event, text = store.events[0], "x" * (KEPT_CHARS // 8)  # one text for all: what counts is what it would take
    many = [event._replace(position=place, data=text) for place in range(1, 18)]
    feed = Feed(store)
    feed.offer(many[:-1])
    assert len(feed._recent) == 16
    feed.offer(many[-1:])
    assert [kept.position for kept in feed._recent] == list(range(10, 18))
    assert await positions(feed, 15, 2) == [16, 17]


def test_a_wake_up_is_enough() -> None:
    """Another process said how far the log reaches; a follower that waited goes on, without any polling."""

    async def scenario() -> tuple[list[int], float]:
        store = await filled(1)
        feed = Feed(store)
        feed.wake(1)
        found: list[int] = []

        async def follow() -> None:
            async for events in feed.follow(0):
                found.extend(event.position for event in events)

        async with background(follow()):
            await pass_time(100)
            await store.elsewhere("a")
            feed.wake(2)
            feed.wake(1)
            await pass_time(0.01)
        return found, store.reads

    assert in_virtual_time(scenario()) == ([1, 2], 2)


def test_a_lost_wake_up_costs_a_moment() -> None:
    """The feed looks by itself now and then, also after the store was away."""

    async def scenario() -> tuple[int, int, int]:
        store = await filled(0)
        feed = Feed(store)
        async with background(feed.run()):
            await pass_time(POLL_S / 2)
            await store.elsewhere("a")
            before = feed.head
            await pass_time(POLL_S)
            seen = feed.head
            store.is_away = True
            await store.elsewhere("a")
            await pass_time(3 * POLL_S)
            store.is_away = False
            await pass_time(POLL_S)
            return before, seen, feed.head

    assert in_virtual_time(scenario()) == (0, 1, 2)


def test_in_a_calm_it_looks_less_often_and_keeps_nothing() -> None:
    """What everybody has had is read from the store by whoever comes late; what comes next is handed on as ever."""

    async def scenario() -> tuple[int, int, list[int], int]:
        store = await filled(2)
        feed = Feed(store)
        feed.offer(store.events)
        async with background(feed.run()):
            await pass_time(2 * CALM_AFTER_S)
            looks = store.looks
            await pass_time(10 * CALM_POLL_S)
            looks = store.looks - looks
            await positions(feed, 0, 2)
            reads = store.reads
            await store.elsewhere("a")
            feed.offer(store.events[2:])
            return looks, reads, await positions(feed, 2, 1), store.reads

    assert in_virtual_time(scenario()) == (10, 1, [3], 1)


async def test_every_follower_sees_everything() -> None:
    """Several follow the same feed from different places, while it grows."""
    store = await filled(3)
    feed = Feed(store)
    followers = [asyncio.ensure_future(positions(feed, after, 5 - after)) for after in (0, 2, 4)]
    feed.offer(store.events[:1])
    await pass_time()
    feed.offer(store.events[1:3])
    await pass_time()
    for _ in range(2):
        await store.elsewhere("a")
    feed.offer(store.events[3:])
    found: Sequence[list[int]] = await asyncio.gather(*followers)
    assert found == [[1, 2, 3, 4, 5], [3, 4, 5], [5]]


def test_a_head_that_the_store_does_not_have_does_not_make_it_spin() -> None:
    """After an older copy of the store was restored the log is shorter than was heard: followers wait calmly."""

    async def scenario() -> tuple[int, list[int]]:
        store = await filled(1)
        feed = Feed(store)
        feed.wake(10)
        found: list[int] = []

        async def follow() -> None:
            async for events in feed.follow(0):
                found.extend(event.position for event in events)

        async with background(follow()):
            await pass_time(10 * POLL_S)
            reads = store.reads
            await store.elsewhere("a")
            await pass_time(2 * POLL_S)
        return reads, found

    reads, found = in_virtual_time(scenario())
    assert reads < 15
    assert found == [1, 2]


async def test_the_newest_position_is_the_stores() -> None:
    """Whoever asks hears what the store says, and the followers are woken."""
    store = await filled(2)
    feed = Feed(store)
    assert await feed.newest() == 2
    assert await positions(feed, 1, 1) == [2]
