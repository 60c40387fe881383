"""The door on loopback: who passes, where to, and under whose certificate."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.unit.integrations.providers.authority import Authority
from tests.unit.integrations.providers.calling import DENIED, OwnCall
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.relays import relay

REQUEST = "GET {path} HTTP/1.1\r\nHost: {netloc}\r\nUpgrade: websocket\r\n\r\n"


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


@asynccontextmanager
async def _echo(context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server that gives back what it gets, until the end."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1000):
            writer.write(piece)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context)
    yield int(server.sockets[0].getsockname()[1])
    server.close()


async def _knock(url: str, said: str = REQUEST) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Asks the door to let us in."""
    door = urlsplit(url)
    reader, writer = await asyncio.open_connection(door.hostname, door.port)
    writer.write(said.format(path=door.path, netloc=door.netloc).encode())
    return reader, writer


async def test_passes(call: OwnCall) -> None:
    """The request goes on to the target's path and name, and everything behind it goes both ways."""
    async with _echo() as port, relay(call, urlsplit(f"ws://localhost:{port}/socket?key=1")) as door:
        reader, writer = await _knock(door)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head == f"GET /socket?key=1 HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\n\r\n".encode()
        writer.write(b"\x00more\r\n\r\n")
        assert await reader.readexactly(9) == b"\x00more\r\n\r\n"
        writer.close()


@pytest.mark.parametrize(
    "said", [REQUEST.replace("{path}", "/socket"), REQUEST.replace("GET", "POST"), "\r\n\r\n", "x" * 99_999]
)
async def test_knocked_in_vain(call: OwnCall, said: str) -> None:
    """Who does not know the secret path is sent away, and the door stays open for who knows it; then it is shut."""
    async with _echo() as port, relay(call, urlsplit(f"ws://localhost:{port}/socket")) as door:
        stranger, writer = await _knock(door, said)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await stranger.readexactly(1)
        writer.close()
        reader, writer = await _knock(door)
        assert (await reader.readline()).startswith(b"GET /socket")
        second, late = await _knock(door)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await second.readexactly(1)
        writer.close()
        late.close()


async def test_ends_with_its_context(call: OwnCall) -> None:
    """Whoever is still inside is sent out at the end."""
    async with _echo() as port:
        async with relay(call, urlsplit(f"ws://localhost:{port}/")) as door:
            reader, writer = await _knock(door)
            await reader.readuntil(b"\r\n\r\n")
        assert await reader.read() == b""
        writer.close()


async def test_certificate(call: OwnCall, tmp_path: Path) -> None:
    """Under TLS the target must be who it is called."""
    authority = Authority()
    trusted = ssl.create_default_context(cadata=authority.pem)
    async with _echo(authority.context("localhost", tmp_path)) as port:
        async with relay(call, urlsplit(f"wss://localhost:{port}/socket"), trusted=trusted) as door:
            reader, writer = await _knock(door)
            assert (await reader.readline()).startswith(b"GET /socket")
            writer.close()
        for url, context in ((f"wss://127.0.0.1:{port}/", trusted), (f"wss://localhost:{port}/", None)):
            with pytest.raises(ssl.SSLCertVerificationError):
                await relay(call, urlsplit(url), trusted=context).__aenter__()


async def test_guarded(call: OwnCall) -> None:
    """There is no door to where the guard lets nobody go."""
    with pytest.raises(ToolFailed):
        await relay(call, urlsplit(f"ws://{DENIED}/")).__aenter__()
