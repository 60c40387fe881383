"""One running system for all tests of the outside, and a second one on PostgreSQL for the key tests."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog

from tests.integration.http.system import System, define, tool
from toolbus_runtime.testing import PostgresServer

FAULTS = ("request.failed", "ask.failed", "message.failed", "command.failed", "batch.failed", "projection.failed")


@pytest.fixture(scope="module", autouse=True)
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the systems log meanwhile; at the end, nothing in it is a fault of ours, whatever was sent to them."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    before = structlog.get_config()
    with path.open("w", buffering=1) as file:
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
            logger_factory=structlog.PrintLoggerFactory(file),
        )
        yield path
        structlog.configure(**before)
    assert not [line for line in path.read_text().splitlines() if json.loads(line)["event"] in FAULTS]


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory, sqlite_template: bytes) -> Iterator[System]:
    """The system on SQLite."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "toolbus.db").write_bytes(sqlite_template)
    yield from running(System(folder, f"sqlite:///{folder / 'toolbus.db'}"))


@pytest.fixture(scope="package")
def postgres_system(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Iterator[System]:
    """The system on PostgreSQL."""
    url = asyncio.run(postgres_server.fresh_database())
    yield from running(System(tmp_path_factory.mktemp("postgres"), url))


def running(system: System) -> Iterator[System]:
    """The system, started, and stopped afterwards."""
    try:
        system.start()
        yield system
    finally:
        system.stop()


@pytest.fixture(params=["system", "postgres_system"])
def each_system(request: pytest.FixtureRequest) -> System:
    """The system on each kind of database."""
    found: System = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="package")
def http(system: System) -> httpx.Client:
    """A client with every scope in the tenant acme."""
    return system.client(system.tokens["acme"])


@pytest.fixture(scope="package")
def other(system: System) -> httpx.Client:
    """A client with every scope in another tenant."""
    return system.client(system.tokens["other"])


@pytest.fixture(scope="package")
def echo(system: System, http: httpx.Client) -> str:
    """A tool whose target tells what it got; it takes any arguments."""
    contract = {"effect": "write", "idempotency": "native"}
    return define(http, tool(f"{system.target.url}/echo", contract=contract))


@pytest.fixture(scope="package")
def slow(system: System, http: httpx.Client) -> str:
    """A tool whose target never answers."""
    return define(http, tool(f"{system.target.url}/slow", timeout_s=600))
