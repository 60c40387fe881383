"""Answers without an end (server-sent events) end when the service stops: their clients come back to the next one."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[..., Awaitable[Any]]
EVENT_STREAM = b"text/event-stream"


class EndingStreams:
    """An application whose event streams `end` ends; other answers are left the time that they need."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._streams: set[asyncio.Task[Any]] = set()
        self._is_ending = False

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        """Answer one request."""
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            await self._app(scope, receive, send)
            return

        async def noticing(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                self._streams.add(task)
            await send(message)

        try:
            await self._app(scope, receive, noticing)
        except asyncio.CancelledError:
            if not self._is_ending or task not in self._streams:
                raise
            task.uncancel()
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._streams.discard(task)

    def end(self) -> None:
        """End every stream; one that begins later has the grace of any answer."""
        self._is_ending = True
        for task in self._streams:
            task.cancel()


def _is_stream(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(EVENT_STREAM) for name, value in start.get("headers", ()))
