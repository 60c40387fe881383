"""
The load generator's HTTP client: one keep-alive connection, one request at a time, next to no CPU.

It knows content-length and chunked bodies and nothing more; what is measured is the server.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status code and body."""

    status: int
    body: bytes


class ConnectionLost(ConnectionError):
    """The server closed the connection before the answer was complete."""


class HttpClient(asyncio.Protocol):
    """One connection to a server on the loopback."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        fixed = {"host": f"127.0.0.1:{port}", "content-type": "application/json", **headers}
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in fixed.items()).encode()
        self._buffer = b""
        self._waiting: asyncio.Future[Answer] | None = None
        self._transport: asyncio.WriteTransport

    @classmethod
    async def connect(cls, port: int, headers: Mapping[str, str] | None = None) -> Self:
        """Open a connection whose requests all carry these headers."""
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: cls(port, headers or {}), "127.0.0.1", port)
        return client

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    async def get(self, path: str) -> Answer:
        """Send a GET and wait for its answer."""
        return await self._exchange(f"GET {path} HTTP/1.1\r\n".encode() + self._fixed + b"\r\n")

    async def send(self, method: str, path: str, body: bytes) -> Answer:
        """Send a request with a JSON body and wait for its answer."""
        head = f"{method} {path} HTTP/1.1\r\ncontent-length: {len(body)}\r\n".encode()
        return await self._exchange(head + self._fixed + b"\r\n" + body)

    async def _exchange(self, request: bytes) -> Answer:
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to write on."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that waits, if one does."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionLost(str(exc or "closed by the server")))

    def data_received(self, data: bytes) -> None:
        """Complete the request that waits as soon as its answer is whole."""
        self._buffer = self._buffer + data if self._buffer else data
        answer = _parse(self._buffer)
        if answer is not None and self._waiting is not None and not self._waiting.done():
            self._buffer = b""
            self._waiting.set_result(answer)


def _parse(data: bytes) -> Answer | None:
    """Read a complete answer, or nothing while a part is missing."""
    end = data.find(HEAD_END)
    if end < 0:
        return None
    status, head = int(data[9:12]), data[:end].lower()
    start = end + len(HEAD_END)
    at = head.find(b"\r\ncontent-length:")
    if at >= 0:
        length = int(head[at + 17 :].split(b"\r\n", 1)[0])
        return Answer(status, data[start : start + length]) if len(data) >= start + length else None
    if b"\r\ntransfer-encoding: chunked" in head:
        return _unchunk(status, data, start)
    return Answer(status, b"")


def _unchunk(status: int, data: bytes, at: int) -> Answer | None:
    body = b""
    while (line_end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:line_end].split(b";", 1)[0], 16)
        chunk_end = line_end + 2 + size
        if len(data) < chunk_end + 2:
            return None
        if size == 0:
            return Answer(status, body)
        body += data[line_end + 2 : chunk_end]
        at = chunk_end + 2
    return None
