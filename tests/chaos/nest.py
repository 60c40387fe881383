"""What one process needs once for all its runs: where services are born, and an empty database of each kind."""

import asyncio
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.chaos import shim
from tests.chaos.machine import clocks
from tests.chaos.postgres import Cluster, Prepared
from tests.e2e.nursery import Nursery
from toolbus_runtime.store.database import migrate


class Nest:
    """
    Made outside of an event loop, since preparing runs one.

    `library` breaks machines; none where there is no compiler. Services from the `nursery` have clocks that can jump.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._sqlite = b""
        self._prepared: Prepared | None = None
        self._folder = Path()
        self.library: Path | None = None
        self.nursery: Nursery

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="toolbus-chaos-"))
        self._folder.chmod(0o755)  # PostgreSQL's user reads the library
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self.library = shim.library(self._folder) if shim.is_available() else None
        self.nursery = self._stack.enter_context(Nursery(clocks(self.library) if self.library is not None else {}))
        path = self._folder / "toolbus.db"
        asyncio.run(migrate(f"sqlite:///{path}"))
        self._sqlite = path.read_bytes()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def sqlite(self, path: Path) -> str:
        """A fresh file; its url."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._sqlite)
        return f"sqlite:///{path}"

    def postgres(self) -> Cluster:
        """A fresh server, not started yet; to be called from a thread."""
        if self._prepared is None:
            self._prepared = Prepared()
            self._stack.callback(self._prepared.stop)
            asyncio.run(self._prepared.prepare())
        return Cluster(self._prepared)
