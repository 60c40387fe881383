"""
The event store on PostgreSQL.

An append is four round trips: BEGIN with the lock, one query for every head, one COPY, COMMIT. The lock is a
statement of its own, because under READ COMMITTED a statement sees what was committed when it *began*: heads read
in the statement that waits for the lock would be the heads from before the wait.

Whether a command was stored before is looked up only when an append does not fit, or when the unique index says so:
nearly all commands are new, and a look costs 4 µs each.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import asyncpg

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store import postgres_sql as sql
from toolbus_runtime.store.admission import Heads, Result, admit, stored, streams_of
from toolbus_runtime.store.port import Append, Appended, Checkpoint
from toolbus_runtime.store.reading import Filters, read_statement
from toolbus_runtime.store.tables import EVENT_COLUMNS

CONNECT_TIMEOUT_S = 5.0
COMMAND_TIMEOUT_S = 30.0
# `OSError` with TimeoutError and everything of ssl
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
NEVER = 2**31 - 1  # asyncpg otherwise replaces a connection after 50,000 queries, plans included


@contextmanager
def translated() -> Iterator[None]:
    """Turn everything that asyncpg or the socket raises into `Unavailable`."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise Unavailable(f"PostgreSQL: {type(error).__name__}: {error}") from error


async def _keep_session(connection: Any) -> None:
    """Leave a returned connection as it is: nothing here changes a session, and the default reset is a round trip."""


async def _assert_durable(connection: Any) -> None:
    settings = await connection.fetchrow("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
    if tuple(settings) != ("on", "on"):
        raise Unavailable(f"PostgreSQL does not sync commits to disk (fsync, synchronous_commit: {tuple(settings)})")


class PostgresStore:
    """Keeps the promises of `EventStore` on PostgreSQL; connects on first use, and again after a restart."""

    def __init__(self, url: str, *, readers: int = 4) -> None:
        self._url = url
        self._readers = readers
        self._pools: tuple[Any, Any] | None = None
        self._is_closed = False

    async def append(self, appends: Sequence[Append]) -> list[Result]:
        """Store what can be stored in one transaction; see the port."""
        if not appends:
            return []
        with translated():
            # One connection: appends of one process queue here, not at the lock with a connection each.
            pools = await self._open()
            async with pools[0].acquire(timeout=COMMAND_TIMEOUT_S) as connection:
                try:
                    try:
                        return await _append(connection, appends)
                    except asyncpg.UniqueViolationError:
                        await connection.execute("ROLLBACK")
                        return await _append(connection, appends, knows_causes=True)
                except BaseException:
                    connection.terminate()  # the server rolls back and frees the lock; a new connection is cheap
                    raise

    async def load(self, wanted: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        """Read many streams in one query; see the port."""
        found: dict[str, list[StoredEvent]] = {stream: [] for stream in wanted}
        if wanted:
            for row in await self._fetch(sql.LOAD, list(wanted), list(wanted.values())):
                found[row[4]].append(StoredEvent(*row))
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
        statement, values = read_statement(filters, "$")
        return [StoredEvent(*row) for row in await self._fetch(statement, *values)]

    async def head(self) -> int:
        """The position of the newest event."""
        return int((await self._fetch(sql.HEAD))[0][0])

    async def put_payloads(self, tenant: str, payloads: Mapping[str, bytes]) -> None:
        """Keep large values by digest; see the port."""
        if payloads:
            digests = sorted(payloads)  # one order for all writers: no deadlock
            await self._fetch(sql.PUT_PAYLOADS, tenant, digests, [payloads[one] for one in digests])

    async def get_payload(self, tenant: str, payload_digest: str) -> bytes | None:
        """Read a large value by its digest."""
        rows = await self._fetch(sql.GET_PAYLOAD, tenant, payload_digest)
        return rows[0][0] if rows else None

    async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port."""
        return bool(await self._fetch(sql.HOLD_LEASE, name, owner, ttl_s))

    async def release_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        await self._fetch(sql.RELEASE_LEASE, name, owner)

    async def load_checkpoint(self, name: str) -> Checkpoint:
        """How far the reader `name` has come."""
        rows = await self._fetch(sql.LOAD_CHECKPOINT, name)
        return Checkpoint(rows[0][0], rows[0][1]) if rows else Checkpoint(0)

    async def save_checkpoint(self, name: str, checkpoint: Checkpoint, *, lease: tuple[str, str] | None = None) -> bool:
        """Keep how far a reader has come, if its lease still holds; see the port."""
        kept = (name, checkpoint.position, checkpoint.note)
        if lease is None:
            return bool(await self._fetch(sql.SAVE_CHECKPOINT, *kept))
        return bool(await self._fetch(sql.SAVE_CHECKPOINT_FENCED, *kept, *lease))

    async def now(self) -> datetime:
        """The database's clock."""
        moment: datetime = (await self._fetch(sql.NOW))[0][0]
        return moment

    async def close(self) -> None:
        """Close the connections once they are idle."""
        self._is_closed = True
        if self._pools is not None:
            with translated():
                await asyncio.gather(*(pool.close() for pool in self._pools))

    async def _fetch(self, statement: str, *values: object) -> list[Any]:
        with translated():
            pools = await self._open()
            async with pools[1].acquire(timeout=COMMAND_TIMEOUT_S) as connection:
                rows: list[Any] = await connection.fetch(statement, *values)
                return rows

    async def _open(self) -> tuple[Any, Any]:
        """The pool for appends and the one for all else; nothing is connected yet."""
        if self._is_closed:
            raise Unavailable("the store is closed")
        if self._pools is None:
            pools = (self._make_pool(1), self._make_pool(self._readers))
            for pool in pools:
                await pool  # connects nothing yet, and so does not yield to another first user
            self._pools = pools
        return self._pools

    def _make_pool(self, size: int) -> Any:
        return asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=size,
            max_queries=NEVER,
            max_inactive_connection_lifetime=0,
            max_cached_statement_lifetime=0,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=COMMAND_TIMEOUT_S,
            server_settings=sql.SESSION,
            init=_assert_durable,
            reset=_keep_session,
        )


async def _append(connection: Any, appends: Sequence[Append], *, knows_causes: bool = False) -> list[Result]:
    await connection.execute(sql.BEGIN)
    results = admit(appends, await _heads(connection, appends, causes=appends if knows_causes else ()))
    if not knows_causes and not all(isinstance(result, Appended) and result.events for result in results):
        results = admit(appends, await _heads(connection, appends, causes=appends))
    rows = stored(results)
    if not rows:
        await connection.execute("ROLLBACK")
        return results
    # COPY: 64 events take 0.85 ms, an INSERT over unnest 1.35 ms (one array a column is slow to encode and to spread).
    await connection.copy_records_to_table("events", records=rows, columns=EVENT_COLUMNS)
    if await connection.execute("COMMIT") != "COMMIT":
        raise Unavailable("PostgreSQL rolled back what it was asked to commit")
    return results


async def _heads(connection: Any, appends: Sequence[Append], *, causes: Sequence[Append]) -> Heads:
    tenants = [append.tenant for append in causes]
    ids = [append.causation_id for append in causes]
    rows = await connection.fetch(sql.HEADS, streams_of(appends), tenants, ids)
    _, _, position, _, now = rows[0]
    heads = Heads(position, now, {}, {})
    for what, name, number, text, _ in rows[1:]:
        if what == "stream":
            heads.streams[name] = (number, text)
        else:
            heads.causes[tenants[number - 1], ids[number - 1]] = name
    return heads
