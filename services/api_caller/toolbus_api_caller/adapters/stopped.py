"""
Calls that ended while their work still lay in the stream: cancelled, or expired.

While this process listens it hears of each. What was put into the stream before it listened, at its start or
while the connection was away, it cannot know: such work is asked for before it is done, safe or not.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Protocol

from toolbus_api_caller.adapters.bus import patiently
from toolbus_api_caller.adapters.clock import Clock
from toolbus_contracts import subjects
from toolbus_runtime.bus.listening import Incoming, Listener
from toolbus_runtime.bus.lookups import StreamState

STREAM = "WORK"
KEPT = 100_000
CALL_ID = 4  # toolbus.evt.<tenant>.call.<call id>.<event>
PATIENCE_S = 60.0


class ListeningBus(Protocol):
    """What this wants of the bus."""

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """The callback is awaited after every reconnection."""
        ...

    async def subscribe(self, subject: str, listener: Listener) -> object:
        """Messages on the subject reach the listener."""
        ...

    async def stream_state(self, name: str) -> StreamState | None:
        """How the stream stands."""
        ...


class Stopped:
    """Knows which calls ended, as far as it listened."""

    def __init__(self, bus: ListeningBus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._unheard: int | None = None  # work up to this place was there before we listened; none = nobody knows
        bus.on_reconnect(self._look)

    async def listen(self) -> None:
        """Every call that is stopped from now on is known."""
        for subject in subjects.STOPPED:
            await self._bus.subscribe(subject, self._on_end)
        await self._look()

    def is_ended(self, call_id: str) -> bool:
        """Whether this call was heard to be stopped."""
        return call_id in self._ended

    def is_doubtful(self, sequence: int) -> bool:
        """Whether work at this place of the stream may belong to a call that was stopped unheard."""
        return self._unheard is None or sequence <= self._unheard

    def _on_end(self, message: Incoming) -> None:
        self._ended[message.subject.split(".")[CALL_ID]] = None
        if len(self._ended) > KEPT:
            self._ended.popitem(last=False)

    async def _look(self) -> None:
        self._unheard = None
        state = await patiently(lambda: self._bus.stream_state(STREAM), self._clock, PATIENCE_S)
        self._unheard = state.last_sequence if state else 0
