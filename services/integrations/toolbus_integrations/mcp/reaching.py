"""What connections are to those that use them; the library behind them is loaded when the first one is opened."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Final, Protocol

from toolbus_contracts.calls import Continued
from toolbus_contracts.errors import Refused
from toolbus_contracts.mcp import McpSurfaceView
from toolbus_contracts.tools import JsonObject
from toolbus_integrations.core.mcp_answers import RpcError
from toolbus_integrations.core.mcp_commands import AllowedCommand
from toolbus_integrations.mcp.exchange import Exchange
from toolbus_integrations.mcp.targets import Target
from toolbus_runtime.executing.clock import Clock

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # host and port → the addresses that the guard has checked
CONNECTION: Final = "toolbus_integrations.mcp.connection"
LIBRARIES: Final = frozenset({"mcp", "mcp_types", "httpx2", "httpcore2"})


class Unreachable(Exception):
    """There is no connection to the server, and nothing was sent; it is worth trying after so many seconds."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


class Session(Protocol):
    """A connection to one server."""

    @property
    def is_open(self) -> bool:
        """Whether a call can be made over it."""
        ...

    async def open(self) -> None:
        """It stands. Raises: Unreachable, Refused."""
        ...

    async def tools(self, *, is_pinned: bool = True) -> McpSurfaceView:
        """What the server says of itself and its tools, now if a tool is pinned. Raises: Unreachable."""
        ...

    async def call(
        self, tool: str, arguments: JsonObject, exchange: Exchange, continued: Continued | None = None
    ) -> JsonObject | RpcError:
        """The result as it came, or the error. Raises: NotHandedOver; Refused, an answer is none of the protocol."""
        ...

    def forget_listing(self) -> None:
        """What the server says is asked for anew when it is needed."""
        ...

    def retire(self) -> None:
        """It ends with the last of the calls that are being made."""
        ...

    async def ended(self) -> None:
        """It has ended."""
        ...

    async def close(self) -> None:
        """It has been ended."""
        ...


Opener = Callable[[Target], Awaitable[Session]]


def opener(resolve: Resolve, clock: Clock, *, allowed: Sequence[AllowedCommand] = ()) -> Opener:
    """What makes connections, not open yet; it raises `Refused` where the library is not installed."""

    async def make(target: Target) -> Session:
        try:
            # It takes the better part of a second, in which every other call would stand still.
            module = await asyncio.to_thread(import_module, CONNECTION)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in LIBRARIES:
                raise
            message = "MCP servers need more than is installed here: pip install 'toolbus[integrations]'"
            raise Refused("provider_missing", message) from error
        made: Session = module.connection_to(target, resolve, clock, allowed=allowed, may_ask=True)
        return made

    return make
