"""What becomes of a call in the backlog: granted, gone, put off, in doubt, ended; and that nothing is kept of it."""

import pytest

from tests.unit.dispatcher.backlogs import at, backlog, call, go, grant, limit, numbers, opened
from toolbus_dispatcher.core.backlog import MAX_COUNTS, SLACK
from toolbus_dispatcher.core.lanes import Grant, OpenCall
from toolbus_dispatcher.core.limits import Exchange

ONE_AT_ONCE = limit("refund", concurrency=1)


def test_a_grant_that_came_to_nothing_is_held_again() -> None:
    """In its old place; limit and share are free again."""
    found = opened(backlog(1), *(call(number, "acme", ONE_AT_ONCE) for number in (1, 2)))
    (first,) = found.next(at(), 10)
    assert grant(found) == []
    found.refused(first)
    assert len(found) == 2
    assert found.next(at(), 10) == [first]


def test_a_grant_that_was_heard_of_is_not_held_again() -> None:
    """The log knows better than whoever waited for the answer."""
    found = opened(backlog(), call(1), call(2), call(3))
    first, second, third = found.next(at(), 10)
    found.went("call_1", 1, at())
    found.ended("call_2")
    found.rests("call_3", at(60))
    for one in (first, second, third):
        found.refused(one)
    assert (len(found), grant(found, 59), numbers(found.next(at(60), 10))) == (0, [], [3])


def test_a_call_that_goes_although_a_grant_of_it_was_refused_is_gone() -> None:
    """The answer was lost, and the release was stored all the same."""
    found = opened(backlog(), call(1, "acme", ONE_AT_ONCE), call(2, "acme", ONE_AT_ONCE))
    (first,) = found.next(at(), 10)
    found.refused(first)
    found.went("call_1", 1, at())
    assert (len(found), grant(found)) == (1, [])
    found.ended("call_1")
    assert grant(found) == [2]


def test_a_call_that_is_heard_of_twice_is_one() -> None:
    """The read table and the log may both tell of it."""
    found = opened(backlog(), call(1), call(1))
    assert (len(found), grant(found), grant(opened(found, call(1)))) == (1, [1], [])
    found.went("call_1", 1, at())
    found.went("call_1", 1, at())
    found.ended("call_1")
    found.ended("call_1")
    assert found._shares.burden("acme") == 0.0


def test_a_next_attempt_is_let_go_when_it_is_due() -> None:
    """At that moment and not before, with the next number, in the place that its age gives it."""
    found = opened(backlog(), call(1), call(2))
    assert go(found) == [1, 2]
    found.rests("call_2", at(5))
    found.rests("call_1", at(5))
    assert (found.holds("call_1"), len(found), grant(found, 4.9), found.wakes_at(at(4.9))) == (True, 0, [], at(5))
    opened(found, call(3), seconds=5)
    assert found.next(at(5), 10) == [Grant("acme", "call_1", 2), Grant("acme", "call_2", 2), Grant("acme", "call_3", 1)]


def test_an_attempt_that_was_put_off_again_is_due_then() -> None:
    """The time that was told first is nobody's any more: a probe, or a person, told another."""
    found = opened(backlog(), call(1))
    go(found)
    found.rests("call_1", at(5))
    found.went("call_1", 2, at(1))
    assert grant(found, 6) == []
    found.rests("call_1", at(50))
    assert [grant(found, 49), found.next(at(50), 10)] == [[], [Grant("acme", "call_1", 3)]]


@pytest.mark.parametrize("first_s", [5.0, 50.0])
def test_what_is_due_twice_is_let_go_once(first_s: float) -> None:
    """The first of the two moments counts; the second finds it gone."""
    found = opened(backlog(), call(1))
    go(found)
    found.rests("call_1", at(first_s))
    found.rests("call_1", at(55.0 - first_s))
    assert [grant(found, 4), grant(found, 5), grant(found, 50)] == [[], [1], []]


def test_a_doubt_waits_for_somebody() -> None:
    """It takes no place, and comes back when it was settled."""
    found = opened(backlog(), call(1, "acme", ONE_AT_ONCE), call(2, "acme", ONE_AT_ONCE))
    assert go(found) == [1]
    found.rests("call_1")
    assert (found.holds("call_1"), go(found, 1000)) == (False, [2])
    found.ended("call_2")
    found.rests("call_1", at(1000))
    assert found.next(at(1000), 10) == [Grant("acme", "call_1", 2)]


