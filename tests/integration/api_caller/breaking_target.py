"""A target that keeps connections alive, answers the first request, and breaks in a stage of the next."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from tests.integration.api_caller.raw_target import OK, reset

Fault = Literal["close", "reset", "hang"]
Stage = Literal["idle", "in the request", "after the request", "in the head", "in the body", "in the body of an error"]
PARTS: dict[Stage, bytes] = {
    "in the head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    "in the body of an error": b"HTTP/1.1 503 Unavailable\r\nRetry-After: 1\r\nContent-Length: 100\r\n\r\nhalf",
}


@dataclass
class BreakingTarget:
    """
    `journal` has the first line of every request whose head came whole, also of those that were broken.

    `is_mended`: a new connection answers again, so that whoever sends a second time gets away with it;
    else every request breaks after the very first. An idle connection breaks as soon as its answer was
    given, or by `break_off` when it `waits`.
    """

    stage: Stage
    fault: Fault
    is_mended: bool = True
    waits: bool = True
    port: int = 0
    journal: list[str] = field(default_factory=list)
    _opened: list[asyncio.StreamWriter] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer once, and break at the second request."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._opened.append(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if self.is_mended or not self.journal:
                await self._take(reader)
                writer.write(self._part(OK, b"{}"))
                await writer.drain()
            if self.stage != "idle":
                await self._take(reader, is_whole=self.stage != "in the request")
                writer.write(self._part(PARTS.get(self.stage, b""), b"half"))
                await writer.drain()
            if self.stage != "idle" or not (self.waits or len(self._opened) > 1):
                self.break_off(writer)
            await asyncio.Event().wait()
        self._tasks.discard(task)

    async def _take(self, reader: asyncio.StreamReader, *, is_whole: bool = True) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.journal.append(head.partition("\r\n")[0])
        lengths = [line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
        length = int(lengths[0]) if lengths else 0
        await reader.readexactly(length if is_whole else min(length, 1000))

    def _part(self, raw: bytes, body: bytes) -> bytes:
        """What is said of an answer: one to HEAD has no body."""
        return raw.removesuffix(body) if self.journal[-1].startswith("HEAD ") else raw

    def break_off(self, writer: asyncio.StreamWriter | None = None) -> None:
        """Break a connection, the first one unless it is named; one that hangs just stays as it is."""
        broken = writer or self._opened[0]
        if self.fault == "close":
            broken.close()
        elif self.fault == "reset":
            reset(broken)

    async def stop(self) -> None:
        """End every connection that still hangs."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._opened:
            writer.close()


@asynccontextmanager
async def breaking_target(
    stage: Stage, fault: Fault, *, is_mended: bool = True, waits: bool = True
) -> AsyncIterator[BreakingTarget]:
    """Such a target on a free port."""
    target = BreakingTarget(stage, fault, is_mended, waits)
    server = await asyncio.start_server(target.serve, "127.0.0.1", 0)
    target.port = server.sockets[0].getsockname()[1]
    try:
        yield target
    finally:
        server.close()
        await target.stop()
        await server.wait_closed()
