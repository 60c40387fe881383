"""The table of MCP servers: how each of them is spoken to."""

from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Column, MetaData, Row, Select, Table, Text, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.mcp import McpServerView, PutMcpServer
from toolbus_runtime.projections import whole
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.store.tables import Moment, Name

T = TypeVar("T")
metadata = MetaData()

mcp_servers = Table(
    "mcp_servers",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("name", Name, primary_key=True),
    Column("settings", Text, nullable=False),  # JSON of `PutMcpServer`
    Column("stored_at", Moment, nullable=False),
)


class McpServerTable:
    """Reads and writes of the table. Raises `Unavailable` when the database is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def get(self, tenant: str, name: str) -> McpServerView | None:
        """The server of this name, if there is one."""
        wanted = select(mcp_servers).where(mcp_servers.c.tenant == tenant, mcp_servers.c.name == name)
        found = await self._read(wanted)
        return found[0] if found else None

    async def listed(self, tenant: str, *, offset: int, limit: int) -> list[McpServerView]:
        """A tenant's servers by name."""
        wanted = select(mcp_servers).where(mcp_servers.c.tenant == tenant).order_by(mcp_servers.c.name)
        return await self._read(wanted.offset(offset).limit(limit))

    async def put(self, tenant: str, name: str, settings: PutMcpServer, now: datetime) -> tuple[McpServerView, bool]:
        """The server is spoken to like this from now on; with whether there was none before."""
        row = {"tenant": tenant, "name": name, "settings": settings.model_dump_json(), "stored_at": now}
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        write = dialect.insert(mcp_servers).values(row)
        changed = {"settings": write.excluded.settings, "stored_at": write.excluded.stored_at}
        write = write.on_conflict_do_update(index_elements=["tenant", "name"], set_=changed)
        known = select(mcp_servers.c.name).where(mcp_servers.c.tenant == tenant, mcp_servers.c.name == name)

        async def work() -> bool:
            async with self._engine.begin() as connection:
                was_there = (await connection.execute(known)).first() is not None
                await connection.execute(write)
                return not was_there

        is_new = await _asked(work())
        return McpServerView(**settings.model_dump(), name=name, stored_at=now), is_new

    async def remove(self, tenant: str, name: str) -> McpServerView | None:
        """The server is gone; it as it was, or none when there was none."""
        found = await self.get(tenant, name)
        gone = delete(mcp_servers).where(mcp_servers.c.tenant == tenant, mcp_servers.c.name == name)

        async def work() -> None:
            async with self._engine.begin() as connection:
                await connection.execute(gone)

        await _asked(work())
        return found

    async def _read(self, wanted: Select[Any]) -> list[McpServerView]:
        async def work() -> list[McpServerView]:
            async with self._reading.connect() as connection:
                return [_view(row) for row in await connection.execute(wanted)]

        return await _asked(work())


async def _asked(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await whole(work)
    except DATABASE_ERRORS as error:
        raise Unavailable(f"database: {type(error).__name__}") from error


def _view(row: Row[Any]) -> McpServerView:
    settings = PutMcpServer.model_validate_json(row.settings)
    return McpServerView(**settings.model_dump(), name=row.name, stored_at=row.stored_at)