def test_a_call_that_ended_while_it_was_held_does_not_go() -> None:
    """It was cancelled or expired."""
    found = opened(backlog(), call(1), call(2), call(3))
    found.ended("call_2")
    assert (len(found), found.holds("call_2"), grant(found)) == (2, False, [1, 3])


def test_a_call_that_ended_while_it_was_due_later_does_not_go() -> None:
    """Nor does it keep anything."""
    found = opened(backlog(), call(1))
    go(found)
    found.rests("call_1", at(5))
    found.ended("call_1")
    assert (grant(found, 6), found._due, found._lanes, found._tickets) == ([], [], {}, {})


def test_a_call_that_rests_while_it_is_held_is_not_let_go() -> None:
    """Whatever order the log tells things in; when it is due it goes once."""
    found = opened(backlog(), call(1), call(2))
    found.rests("call_1", at(5))
    assert [grant(found), grant(found, 5), grant(found, 6)] == [[2], [1], []]


def test_what_is_not_known_is_nothing() -> None:
    """A call whose beginning was not read."""
    found = backlog()
    found.went("call_1", 1, at())
    found.rests("call_1", at())
    found.started("call_1", at(), at(60))
    found.ended("call_1")
    found.refused(Grant("acme", "call_1", 1))
    assert not found.is_timed("call_1")
    assert (len(found), found.next(at(9), 10), found.explain("call_1", at()), found.holds("call_1")) == (
        0,
        [],
        None,
        False,
    )


def test_a_call_read_from_the_table_goes_on_with_its_attempt() -> None:
    """`attempt` is the last one that was given to executors."""
    found = opened(backlog(), OpenCall("call_1", "acme", 5, 1, (), 3))
    assert found.next(at(), 10) == [Grant("acme", "call_1", 4)]


def test_nothing_is_kept_when_all_calls_have_ended() -> None:
    """Neither lanes nor tickets nor counts that run."""
    found = backlog(1000)
    for number in range(200):
        opened(found, call(number, f"t{number % 7}", *([ONE_AT_ONCE] if number % 2 else []), priority=number % 10))
    go(found)
    for number in range(0, 200, 3):
        found.rests(f"call_{number}", at(5) if number % 2 else None)
    for number in range(200):
        found.ended(f"call_{number}")
    assert grant(found, 10) == []
    assert (found._tickets, found._lanes, found._due, found._shares._out) == ({}, {}, [], {})
    assert all(count.is_idle(at(10)) for count in found._counts.values())


def test_calls_that_ended_deep_inside_a_lane_are_not_kept() -> None:
    """While urgent calls keep a lane busy, those behind them expire by the thousand."""
    found = opened(backlog(), *(call(number, "acme", ONE_AT_ONCE, priority=9) for number in range(3)))
    assert go(found) == [0]
    for number in range(100, 5100):
        opened(found, call(number, "acme", ONE_AT_ONCE, priority=0))
        found.ended(f"call_{number}")
    (lane,) = found._lanes.values()
    assert len(lane.heap) <= 2 * len(found) + SLACK + 1
    found.ended("call_0")
    assert go(found) == [1]


def test_limits_that_nobody_uses_are_forgotten() -> None:
    """Keys come and go by the ten thousand; under which something runs, waits, or began lately, are kept."""
    found = backlog(100_000)
    opened(found, call(1, "acme", ONE_AT_ONCE), call(2, "acme", limit("pay", calls=1, per_s=60)))
    go(found)
    found.ended("call_2")
    for number in range(10, 3 * MAX_COUNTS):
        opened(found, call(number, "acme", limit(f"key_{number}", concurrency=1, of="key")))
        found.ended(f"call_{number}")
    assert len(found._counts) <= MAX_COUNTS + 1
    opened(found, call(3, "acme", ONE_AT_ONCE), call(4, "acme", limit("pay", calls=1, per_s=60)), seconds=1)
    assert grant(found, 1) == []


def test_a_limit_that_still_holds_calls_is_not_forgotten() -> None:
    """Calls that wait under it and those that come later count together, however many limits there are."""
    found = opened(backlog(100_000), call(1, "acme", ONE_AT_ONCE, limit("pay", concurrency=1)))
    go(found)
    found.rests("call_1", at(100))
    for number in range(10, MAX_COUNTS + 20):
        opened(found, call(number, "acme", limit(f"key_{number}", concurrency=1, of="key")))
    opened(found, call(2, "acme", ONE_AT_ONCE))
    assert 2 in go(found)
    assert 1 not in grant(found, 100)


