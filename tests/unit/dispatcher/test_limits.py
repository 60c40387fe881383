"""Limits: what runs at once, what began lately, and when another call may begin."""

from datetime import datetime, timedelta

import pytest

from tests.unit.dispatcher.backlogs import at, limit
from toolbus_contracts.tools import Limit, Rate
from toolbus_dispatcher.core.limits import (
    AFTER_START,
    LATEST_EXCHANGES,
    MARGIN,
    Count,
    Exchange,
    blocking,
    limit_id,
    window,
)

WINDOW_S = 1.01  # of a rate per second


def count(concurrency: int | None = None, calls: int | None = None, per_s: float = 1.0) -> Count:
    """Nothing was let go under this limit yet."""
    return Count(limit(concurrency=concurrency, calls=calls, per_s=per_s))


def begun(found: Count, *seconds: float) -> Count:
    """Calls started at these times, and still run."""
    for number, moment in enumerate(seconds):
        found.begin(f"call_{number}")
        found.start(f"call_{number}", at(moment))
    return found


def ready(found: Count, calls: int) -> Count:
    """So many calls more were let go, and did not start yet."""
    for number in range(calls):
        found.begin(f"ready_{number}")
    return found


def arrived(found: Count, *seconds: float) -> Count:
    """Calls arrived at these times, and ended."""
    for moment in seconds:
        found.recall(at(moment))
    return found


def free_s(found: Count, now_s: float) -> float | None:
    """After how many seconds from the beginning another call may begin; none: nobody knows."""
    free_at = found.free_at(at(now_s))
    return None if free_at is None else round((free_at - at()).total_seconds(), 6)


def test_calls_count_together_by_tenant_whose_limit_and_its_name() -> None:
    """Two tools of one name in two tenants, or a key that is called like a tool, have nothing in common."""
    ids = {
        limit_id(tenant, limit(name, concurrency=1, of=of))
        for tenant in ("acme", "other")
        for of in ("tool", "key")
        for name in ("a", "b")
    }
    assert len(ids) == 8
    assert limit_id("acme", limit("a", concurrency=1)) == limit_id("acme", limit("a", calls=7))


def test_concurrency_counts_what_was_let_go_and_what_runs() -> None:
    """From the grant on, so that two decisions in a row do not let too many go; until the end."""
    found = count(concurrency=2)
    found.begin("call_1")
    assert free_s(found, 0) == 0
    found.begin("call_2")
    assert (found.running, free_s(found, 0), free_s(found, 1000)) == (2, None, None)
    found.start("call_1", at())
    assert (found.running, free_s(found, 0)) == (2, None)
    found.end("call_1")
    assert (found.running, free_s(found, 0)) == (1, 0)
    found.end("call_2")
    assert (found.running, free_s(found, 0)) == (0, 0)


def test_a_call_counts_once() -> None:
    """However often it is heard of."""
    found = count(concurrency=1)
    found.begin("call_1")
    found.begin("call_1")
    found.start("call_1", at())
    found.start("call_1", at(1))
    assert (found.running, free_s(found, 1)) == (1, None)
    found.end("call_1")
    found.end("call_1")
    assert (found.running, free_s(found, 1)) == (0, 1)


def test_a_rate_counts_what_began_in_the_window() -> None:
    """The next one may begin as soon as the oldest that counts has left the window, at that moment and not before."""
    found = begun(count(calls=2), 0.0, 0.4)
    assert free_s(found, 0.4) == AFTER_START.total_seconds() + WINDOW_S
    assert free_s(found, 1.059) == 1.06
    assert free_s(found, 1.06) == 1.06
    assert free_s(found, 1.2) == 1.2
    assert window(Rate(calls=2)) == timedelta(seconds=WINDOW_S) == timedelta(seconds=1) + MARGIN


def test_a_rate_is_held_by_those_that_have_ended_too() -> None:
    """The target saw them, however short they were."""
    found = arrived(count(calls=2), 0.5, 0.1)
    assert free_s(found, 0.6) == 0.1 + WINDOW_S
    assert free_s(found, 1.2) == 1.2


def test_a_long_call_counts_against_a_rate_only_while_it_is_new() -> None:
    """It arrived long ago; the one that came lately holds the rate."""
    found = arrived(begun(count(calls=1), 0.0), 10.0)
    assert free_s(found, 10.2) == 10.0 + WINDOW_S
    assert free_s(found, 11.5) == 11.5


