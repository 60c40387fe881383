"""The body of an answer as it comes: how much of it, and whether it was whole."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Final

import anyio
import httpcore2
import httpx2

from toolbus_contracts.values import storable
from toolbus_integrations.mcp.exchange import Exchange

MAX_OTHER_BYTES: Final = 16 * 1024 * 1024  # of an answer that is not a call's: a page of tools
REST_S: Final = 0.05  # for what a server still sends behind its answer, which mostly is the sign of the end
LIBRARY_ERRORS: Final = (
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    OSError,
)


class WatchedBody(httpx2.AsyncByteStream):
    """
    What the library reads an answer from; `close` gives the connection back, or ends it.

    Where a body breaks it just ends: an error there would end the whole session. What is missing is known to the
    exchange of the call.
    """

    def __init__(
        self,
        stream: AsyncIterable[bytes],
        close: Callable[[], Awaitable[None]],
        exchange: Exchange | None,
        *,
        is_events: bool,
    ) -> None:
        self._stream = stream
        self._close = close
        self._exchange = exchange
        self._is_events = is_events
        self._has_ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Pieces of the body, until it ends, breaks, or is too large."""
        limit = self._exchange.max_bytes if self._exchange is not None else MAX_OTHER_BYTES
        is_bounded = self._exchange is not None or not self._is_events
        taken = 0
        try:
            async for piece in self._stream:
                taken += len(piece)
                if is_bounded and taken > limit:
                    self._note_size()
                    return
                yield piece
        except LIBRARY_ERRORS as error:
            self._note_cut(None if self._is_events else told(error))
            return
        self._has_ended = True
        if self._is_events:
            self._note_cut(None)

    async def aclose(self) -> None:
        """
        The answer is read no further.

        Behind an event with the answer mostly nothing but the end is to come: when that is read, the connection serves
        the next call, which would have to make another.
        """
        try:
            if self._is_events and not self._has_ended:
                async with asyncio.timeout(REST_S):
                    async for _ in self._stream:
                        pass
        except LIBRARY_ERRORS:
            pass  # it is closed all the same
        finally:
            await self._close()

    def _note_size(self) -> None:
        if self._exchange is not None:
            self._exchange.is_too_large = self._exchange.is_cut = True

    def _note_cut(self, reason: str | None) -> None:
        if self._exchange is not None:
            self._exchange.is_cut = True
            if reason is not None:
                self._exchange.fail("lost", reason)


def told(error: Exception) -> str:
    """What a library's error says, for people."""
    return storable(str(error) or type(error).__name__)[:500]
