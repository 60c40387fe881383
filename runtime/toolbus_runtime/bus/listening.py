"""Core NATS subscriptions: what comes, and the tasks it starts."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import NamedTuple

import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

log = structlog.get_logger(__name__)


class Incoming(NamedTuple):
    """A core NATS message; `reply` is where an answer is wanted, empty when none is."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    reply: str


Listener = Callable[[Incoming], Awaitable[None] | None]


class Listening:
    """A core NATS subscription; it calls the listener in the read loop and runs what is awaitable as a task."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._tasks: set[asyncio.Task[None]] = set()
        self.subscription: Subscription | None = None

    def cancelled(self) -> bool:
        """Part of the future's interface that nats-py uses: messages are always wanted."""
        return False

    def set_result(self, message: Msg) -> None:
        """Part of the future's interface that nats-py uses: a message came."""
        incoming = Incoming(message.subject, message.data, message.headers or {}, message.reply)
        try:
            answer = self._listener(incoming)
        except Exception:  # let through, it would end nats-py's read loop for good
            log.exception("listener.failed")
            return
        if isawaitable(answer):
            task = asyncio.ensure_future(answer)
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("listener.failed", exc_info=error)

    async def close(self, grace_s: float = 5.0) -> None:
        """No message comes any more; tasks that still run have had `grace_s` seconds to end."""
        if self.subscription is not None:
            await self.subscription.unsubscribe()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=grace_s)
