"""What an exception of a handler means for its message."""

import pytest

from toolbus_contracts.errors import BusRefused, Conflict, NotAllowed, NotFound, StreamMoved, Unavailable, Unreadable
from toolbus_runtime.bus.acking import MAX_DELAY_S, Acknowledge, Bury, Retry, answer_to, nack


@pytest.mark.parametrize(
    "error", [Conflict("call_ended", "it ended"), NotFound("no such call"), NotAllowed("not yours")]
)
def test_a_refusal_is_acknowledged(error: Exception) -> None:
    """The handler recorded the refusal; delivering it again would refuse it again."""
    assert answer_to(error, 1) == Acknowledge()


@pytest.mark.parametrize("num_delivered", [1, 50])
def test_what_cannot_be_read_is_buried_at_once(num_delivered: int) -> None:
    """No later delivery makes bytes readable; the reason is the error's code."""
    assert answer_to(Unreadable("invalid_json", "not JSON"), num_delivered) == Bury("invalid_json")


@pytest.mark.parametrize("error", [StreamMoved("acme/call/1"), Unavailable("away", 0.2), ValueError("a fault")])
def test_delays_grow_up_to_a_minute_and_are_never_nothing(error: Exception) -> None:
    """Each delivery waits at least as long as the one before."""
    delays = [answer_to(error, number, max_deliveries=1000) for number in range(1, 100)]
    seconds = [delay.delay_s for delay in delays if isinstance(delay, Retry)]
    assert len(seconds) == 99
    assert seconds[0] >= 0.05
    assert seconds == sorted(seconds)
    assert seconds[-1] == MAX_DELAY_S


def test_an_absent_dependency_is_given_the_time_it_asked_for() -> None:
    """`retry_after_s` is the least delay, a minute the longest."""
    assert answer_to(Unavailable("away", 7.0), 1) == Retry(7.0)
    assert answer_to(Unavailable("away", 3600.0), 1) == Retry(MAX_DELAY_S)


@pytest.mark.parametrize("error", [ValueError("a fault"), BusRefused("not taken"), KeyError("x")])
def test_a_fault_is_buried_at_the_last_delivery_allowed(error: Exception) -> None:
    """Before the limit it is tried again, at the limit it is buried, and past it too."""
    assert isinstance(answer_to(error, 19, max_deliveries=20), Retry)
    assert answer_to(error, 20, max_deliveries=20) == Bury("too_many_deliveries")
    assert answer_to(error, 21, max_deliveries=20) == Bury("too_many_deliveries")


@pytest.mark.parametrize("error", [StreamMoved("acme/call/1"), Unavailable("away")])
def test_what_will_pass_is_never_buried(error: Exception) -> None:
    """However often it was delivered, a message is not lost to somebody else's outage."""
    assert isinstance(answer_to(error, 10_000, max_deliveries=20), Retry)


def test_a_nack_always_has_a_delay() -> None:
    """A nack without one would be a hot loop."""
    assert nack(0) == b'-NAK {"delay":1000000}'
    assert nack(1.5) == b'-NAK {"delay":1500000000}'
