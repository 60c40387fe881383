"""Which work may belong to a call that was stopped: heard live, or doubtful because nobody listened then."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from tests.unit.api_caller.making import NOW
from toolbus_contracts.calls import CancelRequested
from toolbus_runtime.bus.listening import Incoming, Listener
from toolbus_runtime.bus.lookups import StreamState
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run, Runs
from toolbus_runtime.executing.stopped import Stopped


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

    def tell(self, call_id: str, event: str, data: bytes = b"{}") -> None:
        """An event of a call is heard."""
        self.listeners[f"toolbus.evt.*.call.*.{event}"](
            Incoming(f"toolbus.evt.acme.call.{call_id}.{event}", data, {}, "")
        )

    async def stream_state(self, name: str) -> StreamState | None:
        """Where the stream stands; none when it is gone."""
        assert name == "WORK"
        return None if self.last is None else StreamState("then", self.last, 0)


async def test_work_from_before_this_process_listened_is_doubtful() -> None:
    """At the start, and again after a new connection; nothing is known before the first look."""
    bus = FakeBus(7)
    stopped = Stopped(bus, SystemClock(), Runs())
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


def wish(call_id: str, attempt: int | None) -> bytes:
    """The event of somebody who wants a call stopped."""
    return CancelRequested(call_id=call_id, attempt=attempt, reason="", at=NOW).model_dump_json().encode()


async def test_calls_that_end_while_it_listens_are_known() -> None:
    """Cancelled and expired calls, of any tenant; a wish to stop is no end, and is not kept."""
    bus = FakeBus(0)
    stopped = Stopped(bus, SystemClock(), Runs())
    await stopped.listen()
    bus.tell("call_1", "cancelled")
    bus.tell("call_2", "expired")
    bus.tell("call_3", "cancel_requested", wish("call_3", 1))
    assert [stopped.is_ended(one) for one in ("call_1", "call_2", "call_3")] == [True, True, False]


async def test_runs_in_progress_hear_of_their_call() -> None:
    """Every run of the call that ended hears it, at once; no run of another call, and none that is over."""
    bus, runs = FakeBus(0), Runs()
    await Stopped(bus, SystemClock(), runs).listen()
    first, second, other, over = (runs.begin(call_id, 1) for call_id in ("call_1", "call_1", "call_2", "call_1"))
    heard: list[Run] = []
    for run in (first, second, other, over):
        run.on_heard = partial(heard.append, run)
    runs.done(over)
    bus.tell("call_1", "cancelled")
    assert heard == [first, second]
    assert [run.is_ended for run in (first, second, other, over)] == [True, True, False, False]
    for run in (first, second, other):
        runs.done(run)
    assert runs.of("call_1") == ()


@pytest.mark.parametrize(("about", "stopped"), [(1, False), (2, True), (None, True)])
async def test_a_wish_is_about_one_attempt(about: int | None, *, stopped: bool) -> None:
    """A wish to stop an earlier attempt, heard late or again, does not stop the present one."""
    bus, runs = FakeBus(0), Runs()
    await Stopped(bus, SystemClock(), runs).listen()
    run = runs.begin("call_1", 2)
    bus.tell("call_1", "cancel_requested", wish("call_1", about))
    assert (run.is_unwanted, run.is_ended) == (stopped, False)
    assert (run.is_wanted(is_sent=False), run.is_wanted(is_sent=True)) == (not stopped, True)
