"""What one process needs once for all its runs: where services are born, and an empty database of each kind."""

import asyncio
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.chaos.postgres import Cluster, Prepared
from tests.e2e.nursery import Nursery
from toolbus_runtime.store.database import migrate


class Nest:
    """Made outside of an event loop, since preparing runs one."""

    def __init__(self) -> None:
        self.nursery = Nursery()
        self._stack = ExitStack()
        self._sqlite = b""
        self._prepared: Prepared | None = None

    def __enter__(self) -> Self:
        self._stack.enter_context(self.nursery)
        folder = Path(tempfile.mkdtemp(prefix="toolbus-chaos-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        asyncio.run(migrate(f"sqlite:///{folder / 'toolbus.db'}"))
        self._sqlite = (folder / "toolbus.db").read_bytes()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def sqlite(self, path: Path) -> str:
        """A fresh file; its url."""
        path.write_bytes(self._sqlite)
        return f"sqlite:///{path}"

    def postgres(self) -> Cluster:
        """A fresh server, not started yet."""
        if self._prepared is None:
            self._prepared = Prepared()
            self._stack.callback(self._prepared.stop)
            asyncio.run(self._prepared.prepare())
        return Cluster(self._prepared)
