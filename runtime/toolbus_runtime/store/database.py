"""
Open the database named by a url: the store, an engine for read tables, and the history of the schema.

Urls are `sqlite:///path` and `postgresql://user:pw@host/db`, the latter also `postgresql://user@/db?host=/socket/dir`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store import postgres, sqlite
from toolbus_runtime.store.port import EventStore
from toolbus_runtime.store.postgres_sql import MIGRATE_LOCK
from toolbus_runtime.store.sqlite_sql import SESSION as SQLITE_SESSION

T = TypeVar("T")
MIGRATIONS = Path(__file__).with_name("migrations")
# SQLAlchemy lets errors of the driver through as they are when a connection breaks while it is being set up.
DATABASE_ERRORS = (SQLAlchemyError, *postgres.DRIVER_ERRORS)
DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}


def open_store(url: str) -> EventStore:
    """Open the event store; nothing is connected before the first use. The schema must be there: see `migrate`."""
    parsed = _parsed(url)
    if parsed.drivername == "sqlite":
        return sqlite.SqliteStore(_path(parsed))
    return postgres.PostgresStore(url)


def make_engine(url: str, **options: Any) -> AsyncEngine:
    """
    Make an engine for tables beside the store; `options` go to `create_async_engine`.

    On SQLite a transaction takes the write lock when it begins, because one that reads first and writes later
    fails when anybody wrote in between. Queries that only read should say
    `engine.execution_options(isolation_level="AUTOCOMMIT")`, which also saves two round trips on PostgreSQL.
    """
    parsed = _parsed(url)
    engine = create_async_engine(parsed.set(drivername=DRIVERS[parsed.drivername]), **options)
    if parsed.drivername == "sqlite":
        event.listen(engine.sync_engine, "connect", _on_sqlite_connect)
        event.listen(engine.sync_engine, "begin", _on_sqlite_begin)
    return engine


async def migrate(url: str) -> None:
    """
    Bring the schema to the newest revision this code knows, in one transaction; a newer schema is left alone.

    Any number of processes may do so at once: the first does the work, the others wait and find it done.

    Raises:
        Unavailable: the database is away, or the work was refused; nothing was changed then.
    """
    parsed = _parsed(url)
    if parsed.drivername == "sqlite":
        Path(_path(parsed)).parent.mkdir(parents=True, exist_ok=True)
    await _with_connection(url, _upgrade)


async def at_head(url: str) -> bool:
    """
    Whether the schema is the one this code needs, or newer: revisions only add, so old code runs on a new schema.

    Raises:
        Unavailable: the database is away.
    """
    return await _with_connection(url, _is_at_head)


async def _with_connection(url: str, work: Callable[[Connection], T]) -> T:
    engine = make_engine(url, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    except DATABASE_ERRORS as error:
        raise Unavailable(f"database: {type(error).__name__}: {error}") from error
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATE_LOCK})"))
    if not _is_at_head(connection):
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _is_at_head(connection: Connection) -> bool:
    current = MigrationContext.configure(connection).get_current_revision()
    known = ScriptDirectory.from_config(_config())
    older = {revision.revision for revision in known.walk_revisions()} - {known.get_current_head()}
    return current is not None and current not in older


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _parsed(url: str) -> URL:
    parsed = make_url(url)
    if parsed.drivername not in DRIVERS:
        raise ValueError(f"a database url begins with sqlite:/// or postgresql://, not {parsed.drivername}")
    return parsed


def _path(parsed: URL) -> str:
    if not parsed.database or parsed.database == ":memory:":
        raise ValueError("sqlite needs a file: sqlite:///path")
    return parsed.database


def _on_sqlite_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we begin transactions, not the driver
    cursor = connection.cursor()
    for statement in SQLITE_SESSION:
        cursor.execute(statement)
    cursor.close()


def _on_sqlite_begin(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
