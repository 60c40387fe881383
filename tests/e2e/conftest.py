"""Fixtures of the end-to-end tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.harness import World, world


@pytest.fixture
async def sqlite_world(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """An installation on SQLite: one dispatcher, one api_caller, ready."""
    async with world(tmp_path, sqlite_url) as made:
        yield made


@pytest.fixture
async def postgres_world(tmp_path: Path, postgres_url: str) -> AsyncIterator[World]:
    """An installation on PostgreSQL: one dispatcher, one api_caller, ready."""
    async with world(tmp_path, postgres_url) as made:
        yield made
