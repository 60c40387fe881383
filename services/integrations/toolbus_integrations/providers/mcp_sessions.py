"""
Sessions with the servers that calls of the provider `mcp` name, kept between calls as those of tools of type `mcp` are.

There is one for each tenant, url and set of headers, so that nobody speaks over a session that another key began. Its
requests go past the guard of the call that opened it; every call has the url examined under its own rules first.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from importlib import import_module
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from toolbus.provider import Call, ToolFailed
from toolbus_contracts.digests import digest
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.mcp import PutMcpServer
from toolbus_integrations.host.exchange import TooLateError
from toolbus_integrations.mcp.connections import Connections
from toolbus_integrations.mcp.exchange import Exchange, NotHandedOver
from toolbus_integrations.mcp.reaching import CONNECTION, Session, Unreachable
from toolbus_integrations.mcp.targets import Target
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run

_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Connections] = WeakKeyDictionary()
_calling: ContextVar[Call] = ContextVar("_calling")


class CallExchange(Exchange):
    """What is known of a call, which hears before its first byte leaves."""

    def __init__(self, call: Call) -> None:
        super().__init__(SystemClock(), Run(), send_by=None, max_bytes=call.max_output_bytes)
        self._call = call

    def hand_over(self, hang_up: Callable[[], Awaitable[None]] | None = None) -> None:
        """Note that bytes may leave from now on. Raises: NotHandedOver, they may not any more."""
        if not self.is_sent and not self.is_over:
            try:
                self._call.mark_sent()
            except TooLateError as error:
                raise NotHandedOver("too_late", str(error)) from error
        super().hand_over(hang_up)


def target_of(url: str, headers: Mapping[str, str], tenant: str, *, is_sse: bool) -> Target:
    """
    The server of a setup, as a tenant speaks to it; `is_sse` over the transport before streamable HTTP.

    Raises:
        ToolFailed: `setup_invalid`, the protocol itself sets one of the headers, or the url is none.
    """
    try:
        settings = PutMcpServer(transport="http", url=url, headers=dict(headers))
    except ValidationError as error:
        raise ToolFailed(f"no server: {error.error_count()} faults in its setup", code="setup_invalid") from error
    key = digest({"tenant": tenant, "url": url, "headers": dict(headers), "is_sse": is_sse})
    given = dict(headers)
    return Target(key=key, name="mcp", settings=settings, headers=given, env={}, redactor=Redactor(), is_sse=is_sse)


@asynccontextmanager
async def session_with(target: Target, call: Call) -> AsyncIterator[Session]:
    """
    A session with the server, which stays when the call is over.

    Raises:
        ToolFailed: the guard refuses it, or there is none (`connection_failed`).
    """
    async with AsyncExitStack() as stack:
        token = _calling.set(call)
        try:
            session = await stack.enter_async_context(connections().use(target))
        except Refused as error:
            raise ToolFailed(error.message, code=error.code) from error
        except Unreachable as error:
            raise unreachable(error) from error
        finally:
            _calling.reset(token)
        yield session


def unreachable(error: Unreachable) -> ToolFailed:
    """The failure of a call that could not begin, and may be made again."""
    return ToolFailed(
        error.message,
        code="connection_failed",
        retryable=True,
        retry_after_s=error.retry_after_s,
        has_effect=False,
    )


def forget(target: Target, session: Session) -> None:
    """The next call begins another session."""
    connections().drop(target, session)


def connections() -> Connections:
    """The connections of this loop."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = Connections(_made, SystemClock())
    return _by_loop[loop]


async def _made(target: Target) -> Session:
    """A connection, not open yet, that goes past the guard of the call that wants it."""
    call = _calling.get()

    async def resolve(host: str, port: int) -> Sequence[str]:
        try:
            return [await call.checked_address(host, port)]
        except ToolFailed as error:
            if error.code == "connection_failed":
                raise OSError(error.message) from error
            raise Refused(error.code, error.message) from error

    module = await asyncio.to_thread(import_module, CONNECTION)  # a large library: other calls go on meanwhile
    made: Session = module.connection_to(target, resolve, SystemClock(), allowed=())
    return made
