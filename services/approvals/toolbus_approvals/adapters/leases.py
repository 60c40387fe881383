"""
Leases: which worker holds which function call, so that two seldom work on the same one.

They are hints. Whether a call still waits, and whose answer counts, is decided on the wait's stream alone: a
table that was lost or is behind costs work done twice, never an answer taken twice.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Executable,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    delete,
    exists,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from toolbus_approvals.adapters.tables import waits
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.projections import wholly
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.store.tables import Moment, Name

metadata = MetaData()

wait_leases = Table(
    "wait_leases",
    metadata,
    Column("wait_id", Name, primary_key=True),
    Column("tenant", Name, nullable=False),
    Column("lease_id", Name, nullable=False),
    Column("leased_until", Moment, nullable=False),
    Column("attempts", Integer, nullable=False),  # how often it was leased
)
Index("wait_leases_until", wait_leases.c.leased_until)


class Lease(NamedTuple):
    """A function call in the hands of a worker; `attempts` counts the times it was leased, from 1."""

    wait_id: str
    lease_id: str
    leased_until: datetime
    attempts: int


class Leases:
    """The table, read and written. Raises `Unavailable` when the database is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @wholly
    async def take(
        self, tenant: str, tools: Collection[str], *, lease_id: str, now: datetime, until: datetime, limit: int
    ) -> list[Lease]:
        """Lease open function calls of these tools that nobody holds now, oldest first, all with the same id."""
        try:
            async with self._engine.begin() as connection:
                found = (await connection.execute(_free(tenant, tools, now, limit))).scalars().all()
                return await _held(connection, tenant, found, Lease("", lease_id, until, 1), now=now) if found else []
        except DATABASE_ERRORS as error:
            raise _away(error) from error

    async def extend(self, tenant: str, wait_id: str, lease_id: str, until: datetime) -> bool:
        """Move the end of a lease; false when another worker has the call by now, or nobody ever had it."""
        mine = update(wait_leases).where(*_is(tenant, wait_id, lease_id)).values(leased_until=until)
        return await self._changed(mine) > 0

    async def forget(self, before: datetime, *, limit: int = 1000) -> int:
        """Drop leases that ended before then and whose wait is over; how many were dropped."""
        is_open = exists().where(waits.c.wait_id == wait_leases.c.wait_id, waits.c.closed_at.is_(None))
        old = select(wait_leases.c.wait_id).where(wait_leases.c.leased_until < before, ~is_open).limit(limit)
        return await self._changed(delete(wait_leases).where(wait_leases.c.wait_id.in_(old)))

    @wholly
    async def _changed(self, statement: Executable) -> int:
        try:
            async with self._engine.begin() as connection:
                return int((await connection.execute(statement)).rowcount)
        except DATABASE_ERRORS as error:
            raise _away(error) from error


def _free(tenant: str, tools: Collection[str], now: datetime, limit: int) -> Select[Any]:
    """
    The oldest waits that can be leased.

    Each tool is looked through along the index by itself, as far as it may matter: with all of them in one condition
    a hundred thousand open waits would be sorted. On PostgreSQL workers that ask at once pass over one another's; on
    SQLite one asks after the other.
    """
    found = union_all(
        *(select(_free_of(tenant, tool, now, limit).subquery()) for tool in sorted(set(tools)))
    ).subquery()
    return select(found.c.wait_id).order_by(found.c.created_position).limit(limit)


def _free_of(tenant: str, tool: str, now: datetime, limit: int) -> Select[Any]:
    is_held = exists().where(wait_leases.c.wait_id == waits.c.wait_id, wait_leases.c.leased_until > now)
    return (
        select(waits.c.wait_id, waits.c.created_position)
        .where(
            waits.c.tenant == tenant,
            waits.c.kind == "function",
            waits.c.tool == tool,
            waits.c.closed_at.is_(None),
            waits.c.expires_at > now,
            ~is_held,
        )
        .order_by(waits.c.created_position)
        .limit(limit)
        .with_for_update(skip_locked=True, of=waits)
    )


async def _held(
    connection: AsyncConnection, tenant: str, wait_ids: Collection[str], lease: Lease, *, now: datetime
) -> list[Lease]:
    """Write the leases, save where another worker was quicker, in the order of the waits."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    rows = [
        {
            "wait_id": wait_id,
            "tenant": tenant,
            "lease_id": lease.lease_id,
            "leased_until": lease.leased_until,
            "attempts": 1,
        }
        for wait_id in wait_ids
    ]
    new = insert(wait_leases).values(rows)
    taken = new.on_conflict_do_update(
        index_elements=[wait_leases.c.wait_id],
        set_={
            "lease_id": new.excluded.lease_id,
            "leased_until": new.excluded.leased_until,
            "attempts": wait_leases.c.attempts + 1,
        },
        where=wait_leases.c.leased_until <= now,
    ).returning(wait_leases.c.wait_id, wait_leases.c.attempts)
    attempts = {row.wait_id: row.attempts for row in await connection.execute(taken)}
    return [lease._replace(wait_id=wait_id, attempts=attempts[wait_id]) for wait_id in wait_ids if wait_id in attempts]


def _is(tenant: str, wait_id: str, lease_id: str) -> tuple[Any, ...]:
    return wait_leases.c.wait_id == wait_id, wait_leases.c.tenant == tenant, wait_leases.c.lease_id == lease_id


def _away(error: Exception) -> Unavailable:
    return Unavailable(f"database: {type(error).__name__}")
