"""The event store when its database, its process or its neighbours fail: nothing confirmed is lost, and no gap."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from tests.nats_fixtures import until
from tests.store_samples import broken_links, sample, whole_log
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store import postgres_sql
from toolbus_runtime.store.database import at_head, migrate, open_store
from toolbus_runtime.store.port import Appended, Duplicate, EventStore
from toolbus_runtime.testing import PostgresServer


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL that this test may crash."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
async def postgres_store(postgres_url: str) -> AsyncIterator[EventStore]:
    """A store on PostgreSQL."""
    store = open_store(postgres_url)
    yield store
    await store.close()


class Appender:
    """Appends without end, each command again and again until the store has answered for it."""

    def __init__(self, store: EventStore, name: str) -> None:
        self.confirmed: set[str] = set()
        self.is_failing = False
        self.since_failure = 0
        self._store = store
        self._name = name

    async def run(self) -> None:
        """Append until cancelled."""
        number = 0
        while True:
            cause = f"{self._name} {number}"
            try:
                (found,) = await self._store.append([sample(cause, "a.v1", "b.v1", cause=cause)])
            except Unavailable:
                self.is_failing = True
                self.since_failure = 0
                await asyncio.sleep(0)
                continue
            assert isinstance(found, Appended | Duplicate)
            self.is_failing = False
            self.confirmed.add(cause)
            self.since_failure += 1
            number += 1


async def test_postgres_killed_in_the_middle_loses_nothing(own_server: PostgresServer) -> None:
    """Kill -9 while two stores append: they say Unavailable, recover by themselves, and the log is whole."""
    url = await own_server.fresh_database()
    stores = [open_store(url), open_store(url)]
    appenders = [Appender(store, f"{at}") for at, store in enumerate(stores)]
    running = [asyncio.create_task(appender.run()) for appender in appenders]
    for _ in range(3):
        await until(lambda: all(appender.since_failure > 20 for appender in appenders))
        own_server.kill()
        await until(lambda: all(appender.is_failing for appender in appenders))
        with pytest.raises(Unavailable):
            await stores[0].head()
        await asyncio.to_thread(own_server.start)
        await until(lambda: not any(appender.is_failing for appender in appenders))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    events = await whole_log(stores[0])
    assert broken_links(events) == []
    stored = [event.causation_id for event in events if event.ordinal == 0]
    assert len(stored) == len(set(stored))
    assert set().union(*(appender.confirmed for appender in appenders)) <= set(stored)
    for store in stores:
        await store.close()


async def test_a_connection_lost_during_commit_is_unavailable(postgres_store: EventStore, postgres_url: str) -> None:
    """Whether it was stored is then unknown; the same command again is stored once."""
    await postgres_store.append([sample("c1")])
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(
        """
        CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER hang_up AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hang_up()
        """
    )
    with pytest.raises(Unavailable):
        await postgres_store.append([sample("c2")])
    await connection.execute("DROP TRIGGER hang_up ON events")
    await connection.close()
    (found,) = await postgres_store.append([sample("c2")])
    assert found.outcome in ("appended", "duplicate")
    assert broken_links(await whole_log(postgres_store)) == []
    assert await postgres_store.head() == 2


async def test_a_cancelled_append_leaves_no_lock(postgres_store: EventStore, postgres_url: str) -> None:
    """A caller that gives up while it waits for the lock, or anywhere else, stands in nobody's way."""
    holder = await asyncpg.connect(postgres_url)
    await holder.execute(postgres_sql.BEGIN)
    waiting = asyncio.create_task(postgres_store.append([sample("c1")]))

    async def is_waiting() -> bool:
        return bool(await holder.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))

    await until(is_waiting)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await holder.close()
    (found,) = await postgres_store.append([sample("c1")])
    assert found.outcome == "appended"


async def test_connections_ended_by_the_server_are_replaced(postgres_store: EventStore, postgres_url: str) -> None:
    """After an operator ended every session, the store works again without being opened anew."""
    await postgres_store.append([sample("c1")])
    assert await postgres_store.head() == 1
    operator = await asyncpg.connect(postgres_url)
    await operator.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = $1",
        await operator.fetchval("SELECT current_database()"),
    )
    await operator.close()

    async def works() -> bool:
        try:
            return bool(await postgres_store.append([sample("c2")])) and await postgres_store.head() == 2
        except Unavailable:
            return False

    await until(works)


async def test_a_server_that_does_not_sync_is_refused() -> None:
    """With fsync off a commit means nothing: the store does not begin."""
    server = PostgresServer(fsync=False)
    try:
        server.start()
        store = open_store(await server.fresh_database())
        with pytest.raises(Unavailable, match="does not sync"):
            await store.append([sample("c1")])
        await store.close()
    finally:
        server.stop()


async def test_many_may_migrate_at_once(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """Replicas that start together: one does the work, and none fails."""
    empty = await postgres_server.fresh_database(migrated=False)
    for url in (empty, f"sqlite:///{tmp_path}/toolbus.db"):
        await asyncio.gather(*(migrate(url) for _ in range(6)))
        assert await at_head(url)
    await postgres_server.drop_database(empty)


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """A table in the way: the error is ours, and no half of the schema is left behind."""
    path = tmp_path / "toolbus.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints (other)")
    with pytest.raises(Unavailable):
        await migrate(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert found == [("checkpoints",)]


async def test_an_appending_process_that_is_killed_leaves_a_whole_log(database_url: str) -> None:
    """Kill -9 of a process in the middle of appending: all it had confirmed is there, and others go on at once."""
    confirmed = []
    for name in ("one", "two", "three"):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.appender", database_url, name, "1000000", stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        confirmed += [int(await process.stdout.readline()) for _ in range(30)]
        process.kill()
        confirmed += [int(line) for line in (await process.stdout.read()).split(b"\n")[:-1]]
        await process.wait()
    store = open_store(database_url)
    events = await whole_log(store)
    assert broken_links(events) == []
    assert set(confirmed) <= {event.position for event in events}
    assert (await store.append([sample("after")]))[0].outcome == "appended"
    await store.close()
