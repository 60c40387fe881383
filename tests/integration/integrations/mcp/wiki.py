"""The server `wiki_server.py` while it runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.integration.integrations.mcp.forking import forked, kill
from tests.integration.integrations.mcp.wiki_server import serve
from tests.ports import free_port


@dataclass(frozen=True)
class Wiki:
    """A server over both transports."""

    port: int
    journal: Path
    process: BaseProcess

    def url(self, transport: str) -> str:
        """Where it speaks `http` or `sse`."""
        return f"http://127.0.0.1:{self.port}/{'sse' if transport == 'sse' else 'mcp'}"

    def told(self, **wanted: Any) -> list[dict[str, Any]]:
        """The lines of its journal that hold these."""
        lines = [json.loads(line) for line in self.journal.read_text().splitlines()]
        return [line for line in lines if wanted.items() <= line.items()]

    def kill(self) -> None:
        """It is gone on return."""
        kill(self.process)


@contextmanager
def wiki(folder: Path) -> Iterator[Wiki]:
    """It listens, and is gone afterwards."""
    port, journal = free_port(), folder / "wiki.jsonl"
    made = Wiki(port, journal, forked(serve, port, str(journal)))
    try:
        yield made
    finally:
        made.kill()
