"""Lists and look-ups: which waits, grants and delegations match. What is shown of them comes from their streams."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Column, Executable, Select, func, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_approvals.adapters.tables import delegations, grants, waits
from toolbus_approvals.aggregates import DELEGATION, GRANT, WAIT
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.waits import WaitKind
from toolbus_runtime.projections import whole
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.store.tables import checkpoints, events

ASKING = ("call.wait_asked.v1", "call.in_doubt.v1")


@dataclass(frozen=True)
class WaitFilter:
    """Which waits a list wants; `tools` are those that the reader may see."""

    kind: WaitKind | None = None
    status: Literal["open", "closed"] | None = None
    tool: str | None = None
    tools: tuple[str, ...] | None = None
    call_id: str | None = None


class Due(NamedTuple):
    """A wait that must be looked at."""

    tenant: str
    wait_id: str


class GrantsOfTool(NamedTuple):
    """The grants of a tool that are not over: the latest end, most uses left to one, and the newest event of one."""

    until: datetime
    uses_left: int
    position: int


class Queries:
    """Reads of the projections. Raises `Unavailable` when the database is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def waits(self, tenant: str, wanted: WaitFilter, *, before: int | None, limit: int) -> list[tuple[str, int]]:
        """Ids and places of waits, newest first, before a place."""
        found = select(waits.c.wait_id, waits.c.created_position).where(waits.c.tenant == tenant)
        for column, value in (
            (waits.c.kind, wanted.kind),
            (waits.c.tool, wanted.tool),
            (waits.c.call_id, wanted.call_id),
        ):
            if value is not None:
                found = found.where(column == value)
        if wanted.tools is not None:
            found = found.where(waits.c.tool.in_(wanted.tools))
        if wanted.status is not None:
            is_open = waits.c.closed_at.is_(None)
            found = found.where(is_open if wanted.status == "open" else ~is_open)
        return await self._page(found, waits.c.created_position, before=before, limit=limit)

    async def due(self, now: datetime, *, limit: int) -> list[Due]:
        """Open waits that expire or are escalated by now, the most overdue first."""
        rows = await self._rows(
            select(waits.c.tenant, waits.c.wait_id)
            .where(waits.c.closed_at.is_(None), waits.c.due_at <= now)
            .order_by(waits.c.due_at)
            .limit(limit)
        )
        return [Due(row.tenant, row.wait_id) for row in rows]

    async def next_due(self) -> datetime | None:
        """When the next open wait expires or is escalated."""
        statement = select(func.min(waits.c.due_at).label("due_at")).where(waits.c.closed_at.is_(None))
        (row,) = await self._rows(statement)
        due_at: datetime | None = row.due_at
        return due_at

    async def has_open_doubts(self) -> bool:
        """Whether any doubt is open."""
        statement = select(waits.c.wait_id).where(waits.c.kind == "doubt", waits.c.closed_at.is_(None)).limit(1)
        return bool(await self._rows(statement))

    async def open_of(self, call_ids: Iterable[str]) -> list[tuple[str, str]]:
        """The open waits of these calls: call id, wait id."""
        wanted = sorted(set(call_ids))
        rows = await self._rows(
            select(waits.c.call_id, waits.c.wait_id).where(waits.c.call_id.in_(wanted), waits.c.closed_at.is_(None))
        )
        return [(row.call_id, row.wait_id) for row in rows]

    async def grants(self, tenant: str, *, tool: str | None, before: int | None, limit: int) -> list[tuple[str, int]]:
        """Ids and places of grants, newest first."""
        found = select(grants.c.grant_id, grants.c.created_position).where(grants.c.tenant == tenant)
        if tool is not None:
            found = found.where(grants.c.tool == tool)
        return await self._page(found, grants.c.created_position, before=before, limit=limit)

    async def tools_with_grants(self, tenant: str, now: datetime) -> dict[str, GrantsOfTool]:
        """The tools that have grants which are neither over nor revoked."""
        rows = await self._rows(
            select(
                grants.c.tool,
                func.max(grants.c.until).label("until"),
                func.max(grants.c.uses_left).label("uses_left"),
                func.max(grants.c.position).label("position"),
            )
            .where(grants.c.tenant == tenant, grants.c.until > now, grants.c.is_revoked.is_(False))
            .group_by(grants.c.tool)
        )
        return {row.tool: GrantsOfTool(row.until, row.uses_left, row.position) for row in rows}

    async def standing_grants(self, tenant: str, tool: str, now: datetime, *, since: int | None = None) -> list[str]:
        """
        Ids of the grants that may still speak for calls of a tool, the oldest first.

        `since` is the position of the call: what was used up behind it may have been used for it.
        """
        has_uses = grants.c.uses_left > 0
        may_speak = has_uses if since is None else or_(has_uses, grants.c.position > since)
        rows = await self._rows(
            select(grants.c.grant_id)
            .where(
                grants.c.tenant == tenant,
                grants.c.tool == tool,
                grants.c.until > now,
                grants.c.is_revoked.is_(False),
                may_speak,
            )
            .order_by(grants.c.created_position)
        )
        return [row.grant_id for row in rows]

    async def delegations(self, tenant: str, *, before: int | None, limit: int) -> list[tuple[str, int]]:
        """Ids and places of delegations, newest first."""
        found = select(delegations.c.delegation_id, delegations.c.created_position)
        found = found.where(delegations.c.tenant == tenant)
        return await self._page(found, delegations.c.created_position, before=before, limit=limit)

    async def delegations_to(self, tenant: str, subject: str, now: datetime) -> list[str]:
        """Ids of the delegations by which somebody may decide for others now."""
        rows = await self._rows(
            select(delegations.c.delegation_id).where(
                delegations.c.tenant == tenant,
                delegations.c.to_subject == subject,
                delegations.c.until > now,
                delegations.c.is_revoked.is_(False),
            )
        )
        return [row.delegation_id for row in rows]

    async def newest(self) -> int:
        """
        The position of the newest event that the read tables hold something of.

        They may never reach the end of the log: what is of no use to them is not even read.
        """
        newest = [
            select(func.max(events.c.position).label("position")).where(events.c.category == category)
            for category in (WAIT, GRANT, DELEGATION)
        ]
        rows = await self._rows(union_all(*newest))
        return max(row.position or 0 for row in rows)

    async def has_unopened(self) -> bool:
        """Whether waits were asked for that nobody has opened yet."""
        done = await self.position("reactions:approvals")
        asked = select(events.c.position).where(events.c.position > done, events.c.kind.in_(ASKING)).limit(1)
        return bool(await self._rows(asked))

    async def position(self, projection: str) -> int:
        """How far the read tables, or the reactions, are."""
        rows = await self._rows(select(checkpoints.c.position).where(checkpoints.c.name == projection))
        return int(rows[0].position) if rows else 0

    async def _page(
        self, found: "Select[tuple[str, int]]", place: "Column[int]", *, before: int | None, limit: int
    ) -> list[tuple[str, int]]:
        """Ids and places, newest first, before a place."""
        if before is not None:
            found = found.where(place < before)
        return [(row[0], row[1]) for row in await self._rows(found.order_by(place.desc()).limit(limit))]

    async def _rows(self, statement: Executable) -> Sequence[Any]:
        """All rows; a leader that is cancelled meanwhile leaves no connection behind."""
        try:
            return await whole(self._read(statement))
        except DATABASE_ERRORS as error:
            raise Unavailable(f"database: {type(error).__name__}") from error

    async def _read(self, statement: Executable) -> Sequence[Any]:
        async with self._engine.connect() as connection:
            rows: Sequence[Any] = (await connection.execute(statement)).all()
            return rows