def test_more_than_the_rate_lets_go_have_to_leave_first() -> None:
    """After the numbers were lowered, or when others let go too: as many as are too many, and one."""
    found = arrived(count(calls=2), 0.0, 0.1, 0.2, 0.3)
    assert free_s(found, 0.5) == 0.2 + WINDOW_S
    both = arrived(begun(count(calls=1), 0.0, 0.4), 0.2)  # on their way until 0.05 and 0.45
    assert free_s(both, 0.5) == 0.45 + WINDOW_S


def test_what_was_let_go_has_to_start_before_anybody_knows_when_it_leaves() -> None:
    """It counts against the rate at once, and however long it lies ready: all of it may arrive together."""
    found = count(calls=2)
    found.begin("call_1")
    assert free_s(found, 0) == 0
    found.begin("call_2")
    assert (free_s(found, 0), free_s(found, 3600)) == (None, None)
    found.start("call_1", at(3600))
    assert free_s(found, 3600) == 3601.06
    found.begin("call_3")
    assert free_s(found, 3600) is None


def test_what_never_started_never_arrived() -> None:
    """It holds no rate."""
    found = count(calls=1)
    found.begin("call_1")
    found.end("call_1", Exchange(at(5), at(5)))
    assert free_s(found, 0) == 0


@pytest.mark.parametrize(
    ("arrived_s", "counts_from_s"),
    [(None, 0.55), (0.52, 0.52), (0.6, 0.6), (3.0, 3.0)],
)
def test_a_call_counts_from_the_latest_moment_at_which_it_can_have_arrived(
    arrived_s: float | None, counts_from_s: float
) -> None:
    """What its executor told of that; before, a little after its start."""
    found = begun(count(calls=1), 0.5)
    found.end("call_0", None if arrived_s is None else Exchange(at(arrived_s), at(arrived_s)))
    assert free_s(found, counts_from_s) == round(counts_from_s + WINDOW_S, 6)
    assert timedelta(seconds=0.05) == AFTER_START


def exchanged(found: Count, exchanges: int, *, every_s: float, took_s: float, from_s: float = 0.0) -> float:
    """One call after the other, each of this length, and when the last ended."""
    ended_s = from_s
    for number in range(exchanges):
        began_s = from_s + number * every_s
        ended_s = began_s + took_s
        begun(found, began_s).end("call_0", Exchange(at(began_s), at(ended_s)))
    return ended_s


def test_the_first_exchanges_count_from_their_end() -> None:
    """All of them may have been taken slowly, so none tells what the target itself needs: also after a rest."""
    found = count(calls=1)
    ended_s = exchanged(found, LATEST_EXCHANGES - 1, every_s=2, took_s=0.4)
    assert free_s(found, ended_s) == round(ended_s + WINDOW_S, 6)
    ended_s = exchanged(found, 1, every_s=2, took_s=0.4, from_s=ended_s + 2)
    assert free_s(found, ended_s) == round(ended_s - 0.4 + WINDOW_S, 6)


def test_an_exchange_that_took_long_may_have_arrived_late() -> None:
    """What the quickest one took is what the target needs; the rest can have passed on the way."""
    found = count(calls=1)
    ended_s = exchanged(found, LATEST_EXCHANGES, every_s=2, took_s=0.1)
    ended_s = exchanged(found, 1, every_s=2, took_s=0.4, from_s=ended_s + 2)
    assert free_s(found, ended_s) == round(ended_s - 0.1 + WINDOW_S, 6)


def test_a_target_that_became_slower_counts_as_it_is_now() -> None:
    """After so many exchanges the quick ones are forgotten: nothing is held back for ever."""
    found = count(calls=1)
    ended_s = exchanged(found, 1, every_s=2, took_s=0.1)
    ended_s = exchanged(found, LATEST_EXCHANGES, every_s=2, took_s=1.0, from_s=ended_s + 2)
    assert free_s(found, ended_s) == round(ended_s - 1.0 + WINDOW_S, 6)


def test_a_start_of_a_call_that_does_not_run_is_nothing() -> None:
    """It ended meanwhile."""
    found = count(concurrency=1, calls=1)
    found.start("call_1", at())
    assert (found.running, free_s(found, 0)) == (0, 0)


def test_both_numbers_hold() -> None:
    """Whichever holds longer."""
    found = arrived(begun(count(concurrency=2, calls=2), 0.0), 0.0)
    assert free_s(found, 0) == WINDOW_S
    found.begin("call_9")
    assert free_s(found, 0) is None


