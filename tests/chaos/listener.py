"""A TCP listener on the loopback address, with a task of its own for every connection."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from typing import Self

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BACKLOG = 1024


class Listener:
    """Calls `serve` for each connection, until it is left; then everything that is still served is cancelled."""

    def __init__(self, serve: Serve) -> None:
        self.port = 0
        self._serve_one = serve
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=BACKLOG)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._served(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve_one(reader, writer)
        finally:
            writer.close()


def abort(writer: asyncio.StreamWriter) -> None:
    """End a connection with a reset, whatever waits to be written."""
    connection = writer.get_extra_info("socket")  # none when it is closed already
    with suppress(OSError, ValueError):  # or is being closed just now, as asyncio tells it and as uvloop does
        if connection is not None:
            connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
