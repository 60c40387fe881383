"""A deadline on a clock that also counts while the machine sleeps, which the event loop's clock does not."""

import asyncio
from types import TracebackType
from typing import Self

from toolbus_runtime.executing.clock import Clock

_LOOK_EVERY_S = 1.0


class Until:
    """
    What runs inside is cancelled at `deadline_s` of the steady clock and leaves as TimeoutError.

    After a sleep of the machine it notices within a second. `end` brings the deadline about at once.
    """

    def __init__(self, deadline_s: float, clock: Clock) -> None:
        self._deadline_s = deadline_s
        self._clock = clock
        self._timeout = asyncio.timeout(None)
        self._handle: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.cancel()
        await self._timeout.__aexit__(kind, error, traceback)

    def end(self) -> None:
        """What runs inside is cancelled, as if the deadline had come."""
        if self._handle is not None:
            self._handle.cancel()
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        left_s = self._deadline_s - self._clock.steady_s()
        if left_s <= 0:
            self._timeout.reschedule(loop.time())
        else:
            self._handle = loop.call_later(min(left_s, _LOOK_EVERY_S), self._look)