def test_a_limit_without_a_rate_remembers_no_moments() -> None:
    """And no lengths: memory is for what needs it."""
    found = count(concurrency=1)
    for number in range(10):
        found.begin(f"call_{number}")
        found.start(f"call_{number}", at(number))
        found.end(f"call_{number}", Exchange(at(number), at(number + 1)))
    assert (found._arrived, list(found._took)) == ([], [timedelta()])
    assert found.is_idle(at())


def test_newer_numbers_hold_from_then_on() -> None:
    """The newest event tells them, in whatever order the events are heard of."""
    found = begun(count(concurrency=1), 0.0)
    found.tell(limit(concurrency=2), 7)
    assert free_s(found, 0) == 0
    found.tell(limit(concurrency=1), 6)
    assert free_s(found, 0) == 0
    found.tell(limit(concurrency=1), 7)
    assert free_s(found, 0) is None
    found.tell(limit(calls=2), 8)
    assert free_s(found, 0) == 0


@pytest.mark.parametrize("back_s", [60.0, 86400.0])
def test_a_clock_that_was_set_back_stops_nothing(back_s: float) -> None:
    """What seems to lie ahead has happened: it counts from now on, and not until the clock has caught up."""
    found = arrived(begun(count(calls=2), 0.0), 0.0)
    assert free_s(found, -back_s) == round(-back_s + AFTER_START.total_seconds() + WINDOW_S, 6)
    assert free_s(found, -back_s + 1.2) == round(-back_s + 1.2, 6)


def test_an_idle_limit_may_be_forgotten() -> None:
    """Nothing runs, and nothing began lately."""
    assert count(concurrency=1, calls=1).is_idle(at())
    assert not begun(count(concurrency=1), 0.0).is_idle(at(1000))
    granted = count(concurrency=1)
    granted.begin("call_1")
    assert not granted.is_idle(at(1000))
    assert not arrived(count(calls=1), 0.0).is_idle(at(1.0))
    assert arrived(count(calls=1), 0.0).is_idle(at(WINDOW_S))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (count(concurrency=1), "tool refund has 0 of 1 calls running (limits.concurrency)"),
        (count(calls=1), "tool refund began 0 of 1 calls in 1 s (limits.rate)"),
        (begun(count(concurrency=2), 0, 0), "tool refund has 2 of 2 calls running (limits.concurrency)"),
        (begun(count(concurrency=1), 0, 0), "tool refund has 2 of 1 calls running (limits.concurrency)"),
        (arrived(count(calls=2), 0.0, 0.1), "tool refund began 2 of 2 calls in 1 s (limits.rate)"),
        (arrived(count(calls=1, per_s=0.5), 0.0, 0.1), "tool refund began 2 of 1 calls in 0.5 s (limits.rate)"),
        (arrived(count(calls=3), 0.0, 0.1), "tool refund began 2 of 3 calls in 1 s (limits.rate)"),
        (begun(count(concurrency=4, calls=9), 0), "tool refund has 1 of 4 calls running (limits.concurrency)"),
        (begun(count(concurrency=1, calls=1), 0), "tool refund has 1 of 1 calls running (limits.concurrency)"),
        (begun(count(concurrency=2, calls=1), 0), "tool refund began 1 of 1 calls in 1 s (limits.rate)"),
        (ready(begun(count(calls=2), 0), 2), "tool refund began 3 of 2 calls in 1 s (limits.rate)"),
    ],
)
def test_a_limit_says_how_it_stands_with_its_numbers(found: Count, told: str) -> None:
    """Whose it is, its name, how much is used of how much, and where it is set: of the number nearest to its end."""
    assert found.explain(at(0.2)) == told


def test_what_blocks_is_the_limit_that_holds_longest() -> None:
    """One that only an event can free holds longer than any time."""
    free, second, third = count(calls=9), arrived(count(calls=1), 0.2), arrived(count(calls=1), 0.3)
    full = begun(count(concurrency=1), 0.0)

    def found(*counts: Count) -> tuple[Count, datetime | None] | None:
        return blocking(counts, at(0.5))

    assert found() is None
    assert found(free) is None
    assert found(free, second) == (second, at(0.2 + WINDOW_S))
    assert found(third, second) == found(second, third) == (third, at(0.3 + WINDOW_S))
    assert found(third, full, second) == (full, None)
    same = arrived(count(calls=1), 0.3)
    assert found(third, same) == (third, at(0.3 + WINDOW_S))


def test_a_limit_of_nothing_limits_nothing() -> None:
    """A log of another version may hold one."""
    found = begun(Count(Limit(of="tool", name="refund")), 0.0, 0.0)
    assert (free_s(found, 0), found.explain(at()), found.running) == (0, "tool refund limits nothing", 2)
