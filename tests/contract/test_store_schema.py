"""The history of the schema leads to the tables the code knows; errors of drivers are ours; plans use the indexes."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import asyncpg.exceptions
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, select, text

from tests.store_samples import sample
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store import postgres, postgres_sql, sqlite, tables
from toolbus_runtime.store.database import MIGRATIONS, at_head, make_engine, migrate, open_store
from toolbus_runtime.testing import PostgresServer


def _exceptions_of(module: object) -> set[type[Exception]]:
    found = {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Exception)}
    return {one for one in found if not issubclass(one, Warning)}  # those are shown, never raised


@pytest.mark.parametrize(
    ("translated", "exceptions"),
    [
        (postgres.translated, _exceptions_of(asyncpg.exceptions) | {ConnectionResetError, TimeoutError, OSError}),
        (sqlite.translated, _exceptions_of(sqlite3)),
    ],
    ids=["asyncpg", "sqlite3"],
)
def test_every_error_of_a_driver_becomes_unavailable(
    translated: Callable[[], AbstractContextManager[None]], exceptions: set[type[Exception]]
) -> None:
    """No exception class that asyncpg or sqlite3 has gets through, and the cause stays visible."""
    assert len(exceptions) >= 8
    for raised in exceptions:
        with pytest.raises(Unavailable) as caught, translated():
            raise raised("made up")
        assert isinstance(caught.value.__cause__, raised)


async def test_the_history_leads_to_the_tables_the_code_knows(database_url: str) -> None:
    """What the revisions create and what `tables.py` says differ in nothing."""

    def differences(connection: Connection) -> list[object]:
        options = {"include_name": lambda name, kind, _: kind != "table" or name in tables.metadata.tables}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata))

    engine = make_engine(database_url)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


def test_the_history_is_one_line() -> None:
    """Every revision has one successor: two heads would leave it to chance which tables there are."""
    history = ScriptDirectory(str(MIGRATIONS))
    assert len(history.get_heads()) == 1
    assert history.get_bases() == ["0001"]


async def test_migrating_brings_an_empty_database_to_the_head(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """Before it the database is not at its head, after it it is, and doing it again changes nothing."""
    empty = await postgres_server.fresh_database(migrated=False)
    for url in (f"sqlite:///{tmp_path}/new folder 100%/toolbus.db", empty):
        if url is empty:
            assert not await at_head(url)
        await migrate(url)
        await migrate(url)
        assert await at_head(url)
        store = open_store(url)
        assert await store.head() == 0
        await store.close()
    await postgres_server.drop_database(empty)


async def test_a_newer_schema_is_good_enough(database_url: str) -> None:
    """Revisions only add: old code is ready on a schema of tomorrow, and migrating leaves it alone."""
    engine = make_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await engine.dispose()
    assert await at_head(database_url)
    await migrate(database_url)
    assert await at_head(database_url)


async def test_events_can_be_selected_with_sqlalchemy(database_url: str) -> None:
    """Read tables are built with an engine: it gives the same values as the store, times included."""
    store = open_store(database_url)
    await store.append([sample("c1")])
    engine = make_engine(database_url).execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        found = (await connection.execute(select(tables.events).where(tables.events.c.recorded_at < _now()))).one()
    await engine.dispose()
    (stored,) = await store.read()
    await store.close()
    assert found._asdict() == {column: getattr(stored, column) for column in tables.EVENT_COLUMNS}


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "postgresql+psycopg://host/db"])
def test_other_databases_are_refused(url: str) -> None:
    """A url we cannot serve fails when the store is opened, not at its first use."""
    with pytest.raises(ValueError, match=r"url begins with|needs a file"):
        open_store(url)


async def test_a_missing_database_is_unavailable(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """A file or server that is not there is `Unavailable`; no empty log is made up in its place."""
    missing = [f"sqlite:///{tmp_path}/none.db", postgres_server.url("none"), f"postgresql://u@/db?host={tmp_path}"]
    for url in missing:
        store = open_store(url)
        with pytest.raises(Unavailable):
            await store.append([sample("c1")])
        with pytest.raises(Unavailable):
            await store.read()
        await store.close()
    with pytest.raises(Unavailable):
        await at_head(missing[-1])
    assert not (tmp_path / "none.db").exists()


async def test_a_plan_made_for_an_empty_table_suits_a_full_one(postgres_url: str) -> None:
    """The lookups of an append and a load go by their indexes, although nothing is known about the table yet."""
    connection = await asyncpg.connect(postgres_url, server_settings=postgres_sql.SESSION)
    statements = {
        postgres_sql.HEADS: ("'{a}', '{t}', '{c}'", ["events_stream_version", "events_cause"], "causation_id ="),
        postgres_sql.LOAD: ("'{a}', '{0}'", ["events_stream_version"], "version >"),
    }
    for number, (statement, (values, indexes, condition)) in enumerate(statements.items()):
        await connection.execute(f"PREPARE plan_{number} AS {statement}")
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE plan_{number}({values})"))
        assert "Seq Scan" not in plan
        assert all(index in plan for index in indexes)
        conditions = [line for line in plan.splitlines() if condition in line]
        assert conditions
        assert all("Index Cond" in line for line in conditions)
    await connection.close()


def _now() -> datetime:
    return datetime.now(UTC)
