"""A target that shows every byte it was sent, and answers, closes, resets or hangs as told."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET, socket
from typing import cast

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class Seen:
    """One request as it came over the wire; `has_left` tells whether its sender hung up since."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    has_left: Callable[[], bool]

    def header(self, name: str) -> str | None:
        """The one value of a header, by lower-case name."""
        found = [value for key, value in self.headers if key.lower() == name]
        assert len(found) <= 1
        return found[0] if found else None


Answering = Callable[[Seen, asyncio.StreamWriter], Awaitable[bool]]


@dataclass
class RawTarget:
    """`answering` writes the answer and says whether the connection stays; requests are counted."""

    answering: Answering
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection until it is to be closed."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                self.seen.append(await _request(reader))
                if not await self.answering(self.seen[-1], writer):
                    break
                await writer.drain()
        writer.close()
        self._tasks.discard(task)

    async def stop(self) -> None:
        """End every connection that still hangs."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = [(name, value) for name, _, value in (each.partition(": ") for each in rest)]
    seen = Seen(line, headers, b"", reader.at_eof)
    assert seen.header("transfer-encoding") is None
    seen.body = await reader.readexactly(int(seen.header("content-length") or 0))
    return seen


@asynccontextmanager
async def raw_target(answering: Answering, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[RawTarget]:
    """A target, on a free port unless one is given."""
    target = RawTarget(answering)
    server = await asyncio.start_server(target.serve, host, port)
    target.port = server.sockets[0].getsockname()[1]
    try:
        yield target
    finally:
        server.close()
        await target.stop()
        await server.wait_closed()


def saying(raw: bytes, *, stays: bool = True) -> Answering:
    """Always these bytes."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(raw if not seen.line.startswith("HEAD ") else raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        await writer.drain()
        return stays

    return answering


def response(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer with its length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with a reset instead of a farewell."""
    sock = cast("socket", writer.get_extra_info("socket"))
    sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
