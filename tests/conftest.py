"""Fixtures that every level of tests may use: real databases, empty and migrated."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from tests.distribution import *  # noqa: F403 - how `pytest -n` deals them out
from tests.nats_fixtures import *  # noqa: F403 - fixtures on a real NATS server
from tests.pull_fixtures import *  # noqa: F403 - loops on that server
from toolbus_runtime.store.database import migrate, open_store
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import EventStore
from toolbus_runtime.testing import PostgresServer


def pytest_configure() -> None:
    """
    Processes that tests start can be interrupted, also where a shell started the tests in the background.

    What services log that run in this process is no output of the command line, which other tests read meanwhile.
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole session; a test that crashes a server starts its own."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
async def postgres_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """A fresh, migrated PostgreSQL database."""
    url = await postgres_server.fresh_database()
    yield url
    await postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A migrated SQLite file, to be copied."""
    path = tmp_path_factory.mktemp("template") / "toolbus.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path.read_bytes()


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: bytes) -> str:
    """A fresh, migrated SQLite database."""
    path = tmp_path / "toolbus.db"
    path.write_bytes(sqlite_template)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh, migrated database of each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Where the store of `store` lives: `memory`, or a fresh, migrated database."""
    if request.param == "memory":
        return "memory"
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[EventStore]:
    """An empty event store of each kind."""
    opened: EventStore = MemoryStore() if store_url == "memory" else open_store(store_url)
    yield opened
    await opened.close()
