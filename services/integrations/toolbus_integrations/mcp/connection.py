"""
One connection to a server: a session that one task enters and leaves, and that calls share.

The library's scopes of cancellation belong to the task that entered them; whoever calls never enters one of the
session's, so that a call which is given up takes nothing else with it.
"""

import asyncio
from collections.abc import Sequence
from contextvars import Context
from typing import Final

import httpx2
import structlog
from mcp import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED, InputRequiredResult
from pydantic import ValidationError

from toolbus_contracts.calls import Continued
from toolbus_contracts.errors import Refused
from toolbus_contracts.mcp import McpSurfaceView
from toolbus_contracts.tools import JsonObject
from toolbus_integrations.core.mcp_answers import HEADER_MISMATCH, UNREADABLE, RpcError
from toolbus_integrations.core.mcp_commands import AllowedCommand
from toolbus_integrations.mcp.dialing import Dialer
from toolbus_integrations.mcp.exchange import Exchange, current_exchange
from toolbus_integrations.mcp.listing import LONGEST_S, Listing, list_tools
from toolbus_integrations.mcp.network import DENIED, UNREACHABLE
from toolbus_integrations.mcp.reaching import Resolve, Unreachable
from toolbus_integrations.mcp.session import Brought, SharedSession, negotiate
from toolbus_integrations.mcp.targets import Target
from toolbus_runtime.executing.clock import Clock

log = structlog.get_logger(__name__)
CLOSED: Final = "Connection closed"  # what the library says when it lost the session


def connection_to(
    target: Target, resolve: Resolve, clock: Clock, *, allowed: Sequence[AllowedCommand], may_ask: bool = False
) -> "Connection":
    """A connection to the server, not open yet. `may_ask`: the server is told that people answer its questions."""
    return Connection(target, Dialer(resolve, allowed=allowed), clock, may_ask=may_ask)


