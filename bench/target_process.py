"""The target as the benchmark sees it: a process with a URL and a journal to ask."""

import sys
from dataclasses import dataclass

import orjson

from bench.http_client import HttpClient
from bench.processes import Child, Crew, free_port


@dataclass(frozen=True)
class Seen:
    """What the target's journal holds: requests, distinct call keys, and keys seen more than once."""

    requests: int
    keys: int
    doubled: int
    examples: tuple[str, ...]


@dataclass
class TargetProcess:
    """The running target."""

    child: Child
    port: int
    control: HttpClient

    @classmethod
    async def start(cls, crew: Crew) -> "TargetProcess":
        """Start it on a free port and wait until it listens."""
        port = free_port()
        child = crew.start("target", [sys.executable, "-m", "bench.target", str(port)])
        await child.listening(port)
        return cls(child, port, await HttpClient.connect(port))

    @property
    def url(self) -> str:
        """Where calls go, without the query that carries their key."""
        return f"http://127.0.0.1:{self.port}/effect"

    @property
    def pid(self) -> int:
        """Its pid."""
        return self.child.process.pid

    async def reset(self) -> None:
        """Empty the journal."""
        await self.control.get("/-/reset")

    async def journal(self) -> Seen:
        """What arrived since the last reset."""
        answer = await self.control.get("/-/journal")
        told = orjson.loads(answer.body)
        return Seen(told["requests"], told["keys"], told["doubled"], tuple(told["examples"]))
