"""Projections on a real SQLite: every event counts exactly once, whoever projects it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tests.unit.runtime.things import Store, background, until
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.feed import Feed
from toolbus_runtime.projections import Projection
from toolbus_runtime.store.database import make_engine

METADATA = MetaData()
SUMS = Table("sums", METADATA, Column("id", Integer, primary_key=True), Column("events", Integer, nullable=False))


@pytest.fixture
async def engine(sqlite_url: str) -> AsyncIterator[AsyncEngine]:
    """A migrated SQLite with a table that counts."""
    found = make_engine(sqlite_url)
    async with found.begin() as connection:
        await connection.run_sync(METADATA.create_all)
        await connection.execute(SUMS.insert().values(id=1, events=0))
    yield found
    await found.dispose()


async def count(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
    """Count the events; adding is the projection that shows best when one counts twice."""
    await connection.execute(update(SUMS).values(events=SUMS.c.events + len(events)))


async def counted(engine: AsyncEngine) -> int:
    """What the table says."""
    async with engine.connect() as connection:
        return int((await connection.execute(select(SUMS.c.events))).scalar_one())


async def grown(feed: Feed, store: Store, events: int) -> None:
    """So many events more are committed, one by one."""
    for _ in range(events):
        await store.elsewhere("a")
        feed.wake(len(store.events))
        await feed.newest()


async def test_two_projectors_count_every_event_once(engine: AsyncEngine) -> None:
    """During a change of leaders both may run: whoever comes second finds the place moved, and writes nothing."""
    store = Store()
    feed = Feed(store)
    async with AsyncExitStack() as stack:
        both = [Projection("test", engine, feed, count) for _ in range(2)]
        for one in both:
            await stack.enter_async_context(background(one.run()))
        await grown(feed, store, 50)
        await until(lambda: max(one.position for one in both) == 50, 20)
    assert await counted(engine) == 50


async def test_a_projection_goes_on_where_it_stood(engine: AsyncEngine) -> None:
    """Its place is in the same transaction as its rows."""
    store = Store()
    feed = Feed(store)
    for expected in (3, 6):
        projection = Projection("test", engine, feed, count)
        async with background(projection.run()):
            await grown(feed, store, 3)
            async with asyncio.timeout(10):
                await projection.reached(expected)
        assert await counted(engine) == expected


async def test_a_projection_that_is_stopped_ends_its_transaction(engine: AsyncEngine) -> None:
    """What was begun is written whole, and the next one can write at once."""
    store = Store()
    feed = Feed(store)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
        await count(connection, events)
        begun.set()
        await go_on.wait()

    running = asyncio.create_task(Projection("test", engine, feed, slow).run())
    await grown(feed, store, 1)
    await begun.wait()
    running.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(running, return_exceptions=True)
    async with asyncio.timeout(5), engine.begin() as connection:
        await connection.execute(update(SUMS).values(events=SUMS.c.events + 10))
    assert await counted(engine) == 11


async def test_an_event_that_cannot_be_projected_stops_it_at_that_place(engine: AsyncEngine) -> None:
    """Nothing of its list is written, and when the fault is mended it goes on from there."""
    store = Store()
    feed = Feed(store)
    tries = 0

    async def fail_twice(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
        nonlocal tries
        await count(connection, events)
        tries += 1
        if tries <= 2:
            raise ValueError("a fault of ours")

    await grown(feed, store, 4)
    projection = Projection("test", engine, feed, fail_twice)
    async with background(projection.run()):
        await until(lambda: tries == 2)
        assert projection.position == 0
        async with asyncio.timeout(10):
            await projection.reached(4)
    assert await counted(engine) == 4


async def test_a_projection_waits_while_the_log_cannot_be_read(engine: AsyncEngine) -> None:
    """And goes on when it can."""

    class Away(Store):
        looks = 0

        async def read(self, **_: object) -> list[StoredEvent]:
            """Be away twice."""
            self.looks += 1
            self.is_away = self.looks <= 2
            self._check()
            return self.events[0:]

    store = Away()
    feed = Feed(store)
    for _ in range(2):
        await store.elsewhere("a")
    feed.wake(2)
    projection = Projection("test", engine, feed, count)
    async with background(projection.run()):
        async with asyncio.timeout(10):
            await projection.reached(2)
    assert store.looks == 3
    assert await counted(engine) == 2
