"""The program `wiki_server.py` while it runs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ports import free_port

PROGRAM = Path(__file__).with_name("wiki_server.py")


@dataclass(frozen=True)
class Wiki:
    """A server over both transports."""

    port: int
    journal: Path
    process: subprocess.Popen[str]

    def url(self, transport: str) -> str:
        """Where it speaks `http` or `sse`."""
        return f"http://127.0.0.1:{self.port}/{'sse' if transport == 'sse' else 'mcp'}"

    def told(self, **wanted: Any) -> list[dict[str, Any]]:
        """The lines of its journal that hold these."""
        lines = [json.loads(line) for line in self.journal.read_text().splitlines()]
        return [line for line in lines if wanted.items() <= line.items()]

    def kill(self) -> None:
        """It is gone on return."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def wiki(folder: Path) -> Iterator[Wiki]:
    """It listens, and is gone afterwards."""
    port, journal = free_port(), folder / "wiki.jsonl"
    command = [sys.executable, str(PROGRAM), str(port), str(journal)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    made = Wiki(port, journal, process)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        yield made
    finally:
        made.kill()
