"""The parts of a service: tasks that run as long as it does, and steps that wait for the bus."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from toolbus_contracts.errors import Unavailable

log = structlog.get_logger(__name__)
RETRY_S = 0.5


class Parts:
    """
    What runs until it is cancelled. A part that ends by itself ends the service: half of one would look well.

    `stop` is set then, and `raise_failure` tells why.
    """

    def __init__(self, service: str, stop: asyncio.Event) -> None:
        self._service = service
        self._stop = stop
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None

    def start(self, *parts: Coroutine[Any, Any, None]) -> None:
        """The parts run."""
        for part in parts:
            task = asyncio.create_task(part)
            task.add_done_callback(self._on_end)
            self._tasks.append(task)

    async def end(self) -> None:
        """The parts have ended, the last one that was started first."""
        self._stop.set()
        for task in reversed(self._tasks):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def raise_failure(self) -> None:
        """Raises: the error of the part that ended by itself, if one did."""
        if self._failure is not None:
            raise self._failure

    def _on_end(self, task: asyncio.Task[None]) -> None:
        if not self._stop.is_set() and not task.cancelled():
            self._failure = task.exception() or RuntimeError(f"a part of the {self._service} ended by itself")
            log.error("service.failed", service=self._service, exc_info=self._failure)
            self._stop.set()


async def insist(step: Callable[[], Awaitable[None]]) -> None:
    """The step is done, however long the bus is away."""
    while True:
        try:
            return await step()
        except Unavailable as error:
            log.warning("bus.waiting", reason=error.message)
            await asyncio.sleep(RETRY_S)
