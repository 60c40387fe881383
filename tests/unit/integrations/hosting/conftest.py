"""Fixtures: the ways out of a process, and a server that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.unit.integrations.hosting.calling import Raw
from toolbus_integrations.host.network import Network


@pytest.fixture
async def network() -> AsyncIterator[Network]:
    """The ways out of one process."""
    made = Network()
    yield made
    await made.aclose()


@pytest.fixture
async def raw() -> AsyncIterator[Raw]:
    """A server that answers any request with these bytes, and closes."""
    servers: list[asyncio.Server] = []

    async def serve(answer: bytes) -> str:
        async def on_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(on_client, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    yield serve
    for server in servers:
        server.close()
