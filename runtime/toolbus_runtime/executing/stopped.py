"""
Calls that are to be stopped: ended (cancelled, or expired), or asked to stop while their effect may be on its way.

While this process listens it hears of each, and so do the runs that are in progress here. An end holds for
ever, so that work which still lies in the stream is dropped. A wish to stop concerns one attempt that is
running somewhere: it is told to the runs of that attempt here, and not kept.

What was put into the stream before this process listened, at its start or while the connection was away, it
cannot know: such work is asked for before it is done, safe or not.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Protocol

from toolbus_contracts import subjects
from toolbus_contracts.calls import CancelRequested
from toolbus_runtime.bus.listening import Incoming, Listener
from toolbus_runtime.bus.lookups import StreamState
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.executor_bus import patiently
from toolbus_runtime.executing.runs import Run, Runs

STREAM = "WORK"
KEPT = 100_000
CALL_ID, EVENT = 4, 5  # toolbus.evt.<tenant>.call.<call id>.<event>
WISH = "cancel_requested"
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
    """Knows which calls ended, as far as it listened, and tells the runs that are in progress."""

    def __init__(self, bus: ListeningBus, clock: Clock, runs: Runs) -> None:
        self._bus = bus
        self._clock = clock
        self._runs = runs
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._unheard: int | None = None  # work up to this place was there before we listened; none = nobody knows
        bus.on_reconnect(self._look)

    async def listen(self) -> None:
        """Every call that is stopped from now on is known."""
        for subject in subjects.STOPPED:
            await self._bus.subscribe(subject, self._on_event)
        await self._look()

    def is_ended(self, call_id: str) -> bool:
        """Whether this call was heard to be stopped."""
        return call_id in self._ended

    def is_doubtful(self, sequence: int) -> bool:
        """Whether work at this place of the stream may belong to a call that was stopped unheard."""
        return self._unheard is None or sequence <= self._unheard

    def _on_event(self, message: Incoming) -> None:
        tokens = message.subject.split(".")
        runs = self._runs.of(tokens[CALL_ID])
        if tokens[EVENT] == WISH:
            for run in runs:
                if _concerns(message.data, run):
                    run.stop()
            return
        self._ended[tokens[CALL_ID]] = None
        if len(self._ended) > KEPT:
            self._ended.popitem(last=False)
        for run in runs:
            run.end()

    async def _look(self) -> None:
        self._unheard = None
        state = await patiently(lambda: self._bus.stream_state(STREAM), self._clock, PATIENCE_S)
        self._unheard = state.last_sequence if state else 0


def _concerns(event: bytes, run: Run) -> bool:
    """
    Whether a wish to stop is about the attempt of this run.

    One of an earlier attempt may be heard late, or again when the bus is given its events anew.
    """
    attempt = CancelRequested.model_validate_json(event).attempt
    return attempt is None or attempt == run.attempt
