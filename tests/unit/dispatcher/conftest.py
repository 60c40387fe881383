"""Fixtures of the dispatcher's tests."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_runtime.store.database import make_engine


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """Read tables without a row."""
    engine = make_engine(database_url)
    yield engine
    await engine.dispose()
