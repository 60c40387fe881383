# ruff: noqa: S608 -- names of tables and columns are put together here, values never are
"""
Many rows of a read table in one statement.

On PostgreSQL every column travels as one array: a row that changes costs the server 11 µs so, 21 µs as a statement of
its own. SQLite runs in this process, and gains nothing by that.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Table, TextClause, Update, bindparam, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

Row = Mapping[str, Any]
ARRAYS: Final = {str: "text[]", int: "bigint[]", bool: "boolean[]", datetime: "timestamptz[]"}
# Each row is found by its key, whatever the planner thinks of a table that was empty when it made its plan.
BY_KEY: Final = text(
    "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), "
    "set_config('enable_mergejoin', 'off', true)"
)


async def insert_many(connection: AsyncConnection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows, all of the same columns; one that is there already stays."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        await connection.execute(_insert(table, tuple(rows[0])), _arrays(rows))
    else:
        await connection.execute(sqlite.insert(table).on_conflict_do_nothing(), rows)


async def update_many(connection: AsyncConnection, table: Table, key: str, rows: Sequence[Row]) -> None:
    """Change rows that are found by the column `key`. All name the same columns, and each another key."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        await connection.execute(BY_KEY)
        await connection.execute(_update(table, key, tuple(rows[0])), _arrays(rows))
    else:
        await connection.execute(
            _update_one(table, key, tuple(rows[0])), [{f"b_{key}": row[key], **row} for row in rows]
        )


def _arrays(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


@lru_cache(maxsize=256)  # putting a statement together costs more than sending it
def _insert(table: Table, columns: tuple[str, ...]) -> TextClause:
    names = ", ".join(f'"{name}"' for name in columns)
    return text(f"INSERT INTO {table.name} ({names}) SELECT * FROM {_unnested(table, columns)} ON CONFLICT DO NOTHING")


@lru_cache(maxsize=256)
def _update(table: Table, key: str, columns: tuple[str, ...]) -> TextClause:
    names = ", ".join(f'"{name}"' for name in columns)
    changes = ", ".join(f'"{name}" = changed."{name}"' for name in columns if name != key)
    given = f"{_unnested(table, columns)} AS changed ({names})"
    return text(f'UPDATE {table.name} SET {changes} FROM {given} WHERE {table.name}."{key}" = changed."{key}"')


@lru_cache(maxsize=256)
def _update_one(table: Table, key: str, columns: tuple[str, ...]) -> Update:
    changes: dict[str, Any] = {name: bindparam(name) for name in columns if name != key}
    return table.update().where(table.c[key] == bindparam(f"b_{key}")).values(changes)


def _unnested(table: Table, columns: tuple[str, ...]) -> str:
    arrays = (f"CAST(:{name} AS {ARRAYS[table.c[name].type.python_type]})" for name in columns)
    return f"unnest({', '.join(arrays)})"
