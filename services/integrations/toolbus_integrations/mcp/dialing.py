"""How a server is reached: over HTTP past the egress guard, or as a process that the operator allows."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from toolbus_integrations.core.mcp_commands import AllowedCommand, check_command
from toolbus_integrations.mcp.network import WatchedTransport
from toolbus_integrations.mcp.reaching import Resolve
from toolbus_integrations.mcp.stdio import Command, running
from toolbus_integrations.mcp.targets import Target

MAX_EVENT_BYTES: Final = 52 * 1024 * 1024


class Wire(NamedTuple):
    """Both directions of a session. `gone` is set when nothing can come over it any more."""

    read: ReadStream[SessionMessage | Exception]
    write: WriteStream[SessionMessage]
    gone: asyncio.Event


class Dialer:
    """Reaches servers; `resolve` gives the addresses that the guard has checked."""

    def __init__(self, resolve: Resolve, *, allowed: Sequence[AllowedCommand] = ()) -> None:
        self._resolve = resolve
        self._allowed = tuple(allowed)

    def check(self, target: Target) -> None:
        """
        The server may be reached at all, as far as that can be told beforehand.

        Raises:
            Refused: `command_denied`.
        """
        check_command(target.settings, self._allowed)

    @asynccontextmanager
    async def dial(self, target: Target) -> AsyncIterator[Wire]:
        """
        A wire to the server, entered and left by one task.

        Raises:
            Refused: `command_denied`.
            OSError: the process cannot be started.
        """
        self.check(target)
        if target.settings.url is None:
            command = Command(target.name, target.settings.argv, target.env, target.redactor)
            async with running(command) as lines:
                yield Wire(lines.read, lines.write, lines.gone)
            return
        client = httpx2.AsyncClient(
            transport=WatchedTransport(self._resolve, is_apart=target.is_sse),
            headers={"accept-encoding": "identity", **target.headers},
            timeout=None,  # the transport knows how long each of its requests may take
            trust_env=False,
        )
        if target.is_sse:
            async with sse_client(target.settings.url, httpx_client_factory=lambda *_, **__: client) as (read, write):
                yield Wire(read, write, asyncio.Event())
            return
        async with (
            client,
            streamable_http_client(target.settings.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES) as (
                read,
                write,
            ),
        ):
            yield Wire(read, write, asyncio.Event())
