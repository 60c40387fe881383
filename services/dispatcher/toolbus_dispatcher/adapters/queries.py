"""Lists: which ids match, newest first. What is shown of them comes from their streams."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, literal, select, union_all
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.values import compact
from toolbus_dispatcher.adapters.tables import call_labels, calls, definitions, executions, keys, stored_values, tools
from toolbus_dispatcher.core.storing import Place
from toolbus_runtime.projections import wholly
from toolbus_runtime.store.database import DATABASE_ERRORS

STANDING = ("waiting", "in_doubt")  # statuses of a call that somebody must act on


@dataclass(frozen=True)
class CallFilter:
    """Which calls a list wants."""

    status: Sequence[str] = ()
    tool: str | None = None
    type: str | None = None
    execution_id: str | None = None
    external_id: str | None = None
    labels: Sequence[tuple[str, str]] = field(default_factory=tuple)
    since: datetime | None = None
    until: datetime | None = None


class Queries:
    """Reads of the projections. Raises `Unavailable` when the database is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def calls(self, tenant: str, wanted: CallFilter, *, before: int | None, limit: int) -> list[tuple[str, int]]:
        """Ids and places of calls, newest first, before a place."""
        found = select(calls.c.call_id, calls.c.created_position).where(calls.c.tenant == tenant)
        if wanted.status:
            found = found.where(calls.c.status.in_(wanted.status))
        for column, value in (
            (calls.c.tool, wanted.tool),
            (calls.c.type, wanted.type),
            (calls.c.execution_id, wanted.execution_id),
            (calls.c.external_id, wanted.external_id),
        ):
            if value is not None:
                found = found.where(column == value)
        if wanted.since is not None:
            found = found.where(calls.c.requested_at >= wanted.since)
        if wanted.until is not None:
            found = found.where(calls.c.requested_at < wanted.until)
        found = found.where(*_labelled(tenant, wanted.labels))
        if before is not None:
            found = found.where(calls.c.created_position < before)
        rows = await self._rows(found.order_by(calls.c.created_position.desc()).limit(limit))
        return [(row.call_id, row.created_position) for row in rows]

    async def executions(
        self,
        tenant: str,
        *,
        status: str | None,
        parent: str | None,
        labels: Sequence[tuple[str, str]],
        before: int | None,
        limit: int,
    ) -> list[tuple[str, int]]:
        """Ids and places of executions, explicit and of bare calls, newest first."""
        both = union_all(_explicit(tenant, labels), _bare(tenant, labels)).subquery()
        found = select(both.c.execution_id, both.c.created_position)
        if status is not None:
            found = found.where(both.c.status == status)
        if parent is not None:
            found = found.where(both.c.parent == parent)
        if before is not None:
            found = found.where(both.c.created_position < before)
        rows = await self._rows(found.order_by(both.c.created_position.desc()).limit(limit))
        return [(row.execution_id, row.created_position) for row in rows]

    async def tools(
        self, tenant: str, *, scope: str | None, type_: str | None, before: int | None, limit: int
    ) -> list[tuple[str, str, int]]:
        """Scope, name and place of tools in use, newest definition first."""
        found = select(tools.c.scope, tools.c.name, tools.c.position).where(
            tools.c.tenant == tenant, tools.c.is_retired.is_(False)
        )
        if scope is not None:
            found = found.where(tools.c.scope == scope)
        if type_ is not None:
            found = found.where(tools.c.type == type_)
        if before is not None:
            found = found.where(tools.c.position < before)
        rows = await self._rows(found.order_by(tools.c.position.desc()).limit(limit))
        return [(row.scope, row.name, row.position) for row in rows]

    async def definition_stream(self, tenant: str, definition_hash: str) -> str | None:
        """The stream that holds the definition with this hash."""
        rows = await self._rows(
            select(definitions.c.stream).where(
                definitions.c.tenant == tenant, definitions.c.definition_hash == definition_hash
            )
        )
        return str(rows[0].stream) if rows else None

    async def keys(self, tenant: str, *, before: int | None, limit: int) -> list[tuple[str, int]]:
        """Ids and places of keys, newest first."""
        found = select(keys.c.key_id, keys.c.position).where(keys.c.tenant == tenant)
        if before is not None:
            found = found.where(keys.c.position < before)
        rows = await self._rows(found.order_by(keys.c.position.desc()).limit(limit))
        return [(row.key_id, row.position) for row in rows]

    async def stored(
        self, tenant: str, *, level: str | None, tool: str | None, before: int | None, limit: int
    ) -> list[tuple[Place, int]]:
        """Where values are stored, the newest first, and their places in the log."""
        found = select(stored_values).where(stored_values.c.tenant == tenant)
        for column, value in ((stored_values.c.level, level), (stored_values.c.tool, tool)):
            if value is not None:
                found = found.where(column == value)
        if before is not None:
            found = found.where(stored_values.c.position < before)
        rows = await self._rows(found.order_by(stored_values.c.position.desc()).limit(limit))
        return [(Place(row.level, row.level_id, row.tool), row.position) for row in rows]

    async def open_calls(self) -> dict[str, int]:
        """How many calls are open, by status."""
        rows = await self._rows(
            select(calls.c.status, func.count().label("n"))
            .where(calls.c.finished_at.is_(None))
            .group_by(calls.c.status)
        )
        return {row.status: row.n for row in rows}

    @wholly
    async def _rows(self, statement: Select[Any]) -> Sequence[Any]:
        try:
            async with self._engine.connect() as connection:
                rows: Sequence[Any] = (await connection.execute(statement)).all()
        except DATABASE_ERRORS as error:
            raise Unavailable(f"database: {type(error).__name__}") from error
        else:
            return rows


def _labelled(tenant: str, labels: Sequence[tuple[str, str]]) -> list[ColumnElement[bool]]:
    """The call has all of these labels."""
    return [
        exists().where(
            call_labels.c.tenant == tenant,
            call_labels.c.key == key,
            call_labels.c.value == value,
            call_labels.c.call_id == calls.c.call_id,
        )
        for key, value in labels
    ]


def _explicit(tenant: str, labels: Sequence[tuple[str, str]]) -> Select[Any]:
    """Executions that were opened, each with its status as `Timeline` tells it."""
    is_open = and_(calls.c.execution_id == executions.c.execution_id, calls.c.finished_at.is_(None))
    found = select(
        executions.c.execution_id,
        executions.c.created_position,
        executions.c.parent,
        case(
            (exists().where(is_open, calls.c.status.not_in(STANDING)), literal("running")),
            (exists().where(is_open), literal("awaiting_input")),
            else_=func.coalesce(executions.c.finished, "running"),
        ).label("status"),
    ).where(executions.c.tenant == tenant)
    for key, value in labels:
        pair = compact({key: value})[1:-1]
        # What is cut out must have been there. LIKE would not do: SQLite's does not heed case.
        found = found.where(func.replace(executions.c.labels, pair, "") != executions.c.labels)
    return found


def _bare(tenant: str, labels: Sequence[tuple[str, str]]) -> Select[Any]:
    """Executions that single calls have for themselves."""
    return select(
        calls.c.execution_id,
        calls.c.created_position,
        literal(None).label("parent"),
        case(
            (calls.c.status.in_(STANDING), literal("awaiting_input")),
            (calls.c.finished_at.is_(None), literal("running")),
            (calls.c.status == "succeeded", literal("succeeded")),
            (calls.c.status == "cancelled", literal("cancelled")),
            else_=literal("failed"),
        ).label("status"),
    ).where(calls.c.tenant == tenant, calls.c.is_bare, *_labelled(tenant, labels))
