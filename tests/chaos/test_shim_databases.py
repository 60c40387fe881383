"""The faults of the machine, shown on SQLite and PostgreSQL: what is promised survives, and what is not is lost."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import asyncpg
import pytest

from tests.chaos import shim
from tests.chaos.shim.child import Child
from toolbus_runtime.store.sqlite_sql import SESSION
from toolbus_runtime.testing import PostgresServer

pytestmark = pytest.mark.skipif(not shim.is_available(), reason=shim.why_unavailable() or "available")


class Sqlite:
    """A process with a SQLite database, opened as the product opens it, and what has been committed there."""

    def __init__(self, environment: dict[str, str], path: Path) -> None:
        self.path = path
        self.child = Child(environment)
        self.child.tell(f"globals().update(db=sqlite3.connect({str(path)!r}, isolation_level=None))")
        for statement in SESSION:
            self.run(statement)

    def run(self, statement: str) -> str:
        """Run a statement; by itself it is a transaction."""
        return self.child.tell(f"db.execute({statement!r}).fetchall()")

    def rows(self) -> list[int]:
        """What another process finds in the table after the crash."""
        with closing(sqlite3.connect(self.path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return [number for (number,) in database.execute("SELECT number FROM rows ORDER BY number")]


def inserts(first: int, last: int) -> list[str]:
    """Statements, one row each."""
    return [f"INSERT INTO rows VALUES ({number})" for number in range(first, last)]  # noqa: S608 - numbers


@pytest.fixture(scope="module")
def library() -> Iterator[Path]:
    """The library, in a folder that PostgreSQL's user may read."""
    folder = Path(tempfile.mkdtemp(prefix="toolbus-shim-"))
    folder.chmod(0o755)
    yield shim.library(folder)
    shutil.rmtree(folder)


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """An empty folder that can lose its power."""
    folder = tmp_path / "live"
    folder.mkdir()
    return folder


def test_sqlite_keeps_what_it_committed(library: Path, live: Path) -> None:
    """With synchronous=FULL, as the product sets it, each commit survives; what an OFF committed after it does not."""
    shim.begin(live)
    database = Sqlite(shim.environment(library, live=live), live / "toolbus.db")
    try:
        database.run("CREATE TABLE rows (number)")
        for statement in inserts(0, 50):
            assert database.run(statement) == "[]"
        database.run("PRAGMA wal_checkpoint(PASSIVE)")  # the file itself must be right, too, and the WAL starts afresh
        for statement in inserts(50, 100):
            assert database.run(statement) == "[]"
        database.run("PRAGMA synchronous=OFF")
        database.run("INSERT INTO rows VALUES (100)")
        assert database.run("SELECT count(*) FROM rows") == "[(101,)]"
    finally:
        database.child.kill()
    shim.power_loss(live)
    assert database.rows() == list(range(100))


def test_a_full_disk_fails_sqlite_until_there_is_room(library: Path, live: Path, tmp_path: Path) -> None:
    """The commit that finds no room is refused, is not there, and hinders no later one."""
    flag = tmp_path / "full"
    shim.begin(live)
    database = Sqlite(shim.environment(library, live=live, disk_full=flag), live / "toolbus.db")
    try:
        database.run("CREATE TABLE rows (number)")
        shim.fill_disk(flag)
        assert database.run("INSERT INTO rows VALUES (1)") == "OperationalError database or disk is full"
        shim.free_disk(flag)
        assert database.run("INSERT INTO rows VALUES (2)") == "[]"
    finally:
        database.child.kill()
    shim.power_loss(live)
    assert database.rows() == [2]


@pytest.fixture
def server(request: pytest.FixtureRequest, library: Path) -> Iterator[PostgresServer]:
    """A PostgreSQL of this test's own under all faults; `fsync` is the parameter, on without one."""
    server = PostgresServer(fsync=getattr(request, "param", True))
    try:
        live = server.directory / "data"
        shim.begin(live)
        # Where the data lie is known now only.
        server._environment.update(shim.environment(library, live=live, disk_full=server.directory / "full"))
        server.start()
        assert server._process is not None
        assert shim.is_loaded(library, server._process.pid)
        yield server
    finally:
        server.stop()


async def execute(server: PostgresServer, *statements: str) -> list[asyncpg.Record]:
    """What the last statement gives; each is a transaction."""
    connection = await asyncpg.connect(server.url("postgres"))
    try:
        answers: list[list[asyncpg.Record]] = [await connection.fetch(statement) for statement in statements]
        return answers[-1]
    finally:
        await connection.close()


async def test_postgresql_keeps_what_it_committed(server: PostgresServer) -> None:
    """Rows written before and after a checkpoint survive two power losses, and the cluster starts again."""
    await execute(server, "CREATE TABLE rows (number int)", *inserts(0, 200), "CHECKPOINT", *inserts(200, 300))
    for torn in (None, Random(3)):
        server.kill()
        assert shim.power_loss(server.directory / "data", torn=torn).files > 0
        server.start()
        numbers = await execute(server, "SELECT number FROM rows ORDER BY number")
        assert [row["number"] for row in numbers[:300]] == list(range(300))
        await execute(server, *inserts(300, 400))


@pytest.mark.parametrize("server", [False], indirect=True)
async def test_postgresql_without_fsync_loses_rows(server: PostgresServer) -> None:
    """The same without fsync shows a loss: this is a power loss indeed."""
    await execute(server, "CREATE TABLE rows (number int)", *inserts(0, 100))
    server.kill()
    assert shim.power_loss(server.directory / "data").files > 0
    (server.directory / "data" / "postmaster.pid").unlink()  # it is empty now, which refuses the start
    server.start()
    with pytest.raises(asyncpg.UndefinedTableError):
        await execute(server, "SELECT number FROM rows")


async def test_a_full_disk_fails_postgresql_until_there_is_room(server: PostgresServer) -> None:
    """A statement that needs room is refused; later ones work."""
    many = "INSERT INTO rows SELECT generate_series(1, 50000)"
    await execute(server, "CREATE TABLE rows (number int)")
    shim.fill_disk(server.directory / "full")
    with pytest.raises(asyncpg.DiskFullError):
        await execute(server, many)
    shim.free_disk(server.directory / "full")
    await execute(server, many)
    server.kill()
    shim.power_loss(server.directory / "data")
    server.start()
    assert (await execute(server, "SELECT count(*) FROM rows"))[0]["count"] == 50_000
