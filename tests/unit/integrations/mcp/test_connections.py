"""Connections: one per server as it is spoken to, opened when wanted, given up when dead, closed when idle."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime

import pytest

from tests.nats_fixtures import until
from toolbus_contracts.calls import Continued
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.mcp import McpSurfaceView, PutMcpServer
from toolbus_contracts.tools import JsonObject
from toolbus_integrations.core.mcp_answers import RpcError
from toolbus_integrations.mcp.connections import FIRST_DELAY_S, LONGEST_DELAY_S, Connections
from toolbus_integrations.mcp.exchange import Exchange
from toolbus_integrations.mcp.reaching import CONNECTION, Session, Unreachable, opener
from toolbus_integrations.mcp.targets import Target, target_of


class Hand:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def now(self) -> datetime:
        """The calendar, which nobody asks here."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    def steady_s(self) -> float:
        """Where the hand stands."""
        return self.at_s


class Line:
    """A connection that does what the test says."""

    def __init__(self, failure: Exception | None, gate: asyncio.Event) -> None:
        self._failure = failure
        self._gate = gate
        self.is_open = False
        self.is_retired = False
        self.has_ended = asyncio.Event()

    async def open(self) -> None:
        """Stand, once the gate is open."""
        await self._gate.wait()
        if self._failure is not None:
            raise self._failure
        self.is_open = True

    async def tools(self, *, is_pinned: bool = True) -> McpSurfaceView:
        """Nobody asks."""
        raise AssertionError(is_pinned)

    async def call(
        self, tool: str, arguments: JsonObject, exchange: Exchange, continued: Continued | None = None
    ) -> JsonObject | RpcError:
        """Nobody calls."""
        raise AssertionError(tool, arguments, exchange, continued)

    def forget_listing(self) -> None:
        """There is none."""

    def retire(self) -> None:
        """End."""
        self.is_retired = True
        self.is_open = False
        self.has_ended.set()

    async def ended(self) -> None:
        """Wait for the end."""
        await self.has_ended.wait()

    async def close(self) -> None:
        """End at once."""
        self.retire()


