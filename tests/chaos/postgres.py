"""A PostgreSQL of its own for every run, made by copying one that was prepared once."""

import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from toolbus_runtime.store.database import migrate
from toolbus_runtime.testing import PostgresServer

DATABASE = "toolbus"
PATIENCE_S = 4.0  # a recovery takes two seconds
LOOK_S = 0.1


class Prepared(PostgresServer):
    """A stopped server that holds one migrated database and nothing else, to be copied."""

    async def prepare(self) -> None:
        """Make the database, and shut down in order."""
        self.start()
        await self._create(DATABASE)
        await migrate(self.url(DATABASE))
        self.shut_down()

    @property
    def data(self) -> Path:
        """The folder to copy."""
        return self._data

    @property
    def programs(self) -> tuple[Path, str | None]:
        """Where the server's programs are, and whom they run as."""
        return self._bin, self._user


class Cluster(PostgresServer):
    """A copy of a prepared server."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        super().__init__()

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.directory / ".s.PGSQL.5432"

    @property
    def data(self) -> Path:
        """Its own folder."""
        return self._data

    def put_under(self, environment: Mapping[str, str]) -> None:
        """From its next start on it has these variables besides."""
        self._environment = {**self._environment, **environment}

    def revive(self) -> None:
        """
        It takes connections, also when it had given up.

        PostgreSQL 18 stays "in recovery mode" for ever when its recovery failed for want of space: it is killed then.
        """
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is None and self._answers():
                return
            time.sleep(LOOK_S)
        self.kill()
        self.start()

    def log_text(self) -> str:
        """What it said."""
        path = self.directory / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _initialise(self) -> tuple[Path, str | None]:
        programs, user = self._prepared.programs
        self._data.rmdir()
        subprocess.run(["/bin/cp", "-a", str(self._prepared.data), str(self._data)], check=True)
        if user is not None:
            shutil.chown(self.directory, user)
        return programs, user
