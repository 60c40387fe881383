"""Fixtures of the end-to-end tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.e2e.people import People

WITH_WAITS = ("approvals", "dispatcher", "api_caller")


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where service processes come from."""
    with Nursery() as started:
        yield started


@pytest.fixture
async def sqlite_world(nursery: Nursery, tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """An installation on SQLite: one dispatcher, one api_caller, ready."""
    async with world(nursery, tmp_path, sqlite_url) as made:
        yield made


@pytest.fixture
async def postgres_world(nursery: Nursery, tmp_path: Path, postgres_url: str) -> AsyncIterator[World]:
    """An installation on PostgreSQL: one dispatcher, one api_caller, ready."""
    async with world(nursery, tmp_path, postgres_url) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def people(
    nursery: Nursery, tmp_path_factory: pytest.TempPathFactory, sqlite_template: bytes
) -> AsyncIterator[People]:
    """One installation for all tests of a module, with a dangerous tool `refund` that finance decides about."""
    folder = tmp_path_factory.mktemp("approvals")
    database = folder / "toolbus.db"
    database.write_bytes(sqlite_template)
    async with world(nursery, folder, f"sqlite:///{database}", *WITH_WAITS) as made:
        found = People(made)
        await found.define("refund", approvers=["role:finance"], may_edit=True)
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, tuple[str, ...]]:
    """Where everything is stored, and the flags of it: in one process in its own folder, or in one each elsewhere."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'data' / 'toolbus.db'}", ()
    url = request.getfixturevalue("postgres_url")
    return url, ("--processes", "--database", url)