def test_many_limits_in_use_are_not_looked_through_for_each_call() -> None:
    """Only when there are twice as many as were left the last time."""
    found = backlog(100_000)
    for number in range(MAX_COUNTS + 10):
        opened(found, call(number, "acme", limit(f"key_{number}", concurrency=1, of="key")))
    assert found._enough == 2 * (MAX_COUNTS + 1)


def test_an_attempt_whose_time_is_over_is_told_once() -> None:
    """At the moment when its executor must have stopped, and not before; whoever could do nothing is told again."""
    found = opened(backlog(), call(1), call(2))
    go(found)
    found.started("call_1", at(1), at(40))
    found.started("call_2", at(1), at(50))
    over = [Grant("acme", "call_1", 1)]
    assert [found.overdue(at(39.9)), found.overdue(at(40)), found.overdue(at(40))] == [[], over, []]
    found.still_over(over, at(41))
    assert [found.overdue(at(41)), found.overdue(at(41))] == [over, []]
    assert found.overdue(at(60)) == [Grant("acme", "call_2", 1)]


def test_an_attempt_that_was_heard_of_is_not_overdue() -> None:
    """It ended, failed, or is in doubt already; the attempt after it has a time of its own."""
    found = opened(backlog(), *(call(number) for number in range(1, 5)))
    go(found)
    for number in range(1, 5):
        found.started(f"call_{number}", at(1), at(40))
    found.ended("call_1")
    found.rests("call_2")
    found.rests("call_3", at(2))
    assert go(found, 2) == [3]
    found.started("call_3", at(3), at(42))
    assert found.overdue(at(41)) == [Grant("acme", "call_4", 1)]
    assert found.overdue(at(42)) == [Grant("acme", "call_3", 2)]


def test_only_what_is_with_the_executors_starts() -> None:
    """A start that is heard of late says nothing any more."""
    found = opened(backlog(), call(1, "acme", limit(calls=1)), call(2, "acme", limit(calls=1)))
    found.started("call_1", at(), at(1))
    assert grant(found) == [1]
    found.went("call_1", 1, at())
    found.rests("call_1")
    found.started("call_1", at(5), at(6))
    assert (found.overdue(at(100)), grant(found, 1)) == ([], [2])  # it never arrived


def test_moments_that_nobody_waits_for_are_not_kept() -> None:
    """Who does not lead never asks what is due, or over."""
    found = opened(backlog(), call(0))
    for number in range(1, 1000):
        opened(found, call(number))
        found.went(f"call_{number}", 1, at())
        found.started(f"call_{number}", at(), at(9))
        found.rests(f"call_{number}", at(9))
        found.went(f"call_{number}", 2, at())
        found.ended(f"call_{number}")
    assert max(len(found._due), len(found._stops)) <= 2 * len(found._tickets) + SLACK + 1
    found.went("call_0", 1, at())
    found.started("call_0", at(), at(9))
    assert found.overdue(at(9)) == [Grant("acme", "call_0", 1)]


def test_what_somebody_waits_for_is_kept() -> None:
    """However much is dropped beside it: what is due, and what has to be over."""
    found = opened(backlog(1000), *(call(number) for number in range(8)))
    go(found)
    for number in range(8):
        found.started(f"call_{number}", at(), at(9))
        if number % 2:
            found.rests(f"call_{number}", at(9))
    for number in range(100, 1000):
        opened(found, call(number))
        found.went(f"call_{number}", 1, at())
        found.started(f"call_{number}", at(), at(8))
        found.rests(f"call_{number}", at(8))
        found.ended(f"call_{number}")
    assert len(found._stops) + len(found._due) < 400
    assert sorted(over.call_id for over in found.overdue(at(9))) == ["call_0", "call_2", "call_4", "call_6"]
    assert grant(found, 9) == [1, 3, 5, 7]


def test_a_call_that_is_put_off_tells_when_it_arrived() -> None:
    """From then on its rate counts."""
    found = opened(backlog(), call(1, "acme", limit(calls=1)), call(2, "acme", limit(calls=1)))
    assert go(found) == [1]
    found.rests("call_1", at(60), exchange=Exchange(at(0.02), at(0.02)))
    assert found.wakes_at(at(0.5)) == at(1.03)


def test_a_lane_in_which_nothing_is_held_keeps_nothing() -> None:
    """Its calls ended while they were held, and one is with the executors for long."""
    found = opened(backlog(), *(call(number, "acme", ONE_AT_ONCE) for number in range(10)))
    assert go(found) == [0]
    for number in range(9, 0, -1):
        found.ended(f"call_{number}")
    (lane,) = found._lanes.values()
    assert (lane.heap, lane.tickets, lane.held) == ([], 1, 0)
