"""What the engine of the read tables promises on every database, beyond what its library does."""

import asyncio

from sqlalchemy import text
from sqlalchemy.pool import QueuePool

from toolbus_runtime.store.database import make_engine


async def test_a_query_that_is_cancelled_gives_its_connection_back(database_url: str) -> None:
    """Wherever it was stopped: one that is lost keeps its thread or socket until the collector finds it."""
    engine = make_engine(database_url)
    reading = engine.execution_options(isolation_level="AUTOCOMMIT")
    assert isinstance(engine.pool, QueuePool)

    async def ask() -> None:
        async with reading.connect() as connection:
            await connection.execute(text("SELECT 1"))

    await ask()
    for turns in range(30):
        asking = asyncio.create_task(ask())
        for _ in range(turns):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert engine.pool.checkedout() == 0, turns
    await engine.dispose()