class Switchboard:
    """Makes lines, and remembers them."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def make(self, target: Target) -> Session:
        """One more line."""
        del target
        self.lines.append(Line(self.failure, self.gate))
        return self.lines[-1]


def target(key: str = "one") -> Target:
    """A server."""
    settings = PutMcpServer(transport="http", url="https://x/mcp")
    return Target(key=key, name=key, settings=settings, headers={}, env={}, redactor=Redactor())


@pytest.fixture
def board() -> Switchboard:
    """What makes lines."""
    return Switchboard()


@pytest.fixture
def hand() -> Hand:
    """The clock."""
    return Hand()


@pytest.fixture
async def connections(board: Switchboard, hand: Hand) -> AsyncIterator[Connections]:
    """The connections, over those lines."""
    made = Connections(board.make, hand)
    yield made
    await made.aclose()


async def use(connections: Connections, key: str = "one") -> Session:
    """The line that a call gets."""
    async with connections.use(target(key)) as line:
        return line


async def test_calls_share_a_connection_and_servers_do_not(connections: Connections, board: Switchboard) -> None:
    """Even while it is being opened; who gives up takes nothing from the others."""
    board.gate.clear()
    waiting = [asyncio.create_task(use(connections)) for _ in range(3)]
    await until(lambda: len(board.lines) == 1)
    waiting[0].cancel()
    await asyncio.wait({waiting[0]})
    board.gate.set()
    first, second = await asyncio.gather(*waiting[1:])
    assert first is second is board.lines[0]
    assert await use(connections, "other") is not first
    assert len(board.lines) == 2


async def test_pauses_grow_while_it_cannot_be_opened(connections: Connections, board: Switchboard, hand: Hand) -> None:
    """Within a pause nothing is tried and the rest of it is told; a success begins anew."""
    board.failure = Unreachable("away")
    pauses: list[float] = []
    for _ in range(10):
        with pytest.raises(Unreachable) as caught:
            await use(connections)
        pause_s = caught.value.retry_after_s
        assert pause_s is not None
        pauses.append(pause_s)
        hand.at_s += pause_s / 2
        with pytest.raises(Unreachable, match="away") as again:
            await use(connections)
        assert again.value.retry_after_s == pytest.approx(pause_s / 2)
        hand.at_s += pause_s / 2 + 0.001  # sums of halves are not exact
    assert pauses[:3] == [FIRST_DELAY_S, 2 * FIRST_DELAY_S, 4 * FIRST_DELAY_S]
    assert pauses[-1] == LONGEST_DELAY_S
    assert len(board.lines) == 10
    board.failure = None
    line = await use(connections)
    board.failure = Unreachable("away again")
    line.retire()
    with pytest.raises(Unreachable) as caught:
        await use(connections)
    assert caught.value.retry_after_s == FIRST_DELAY_S


async def test_a_refusal_is_told_each_time(connections: Connections, board: Switchboard) -> None:
    """It needs no pause: nothing was tried."""
    board.failure = Refused("command_denied", "no")
    for _ in range(2):
        with pytest.raises(Refused):
            await use(connections)
    assert len(board.lines) == 2


async def test_a_dead_connection_is_replaced(connections: Connections, board: Switchboard) -> None:
    """And one that was dropped as well."""
    first = await use(connections)
    board.lines[0].is_open = False
    second = await use(connections)
    assert second is not first
    connections.drop(target(), second)
    assert board.lines[1].is_retired
    assert await use(connections) is board.lines[2]
    connections.drop(target(), second)  # somebody else was faster
    assert await use(connections) is board.lines[2]
    assert connections.open_count() == 1


async def test_what_nobody_uses_is_closed(board: Switchboard, hand: Hand) -> None:
    """Not while somebody does; a use in between begins the time anew."""
    connections = Connections(board.make, hand, idle_s=0.02)
    async with connections.use(target()):
        await use(connections)
        assert connections.open_count() == 1
    await until(lambda: connections.open_count() == 0)
    assert board.lines[0].is_retired
    await connections.aclose()
    with pytest.raises(Unreachable, match="stopping"):
        await use(connections)


async def test_where_the_library_is_missing_that_is_told(monkeypatch: pytest.MonkeyPatch, hand: Hand) -> None:
    """With what to install; nothing else of the service minds."""

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        raise AssertionError(host, port)

    for name in [name for name in sys.modules if name.startswith((CONNECTION, "toolbus_integrations.mcp.dialing"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(Refused, match=r"toolbus\[integrations\]") as caught:
        await opener(resolve, hand)(target())
    assert caught.value.code == "provider_missing"


async def test_another_value_of_a_secret_is_another_connection() -> None:
    """Whatever its generation says: files and variables have none."""
    settings = PutMcpServer(transport="http", url="https://x/mcp", bearer="secret://k", headers={"A": "b"})

    async def made(value: str) -> Target:
        async def resolve(names: Iterable[str]) -> dict[str, Secret]:
            assert list(names) == ["k"]
            return {"k": Secret("k", value, hosts=("x",))}

        return await target_of("acme", "s", settings, resolve)

    one, two = await made("value-1"), await made("value-2")
    assert one.headers == {"A": "b", "Authorization": "Bearer value-1"}
    assert one.key != two.key
    assert "value-1" not in repr(one) + one.key
    assert one.key == (await made("value-1")).key
    assert one.redactor.in_text("it is value-1") == "it is [secret:k]"


async def test_a_secret_goes_to_its_hosts_only() -> None:
    """A server elsewhere is refused it."""
    settings = PutMcpServer(transport="http", url="https://elsewhere/mcp", bearer="secret://k")

    async def resolve(names: Iterable[str]) -> dict[str, Secret]:
        del names
        return {"k": Secret("k", "value", hosts=("x",))}

    with pytest.raises(Refused) as caught:
        await target_of("acme", "s", settings, resolve)
    assert caught.value.code == "secret_not_allowed"