class Connection:
    """A session with one server. `open` once; `is_open` until the server, or `close`, ends it."""

    def __init__(self, target: Target, dialer: Dialer, clock: Clock, *, may_ask: bool = False) -> None:
        self.target = target
        self._may_ask = may_ask
        self._calls = 0
        self._dialer = dialer
        self._clock = clock
        self._session: SharedSession | None = None
        self._leave = asyncio.Event()
        self._is_retired = False
        self._owner: asyncio.Task[None] | None = None
        self._listed: tuple[float, Listing] | None = None
        self._is_stale = False
        self._listing = asyncio.Lock()
        self._given_up: set[asyncio.Task[JsonObject | RpcError]] = set()

    @property
    def is_open(self) -> bool:
        """Whether a call can be made over it."""
        return self._session is not None and not self._leave.is_set() and not self._is_retired

    async def open(self) -> None:
        """
        The session has begun, in the protocol that both sides speak.

        Raises:
            Unreachable: it could not begin.
            Refused: the server may not be reached.
        """
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # In a context of its own: what is sent to begin the session is no part of the call that wanted it.
        self._owner = asyncio.get_running_loop().create_task(self._own(opened), context=Context())
        try:
            await opened
        finally:
            if not self.is_open:
                await self.close()

    def retire(self) -> None:
        """No further call is made over it; it ends with the last of those that are being made."""
        self._is_retired = True
        if self._calls == 0:
            self._leave.set()

    async def ended(self) -> None:
        """The session has ended, and so has its process if it had one."""
        if self._owner is not None:
            await asyncio.wait({self._owner})

    async def close(self) -> None:
        """The session has been ended."""
        self._leave.set()
        if self._owner is not None and self._session is None:
            self._owner.cancel()
        await self.ended()

    async def tools(self, *, is_pinned: bool = True) -> McpSurfaceView:
        """
        What the server says of itself and its tools, not older than its last notice.

        `is_pinned`: not older either than the server allows; else half a minute will do.

        Raises:
            Unreachable: it does not say.
        """
        async with self._listing:
            now_s = self._clock.steady_s()
            if self._listed is not None:
                since_s, listing = self._listed
                if now_s - since_s < (listing.believed_s if is_pinned else LONGEST_S):
                    return listing.said
            if self._session is None:
                raise Unreachable(f"the session with {self.target.name} has ended")
            self._is_stale = False
            try:
                found = await list_tools(self._session, self.target)
            except Unreachable:
                self.retire()  # it may be the session that the server knows no more: whoever comes next begins another
                raise
            self._listed = None if self._is_stale else (now_s, found)  # a notice may have come meanwhile
            return found.said

    async def call(
        self, tool: str, arguments: JsonObject, exchange: Exchange, continued: Continued | None = None
    ) -> JsonObject | RpcError:
        """
        The result as it came, or the error. Given up, it is not waited for, and what it would come over is closed.

        Raises:
            NotHandedOver: nothing was sent, and nothing will be.
            Refused: `request_invalid`, an answer has a form that the protocol does not know; nothing was sent.
        """
        brought = Brought.of(continued)
        if self.target.settings.url is None:
            exchange.hand_over()  # nobody else sees what leaves for a process
        exchange.is_asked = True
        token = current_exchange.set(exchange)
        try:
            work = asyncio.get_running_loop().create_task(self._call(tool, arguments, brought))
        finally:
            current_exchange.reset(token)
        self._calls += 1
        try:
            found = await asyncio.shield(work)
        finally:
            self._calls -= 1
            if self._is_retired and self._calls == 0:
                self._leave.set()
            if not work.done():
                await self._give_up(work, exchange)
        if isinstance(found, RpcError):
            if found.code == HEADER_MISMATCH:  # it wants more in the headers than its list said; the next call knows
                self.forget_listing()
            if self._is_lost(found, exchange):
                exchange.fail("lost", found.message)
        return found

    async def _give_up(self, work: "asyncio.Task[JsonObject | RpcError]", exchange: Exchange) -> None:
        work.cancel()
        self._given_up.add(work)
        work.add_done_callback(self._given_up.discard)
        await exchange.end()

    def _is_lost(self, error: RpcError, exchange: Exchange) -> bool:
        """Whether the library, and not the server, made this error: no answer came."""
        if error.code in {UNREACHABLE, DENIED}:
            return True
        return error.code == CONNECTION_CLOSED and (exchange.is_cut or error.message == CLOSED or not self.is_open)

    async def _call(self, tool: str, arguments: JsonObject, brought: Brought) -> JsonObject | RpcError:
        session = self._session
        if session is None:
            return RpcError(CONNECTION_CLOSED, CLOSED)
        try:
            result = await session.call_tool(
                tool,
                arguments,
                input_responses=brought.responses,
                request_state=brought.state,
                allow_input_required=True,
            )
        except MCPError as error:
            return RpcError(error.code, error.message)
        except ValidationError as error:
            return RpcError(UNREADABLE, f"the result is none of the protocol: {error.error_count()} faults")
        found: JsonObject = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
        kind = "input_required" if isinstance(result, InputRequiredResult) else "complete"
        return {**found, "resultType": kind}

    async def _own(self, opened: "asyncio.Future[None]") -> None:
        try:
            async with (
                self._dialer.dial(self.target) as wire,
                SharedSession(
                    JSONRPCDispatcher(wire.read, wire.write), self.forget_listing, may_ask=self._may_ask
                ) as session,
            ):
                await negotiate(session)
                self._session = session
                opened.set_result(None)
                await _either(self._leave, wire.gone)
                self._leave.set()
        except BaseExceptionGroup as group:
            self._failed(_first(group), opened)
        except (Refused, MCPError, ValidationError, RuntimeError, OSError, httpx2.HTTPError) as error:
            self._failed(error, opened)
        finally:
            self._leave.set()
            self._session = None
            if not opened.done():
                opened.set_exception(Unreachable("the session ended before it began"))

    def _failed(self, error: BaseException, opened: "asyncio.Future[None]") -> None:
        if opened.done():
            log.info("mcp.session_broken", server=self.target.name, reason=type(error).__name__)
        elif isinstance(error, Refused):
            opened.set_exception(error)
        elif isinstance(error, MCPError) and error.code == DENIED:
            opened.set_exception(Refused("egress_denied", error.message))
        else:
            told = self.target.redactor.in_text(str(error) or type(error).__name__)[:500]
            opened.set_exception(Unreachable(f"the server {self.target.name} cannot be reached: {told}"))

    def forget_listing(self) -> None:
        """The list of tools is asked for anew when it is needed."""
        self._listed = None
        self._is_stale = True


async def _either(first: asyncio.Event, second: asyncio.Event) -> None:
    waiting = {asyncio.ensure_future(first.wait()), asyncio.ensure_future(second.wait())}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()


def _first(group: BaseExceptionGroup) -> BaseException:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
