"""Uvicorn inside the service: it listens, and stops when it is told to, with a bounded grace."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from toolbus_runtime.http.streams import EndingStreams


class _Server(uvicorn.Server):
    """Uvicorn without signal handlers of its own: the service owns the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """
    Bind the address, so that a port that is taken is known before anything starts.

    Raises:
        OSError: the address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from error
    bound.setblocking(False)
    return bound


async def serve(
    app: Callable[..., Awaitable[Any]], bound: socket.socket, stop: asyncio.Event, *, grace_s: float
) -> None:
    """Serve until `stop` is set; requests in flight have `grace_s` seconds to end, event streams end at once."""
    streams = EndingStreams(app)
    config = uvicorn.Config(
        streams,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=max(1, int(grace_s)),
        h11_max_incomplete_event_size=64 * 1024,
        server_header=False,
        proxy_headers=False,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    streams.end()
    stopping.cancel()
    await serving
