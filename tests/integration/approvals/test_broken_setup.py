"""A connection to the database that breaks while it is being set up: errors of the driver come through SQLAlchemy."""

import ast
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import event

from toolbus_approvals.adapters.leases import Leases
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.database import make_engine

ROOT = Path(__file__).parents[3]


async def test_a_connection_that_breaks_while_it_is_set_up_is_a_database_that_is_away(postgres_url: str) -> None:
    """The server restarted between the handshake and the first words: come back later, and no fault of ours."""
    engine = make_engine(postgres_url)

    def breaks(*_: object) -> None:
        raise asyncpg.InterfaceError("connection is closed")

    event.listen(engine.sync_engine, "connect", breaks)
    now = datetime.now(UTC)
    with pytest.raises(Unavailable, match="InterfaceError"):
        await Leases(engine).take(
            "acme", ("refund",), lease_id="lease_1", now=now, until=now + timedelta(minutes=1), limit=1
        )
    await engine.dispose()


def _caught_alone() -> Iterator[str]:
    for folder in ("runtime", "services", "toolbus"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ExceptHandler) and node.type and "SQLAlchemyError" in ast.unparse(node.type):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_everybody_catches_what_the_drivers_raise_too() -> None:
    """`DATABASE_ERRORS` is the one list of what a database that is away can raise."""
    assert list(_caught_alone()) == []
