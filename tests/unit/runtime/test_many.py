"""Many rows in one statement: the same on both databases, and found by their keys whatever the table looked like."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_dispatcher.adapters.tables import calls
from toolbus_runtime.store.database import make_engine
from toolbus_runtime.store.many import BY_KEY, _update, insert_many, update_many

AT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """Read tables without a row."""
    engine = make_engine(database_url)
    yield engine
    await engine.dispose()


def row(number: int, **changes: Any) -> dict[str, Any]:
    """A call as the read table has it."""
    return {
        "call_id": f'call_{number} "ü\\',
        "tenant": "acme",
        "execution_id": f"exec_{number}",
        "is_bare": number % 2 == 0,
        "status": "requested",
        "tool": "echo",
        "type": None,
        "requested_at": AT + timedelta(microseconds=number),
        "finished_at": None,
        "attempt": 0,
        "priority": number,
        "position": 2**40 + number,
        "created_position": number,
    } | changes


async def found(engine: AsyncEngine) -> list[dict[str, Any]]:
    """All rows, by age, with the columns of `row`."""
    columns = [calls.c[name] for name in row(0)]
    async with engine.begin() as connection:
        return [dict(one._mapping) for one in await connection.execute(select(*columns).order_by(calls.c.priority))]


async def test_rows_come_back_as_they_were_given(engine: AsyncEngine) -> None:
    """Text, numbers beyond 32 bits, truth, microseconds, and nothing at all."""
    rows = [row(number) for number in range(300)]
    async with engine.begin() as connection:
        await insert_many(connection, calls, rows)
        await insert_many(connection, calls, [])
    assert await found(engine) == rows


async def test_what_is_there_stays(engine: AsyncEngine) -> None:
    """A row that is inserted again changes nothing; its neighbours come in."""
    async with engine.begin() as connection:
        await insert_many(connection, calls, [row(1)])
        await insert_many(connection, calls, [row(0), row(1, status="failed"), row(2)])
    assert await found(engine) == [row(0), row(1), row(2)]


async def test_only_what_is_named_changes(engine: AsyncEngine) -> None:
    """Each row by its key, nothing else of it, and no other row; a key that is not there is nobody's."""
    changes = [
        {"call_id": row(number)["call_id"], "status": f"s{number}", "finished_at": None if number else AT}
        for number in (0, 2, 7)
    ]
    async with engine.begin() as connection:
        await insert_many(connection, calls, [row(number) for number in range(4)])
        await update_many(connection, calls, "call_id", changes)
        await update_many(connection, calls, "call_id", [])
    assert await found(engine) == [row(0, status="s0", finished_at=AT), row(1), row(2, status="s2"), row(3)]


async def test_rows_are_found_by_their_key_even_in_an_empty_table(postgres_url: str) -> None:
    """A plan that was made before there were rows must not read the whole table later."""
    engine = make_engine(postgres_url)
    async with engine.begin() as connection:
        await connection.execute(BY_KEY)
        statement = _update(calls, "call_id", ("call_id", "status"))
        told = await connection.execute(
            text(f"EXPLAIN {statement.text}"), {"call_id": ["call_1"], "status": ["failed"]}
        )
        plan = "\n".join(line[0] for line in told)
    async with engine.begin() as connection:  # and nothing of it outlives the transaction
        settings = await connection.execute(text("SELECT current_setting('enable_seqscan')"))
        assert settings.scalar_one() == "on"
    await engine.dispose()
    assert "Nested Loop" in plan
    assert "Index Scan using calls_pkey" in plan
    assert "Seq Scan" not in plan
