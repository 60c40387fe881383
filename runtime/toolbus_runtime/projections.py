"""
Projections: read tables built from the log by position.

Each list of events and the new position are written in one transaction, and only if nobody else moved
the position meanwhile: every event counts exactly once, whoever leads. A projection may always be
dropped and built again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import structlog
from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.store.tables import checkpoints

log = structlog.get_logger(__name__)
BATCH = 1000
RETRY_S = 0.5
GATHER_S = 0.01  # a list may be this much late; one transaction then serves several events
BUSY_GATHER_S = 0.1  # under load a call has mostly ended by then, and is written once instead of twice
BUSY_EVENTS = 50
MOVE = (  # written once: putting a statement together costs more than sending it
    update(checkpoints)
    .where(checkpoints.c.name == bindparam("b_name"), checkpoints.c.position == bindparam("b_from"))
    .values(position=bindparam("b_to"))
)
T = TypeVar("T")
P = ParamSpec("P")
Project = Callable[[AsyncConnection, Sequence[StoredEvent]], Awaitable[None]]


class Log(Protocol):
    """What a projection follows: a `Feed`, or one that leaves out what the projection has no use for."""

    def follow(self, after: int, *, limit: int) -> AsyncIterator[list[StoredEvent]]:
        """Events behind `after` in order, in lists that are never empty, without end."""
        ...


class Projection:
    """One set of read tables under one name, fed by `project`."""

    def __init__(self, name: str, engine: AsyncEngine, feed: Log, project: Project) -> None:
        self.name = f"projection:{name}"
        self.position = 0
        self._engine = engine
        self._feed = feed
        self._project = project
        self._moved = asyncio.Event()

    async def run(self) -> None:
        """Follow the log until cancelled; an event that cannot be projected stops it, loudly, at that place."""
        while True:
            try:
                self._advance(await whole(self._load()))
                async for events in self._feed.follow(self.position, limit=BATCH):
                    if not await whole(self._write(events)):
                        break  # somebody else moved on; go on from there
                    self._advance(events[-1].position)
                    if len(events) < BATCH:
                        await asyncio.sleep(BUSY_GATHER_S if len(events) >= BUSY_EVENTS else GATHER_S)
            except (Unavailable, *DATABASE_ERRORS) as error:
                log.warning("projection.waiting", projection=self.name, reason=str(error)[:300])
            except Exception:
                log.exception("projection.failed", projection=self.name, position=self.position)
            await asyncio.sleep(RETRY_S)

    async def reached(self, position: int) -> None:
        """Wait until everything up to `position` is in the tables."""
        while self.position < position:
            moved = self._moved
            await moved.wait()

    def _advance(self, position: int) -> None:
        self.position = position
        self._moved.set()
        self._moved = asyncio.Event()

    async def _load(self) -> int:
        async with self._engine.begin() as connection:
            insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
            row = insert(checkpoints).values(name=self.name, position=0, note="{}").on_conflict_do_nothing()
            await connection.execute(row)
            found = await connection.execute(select(checkpoints.c.position).where(checkpoints.c.name == self.name))
            return int(found.scalar_one())

    async def _write(self, events: Sequence[StoredEvent]) -> bool:
        async with self._engine.begin() as connection:
            moved = await connection.execute(
                MOVE, {"b_name": self.name, "b_from": self.position, "b_to": events[-1].position}
            )
            if moved.rowcount != 1:
                return False
            await self._project(connection, events)
            return True


def wholly(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make a method one whole: a cancellation waits until its transaction has ended."""

    @wraps(work)
    async def wrapped(*args: P.args, **named: P.kwargs) -> T:
        return await whole(work(*args, **named))

    return wrapped


async def whole(transaction: Coroutine[Any, Any, T]) -> T:
    """
    Let a transaction end before a cancellation goes on.

    A connection that is dropped in the middle keeps its locks until the collector finds it; on SQLite
    nobody can write until then.
    """
    work = asyncio.ensure_future(transaction)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # looked at, so that nobody is told of it again: the next leader begins at the same place
        raise
