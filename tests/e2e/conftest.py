"""Fixtures of the end-to-end tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery


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
