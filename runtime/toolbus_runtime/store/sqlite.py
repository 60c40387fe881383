"""
The event store in one SQLite file.

One thread writes and one reads, each with its own connection; a whole append is one visit to the writing thread.
WAL lets both work at once, and `synchronous=FULL` syncs the log at every commit.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import orjson

from toolbus_contracts.envelope import StoredEvent, time_text
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store import sqlite_sql as sql
from toolbus_runtime.store.admission import Heads, Result, admit, stored, streams_of
from toolbus_runtime.store.port import Append, Checkpoint
from toolbus_runtime.store.reading import Filters, read_statement
from toolbus_runtime.store.tables import EVENT_COLUMNS

T = TypeVar("T")
_TIME = EVENT_COLUMNS.index("recorded_at")


@contextmanager
def translated() -> Iterator[None]:
    """Turn everything that sqlite3 raises into `Unavailable`."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Unavailable(f"SQLite: {type(error).__name__}: {error}") from error


class _Worker:
    """One thread and its connection, opened at the first visit."""

    def __init__(self, path: str, name: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"toolbus-sqlite-{name}")
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False

    async def visit(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` in the thread; what it left uncommitted is rolled back."""
        if self._is_closed:
            raise Unavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    async def close(self) -> None:
        """Close the connection after the visits that wait."""
        if not self._is_closed:
            self._is_closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
            self._thread.shutdown()

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with translated():
            if self._connection is None:
                self._connection = _connect(self._path)
            connection = self._connection
            try:
                return work(connection)
            finally:
                if connection.in_transaction:
                    connection.rollback()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(path: str) -> sqlite3.Connection:
    # mode=rw: a missing file is an error, not a new and empty log.
    address = f"{Path(path).absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, cached_statements=256)
    try:
        for statement in sql.SESSION:
            connection.execute(statement)
        _assert_durable(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _assert_durable(connection: sqlite3.Connection) -> None:
    settings = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    if settings != ["wal", 2]:
        raise Unavailable(f"SQLite does not sync commits to disk (journal_mode, synchronous: {settings})")


class SqliteStore:
    """Keeps the promises of `EventStore` in one file; several processes may share it."""

    def __init__(self, path: str) -> None:
        self._writer = _Worker(path, "writer")
        self._reader = _Worker(path, "reader")

    async def append(self, appends: Sequence[Append]) -> list[Result]:
        """Store what can be stored in one transaction; see the port."""
        return await self._writer.visit(lambda connection: _append(connection, appends)) if appends else []

    async def load(self, wanted: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        """Read many streams in one query; see the port."""
        found: dict[str, list[StoredEvent]] = {stream: [] for stream in wanted}
        if wanted:
            pairs = orjson.dumps(list(wanted.items())).decode()
            for event in await self._reader.visit(lambda connection: _events(connection, sql.LOAD, (pairs,))):
                found[event.stream].append(event)
        return found

    async def read(
        self,
        *,
        after: int = 0,
        limit: int = 1000,
        tenant: str | None = None,
        categories: Sequence[str] = (),
        kinds: Sequence[str] = (),
        correlation_id: str | None = None,
        stream: str | None = None,
    ) -> list[StoredEvent]:
        """Events in position order behind `after`; see the port."""
        filters = Filters(after, limit, tenant, categories, kinds, correlation_id, stream)
        statement, values = read_statement(filters, "?")
        return await self._reader.visit(lambda connection: _events(connection, statement, values))

    async def head(self) -> int:
        """The position of the newest event."""
        row = await self._first(sql.HEAD)
        return int(row[0])

    async def put_payloads(self, tenant: str, payloads: Mapping[str, bytes]) -> None:
        """Keep large values by digest; see the port."""
        if payloads:
            now = _now_text()
            rows = [(tenant, digest, body, now) for digest, body in payloads.items()]
            await self._writer.visit(lambda connection: _write_many(connection, sql.PUT_PAYLOAD, rows))

    async def get_payload(self, tenant: str, payload_digest: str) -> bytes | None:
        """Read a large value by its digest."""
        row = await self._first(sql.GET_PAYLOAD, tenant, payload_digest)
        return row[0] if row else None

    async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port."""
        return await self._writer.visit(lambda connection: _hold_lease(connection, name, owner, ttl_s))

    async def release_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        await self._writer.visit(lambda connection: _write_many(connection, sql.RELEASE_LEASE, [(name, owner)]))

    async def load_checkpoint(self, name: str) -> Checkpoint:
        """How far the reader `name` has come."""
        row = await self._first(sql.LOAD_CHECKPOINT, name)
        return Checkpoint(*row) if row else Checkpoint(0)

    async def save_checkpoint(self, name: str, checkpoint: Checkpoint, *, lease: tuple[str, str] | None = None) -> bool:
        """Keep how far a reader has come, if its lease still holds; see the port."""
        return await self._writer.visit(lambda connection: _save_checkpoint(connection, name, checkpoint, lease))

    async def now(self) -> datetime:
        """The clock of this machine, which is where the file is."""
        return datetime.now(UTC)

    async def close(self) -> None:
        """End both threads."""
        await self._writer.close()
        await self._reader.close()

    async def _first(self, statement: str, *values: object) -> Any:
        return await self._reader.visit(lambda connection: connection.execute(statement, values).fetchone())


def _append(connection: sqlite3.Connection, appends: Sequence[Append]) -> list[Result]:
    connection.execute("BEGIN IMMEDIATE")
    results = admit(appends, _heads(connection, appends))
    events = stored(results)
    if events:
        moment = time_text(events[0].recorded_at)
        rows = ((*event[:_TIME], moment, *event[_TIME + 1 :]) for event in events)
        connection.executemany(sql.INSERT, rows)
        connection.execute("COMMIT")
    return results


def _heads(connection: sqlite3.Connection, appends: Sequence[Append]) -> Heads:
    last = connection.execute(sql.LOG_HEAD).fetchone()
    now = datetime.now(UTC)
    heads = Heads(last[0], max(now, datetime.fromisoformat(last[1])), {}, {}) if last else Heads(0, now, {}, {})
    wanted = orjson.dumps(streams_of(appends)).decode()
    for stream, version, found in connection.execute(sql.STREAM_HEADS, (wanted,)):
        heads.streams[stream] = (version, found)
    for append in appends:
        row = connection.execute(sql.CAUSE, (append.tenant, append.causation_id)).fetchone()
        if row is not None:
            heads.causes[append.tenant, append.causation_id] = row[0]
    return heads


def _events(connection: sqlite3.Connection, statement: str, values: Sequence[object]) -> list[StoredEvent]:
    found = []
    for row in connection.execute(statement, values):
        fields = list(row)
        fields[_TIME] = datetime.fromisoformat(fields[_TIME])
        found.append(StoredEvent(*fields))
    return found


def _write_many(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(statement, rows)
    connection.execute("COMMIT")


def _hold_lease(connection: sqlite3.Connection, name: str, owner: str, ttl_s: float) -> bool:
    connection.execute("BEGIN IMMEDIATE")
    now = datetime.now(UTC)
    until = now + timedelta(seconds=ttl_s)
    held = connection.execute(sql.HOLD_LEASE, (name, owner, time_text(now), time_text(until))).fetchone()
    connection.execute("COMMIT")
    return held is not None


def _save_checkpoint(
    connection: sqlite3.Connection, name: str, checkpoint: Checkpoint, lease: tuple[str, str] | None
) -> bool:
    connection.execute("BEGIN IMMEDIATE")
    if lease is not None and connection.execute(sql.LEASE_HELD, (*lease, _now_text())).fetchone() is None:
        return False
    connection.execute(sql.SAVE_CHECKPOINT, (name, checkpoint.position, checkpoint.note))
    connection.execute("COMMIT")
    return True


def _now_text() -> str:
    return time_text(datetime.now(UTC))
