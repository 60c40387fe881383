"""Who waits for a projection is woken whenever it has come far enough, however it got there."""

import asyncio
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tests.nats_fixtures import until
from tests.store_samples import sample
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.feed import Feed
from toolbus_runtime.projections import Projection
from toolbus_runtime.store.database import make_engine, open_store


async def nothing(_: AsyncConnection, __: Sequence[StoredEvent]) -> None:
    """Project nothing: only the place counts here."""


async def test_a_place_reached_by_a_former_leader_counts(sqlite_url: str) -> None:
    """A new leader waits for what its predecessor has projected already, and no further event comes."""
    store, engine = open_store(sqlite_url), make_engine(sqlite_url)
    feed = Feed(store)
    await store.append([sample("c1"), sample("c2"), sample("c3")])
    feeding = asyncio.create_task(feed.run())
    former = Projection("test", engine, feed, nothing)
    work = asyncio.create_task(former.run())
    await until(lambda: former.position == 3)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)

    successor = Projection("test", engine, feed, nothing)
    waiting = asyncio.create_task(successor.reached(3))
    await asyncio.sleep(0)
    work = asyncio.create_task(successor.run())
    async with asyncio.timeout(5):
        await waiting
    for task in (work, feeding):
        task.cancel()
    await asyncio.gather(work, feeding, return_exceptions=True)
    await engine.dispose()
    await store.close()
