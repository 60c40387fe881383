"""Which work may belong to a call that was stopped: heard live, or doubtful because nobody listened then."""

from collections.abc import Awaitable, Callable

from toolbus_api_caller.adapters.clock import SystemClock
from toolbus_api_caller.adapters.stopped import Stopped
from toolbus_runtime.bus.listening import Incoming, Listener
from toolbus_runtime.bus.lookups import StreamState


class FakeBus:
    """A bus whose WORK stream stands at `last`."""

    def __init__(self, last: int | None) -> None:
        self.last = last
        self.reconnect: list[Callable[[], Awaitable[None]]] = []
        self.listeners: dict[str, Listener] = {}

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Keep it."""
        self.reconnect.append(callback)

    async def subscribe(self, subject: str, listener: Listener) -> object:
        """Keep it."""
        self.listeners[subject] = listener
        return None

    async def stream_state(self, name: str) -> StreamState | None:
        """Where the stream stands; none when it is gone."""
        assert name == "WORK"
        return None if self.last is None else StreamState("then", self.last, 0)


async def test_work_from_before_this_process_listened_is_doubtful() -> None:
    """At the start, and again after a new connection; nothing is known before the first look."""
    bus = FakeBus(7)
    stopped = Stopped(bus, SystemClock())
    assert stopped.is_doubtful(8)
    await stopped.listen()
    assert (stopped.is_doubtful(7), stopped.is_doubtful(8)) == (True, False)
    bus.last = 20
    (look,) = bus.reconnect
    await look()
    assert (stopped.is_doubtful(20), stopped.is_doubtful(21)) == (True, False)
    bus.last = None
    await look()
    assert not stopped.is_doubtful(1)


async def test_calls_that_end_while_it_listens_are_known() -> None:
    """Cancelled and expired calls, of any tenant."""
    bus = FakeBus(0)
    stopped = Stopped(bus, SystemClock())
    await stopped.listen()
    for subject, call_id, kind in zip(bus.listeners, ("call_1", "call_2"), ("cancelled", "expired"), strict=True):
        bus.listeners[subject](Incoming(f"toolbus.evt.acme.call.{call_id}.{kind}", b"", {}, ""))
    assert [stopped.is_ended(one) for one in ("call_1", "call_2", "call_3")] == [True, True, False]
