"""Fixtures for tests on a real NATS server, with every user's real permissions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.ports import free_port
from toolbus_contracts.subjects import BusUser, Permissions, users
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats, make_credentials
from toolbus_runtime.bus.streams import declare

TENANTS = ("acme", "other")
ROOT = "root"  # a user that no installation has: it may do everything, to break things with
Connect = Callable[[str], Awaitable[Bus]]


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[EmbeddedNats]:
    """A running nats-server of this test's own, with the users of two tenants and nothing declared."""
    root = BusUser(ROOT, Permissions((">",), (">",)))
    passwords = {**make_credentials(TENANTS), ROOT: "for tests alone"}
    server = EmbeddedNats(tmp_path / "nats", passwords, (*users(TENANTS), root), port=free_port())
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
async def connect(nats_server: EmbeddedNats) -> AsyncIterator[Connect]:
    """Connect as one of the users; closed at the end of the test."""
    opened: list[Bus] = []

    async def connected(user: str) -> Bus:
        bus = Bus(nats_server.url, user=user, password=nats_server.passwords[user])
        await bus.connect()
        opened.append(bus)
        return bus

    yield connected
    for bus in opened:
        await bus.close()


@pytest.fixture
async def declared(connect: Connect) -> Bus:
    """The operator's connection, after every stream and durable was declared."""
    bus = await connect("operator")
    await declare(bus)
    return bus


@pytest.fixture
async def dispatcher_bus(declared: Bus, connect: Connect) -> Bus:
    """The dispatcher's connection to a bus with everything declared."""
    return await connect("dispatcher")


@pytest.fixture
async def executor_bus(declared: Bus, connect: Connect) -> Bus:
    """The api_caller's connection to a bus with everything declared."""
    return await connect("api_caller")


@pytest.fixture
async def client_bus(declared: Bus, connect: Connect) -> Bus:
    """The connection of the tenant acme's programs to a bus with everything declared."""
    return await connect("client_acme")


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within_s: float = 15.0) -> None:
    """Wait until the condition holds; fail after `within_s` seconds."""
    async with asyncio.timeout(within_s):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)
