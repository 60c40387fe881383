"""A database that cannot be opened."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncEngine

from tests.nats_fixtures import until
from toolbus_runtime.store.database import make_engine

WORKER = "_connection_worker_thread"  # what aiosqlite's threads run


@asynccontextmanager
async def without_a_database() -> AsyncIterator[AsyncEngine]:
    """
    An engine whose database is nowhere.

    aiosqlite ends the thread of a connection that failed without waiting for it, and the thread speaks to the loop
    once more: it must be over before the loop is.
    """
    before = set(threading.enumerate())
    engine = make_engine("sqlite:////nowhere/at/all.db")
    yield engine
    await engine.dispose()
    await until(lambda: not any(WORKER in thread.name for thread in set(threading.enumerate()) - before))
