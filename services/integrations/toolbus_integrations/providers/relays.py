"""
A door on loopback that leads to one checked address: for a library that connects by itself, past every guard.

It opens for one WebSocket, and for who knows its secret path: other programs on this machine knock in vain. What
comes through is passed on as it is, under TLS where the target speaks TLS, whose certificate must bear the target's
own name.
"""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import SplitResult

from toolbus.provider import Call

PIECE_BYTES: Final = 64 * 1024
CONNECT_S: Final = 10.0
HEAD_S: Final = 10.0


class _Door:
    """Who may come in, once: whoever asks for `path` goes on to `url`."""

    def __init__(self, url: SplitResult, outer: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self._url = url
        self._outer = outer
        self._passing: list[asyncio.Task[None]] = []
        self.path = f"/{secrets.token_urlsafe(24)}"

    async def enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody knocks."""
        head = await _head(reader)
        line, _, rest = head.partition(b"\r\n")
        if self._passing or line != f"GET {self.path} HTTP/1.1".encode():
            writer.close()
            return
        url = self._url
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        others = [one for one in rest.split(b"\r\n") if not one.lower().startswith(b"host:")]
        self._outer[1].write(f"GET {target} HTTP/1.1\r\nHost: {url.netloc}\r\n".encode() + b"\r\n".join(others))
        self._passing += [
            asyncio.create_task(_pass(reader, self._outer[1])),
            asyncio.create_task(_pass(self._outer[0], writer)),
        ]

    async def close(self) -> None:
        """Nothing passes any more."""
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)
        self._outer[1].close()
        with suppress(OSError):
            await self._outer[1].wait_closed()


@asynccontextmanager
async def relay(call: Call, url: SplitResult, *, trusted: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """
    The `ws` url of the door to a `ws` or `wss` url; whatever has come through it ends with the context.

    Raises:
        ToolFailed: the guard refuses the host, or it has no address.
        OSError: nobody takes the connection there.
    """
    is_tls = url.scheme == "wss"
    host, port = url.hostname or "", url.port or (443 if is_tls else 80)
    address = await call.checked_address(host, port)
    context = (trusted or ssl.create_default_context()) if is_tls else None
    async with asyncio.timeout(CONNECT_S):
        outer = await asyncio.open_connection(address, port, ssl=context, server_hostname=host if is_tls else None)
    door = _Door(url, outer)
    server = await asyncio.start_server(door.enter, "127.0.0.1", 0)
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}{door.path}"
    finally:
        server.close()
        await door.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    """The head of a request; empty when there is none."""
    with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        async with asyncio.timeout(HEAD_S):
            return await reader.readuntil(b"\r\n\r\n")
    return b""


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything that is read is written, until one side ends: then the other one ends too."""
    try:
        with suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
    finally:
        writer.close()
