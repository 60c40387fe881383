"""The backlog: who waits, who goes next, what is with the executors, and why somebody waits."""

import pytest

from tests.unit.dispatcher.backlogs import at, backlog, call, go, grant, limit, opened
from toolbus_contracts.tools import Limit
from toolbus_dispatcher.core.backlog import Backlog
from toolbus_dispatcher.core.lanes import Grant
from toolbus_dispatcher.core.limits import Exchange

ONE_AT_ONCE = limit("refund", concurrency=1)
FIVE_AT_ONCE = limit("refund", concurrency=5)
ONE_PER_S = limit("search", calls=1)


def full(tenant: str = "acme", out: int = 20, slots: int = 10) -> Backlog:
    """So many calls of the tenant, numbered from 1000 on, are with the executors: as many as it may have."""
    found = backlog(slots)
    opened(found, *(call(1000 + number, tenant) for number in range(out)))
    assert len(go(found)) == out
    return found


def test_a_held_call_is_let_go_once() -> None:
    """With its tenant and the number of the attempt that begins; from then on it counts as gone."""
    found = opened(backlog(), call(1))
    assert found.next(at(), 10) == [Grant("acme", "call_1", 1)]
    assert found.next(at(), 10) == []
    found.went("call_1", 1, at())
    assert found.next(at(), 10) == []


def test_the_most_urgent_goes_first_then_the_oldest() -> None:
    """By priority, and inside one by place in the log, whatever they arrived in."""
    calls = [call(3), call(1), call(4, priority=9), call(2, priority=0), call(5, priority=9), call(6)]
    assert grant(opened(backlog(), *calls)) == [4, 5, 1, 3, 6, 2]


def test_priority_counts_inside_a_tenant_only() -> None:
    """Whoever has less of the executors is served first, however urgent the calls of others are."""
    found = opened(backlog(20), call(1, "a", priority=9), call(2, "a", priority=9), call(3, "b", priority=0))
    assert grant(found) == [1, 3, 2]


def test_no_more_go_than_are_asked_for() -> None:
    """What is left goes with the next question."""
    found = opened(backlog(), *(call(number) for number in range(1, 6)))
    assert [grant(found, at_most=2) for _ in range(4)] == [[1, 2], [3, 4], [5], []]
    assert grant(opened(backlog(), call(1)), at_most=0) == []


def test_tenants_take_turns_by_weight() -> None:
    """Each grant goes to whoever has the least of the executors in proportion to its weight."""
    found = backlog(12, a=2.0)
    opened(found, *(call(number, "a") for number in range(1, 10)), *(call(number, "b") for number in range(11, 20)))
    assert grant(found, at_most=6) == [1, 11, 2, 3, 12, 4]


def test_a_tenant_gets_its_share_and_the_others_theirs() -> None:
    """A long queue of one does not fill the executors of another."""
    found = backlog(10)
    opened(found, *(call(number, "a") for number in range(1, 100)), *(call(number, "b") for number in range(101, 200)))
    went = go(found)
    assert len([number for number in went if number < 100]) == 5
    assert len([number for number in went if number > 100]) == 5


def test_a_tenant_that_comes_later_finds_room() -> None:
    """Of what one tenant had alone nothing is taken back; what comes free is shared."""
    found = full("a", 20)
    opened(found, *(call(number, "a") for number in range(1, 5)), call(11, "b"), seconds=1)
    assert go(found, 1) == [11]
    for number in range(1000, 1019):
        found.ended(f"call_{number}")
    assert go(found, 2) == [1, 2, 3, 4]


def test_a_lane_that_is_blocked_blocks_no_other() -> None:
    """Calls of the same tenant under other limits, or under none, pass by."""
    found = opened(backlog(), call(1, "acme", ONE_AT_ONCE), call(2, "acme", ONE_AT_ONCE), call(3), call(4, "b"))
    opened(found, call(5, "acme", ONE_PER_S), call(6, "acme", ONE_PER_S))
    assert sorted(go(found)) == [1, 3, 4, 5]


def test_a_tenant_that_is_full_blocks_no_other() -> None:
    """In whichever of its lanes."""
    found = full("a", 20)
    opened(found, call(1, "a"), call(2, "a", ONE_AT_ONCE), call(3, "b"))
    assert go(found) == [3]


def test_no_more_run_than_may_run_at_once() -> None:
    """A grant counts at once, and its place is free when the call has ended or rests."""
    found = opened(backlog(), *(call(number, "acme", limit(concurrency=2)) for number in range(1, 6)))
    assert [go(found), go(found)] == [[1, 2], []]
    found.ended("call_1")
    assert go(found) == [3]
    found.rests("call_2")
    assert go(found) == [4]
    found.rests("call_3", at(60))
    assert go(found) == [5]


def test_no_more_begin_than_may_begin_in_a_time() -> None:
    """The next one goes when the window of the first is over."""
    found = opened(backlog(), *(call(number, "acme", limit(calls=2)) for number in range(1, 6)))
    assert [go(found), go(found, 0.5)] == [[1, 2], []]
    assert found.wakes_at(at(0.5)) == at(1.06)
    for number in (1, 2):
        found.ended(f"call_{number}", exchange=Exchange(at(0.02), at(0.02)))
    assert found.wakes_at(at(0.5)) == at(1.03)
    assert [go(found, 1.029), go(found, 1.03)] == [[], [3, 4]]


def test_a_start_tells_when_a_call_arrives() -> None:
    """Once its executor may send, it counts from then on."""
    found = opened(backlog(), *(call(number, "acme", limit(calls=1)) for number in range(1, 3)))
    assert grant(found) == [1]
    assert found.wakes_at(at(3600)) is None  # it lies ready, and may arrive at any time
    found.went("call_1", 1, at())
    found.started("call_1", at(0.5), at(60))
    found.started("call_7", at(0.5), at(60))
    assert found.wakes_at(at(0.6)) == at(1.56)


def test_every_limit_of_a_call_has_to_let_it_go() -> None:
    """Those of its tool, of its key and of its tenant, whichever holds."""
    key, tenant = limit("key_1", concurrency=2, of="key"), limit("acme", concurrency=3, of="tenant")
    tools = [limit(name, concurrency=1) for name in ("a", "b", "c", "d")]
    calls = [
        call(number, "acme", tool, *([key] if number <= 3 else []), tenant) for number, tool in enumerate(tools, 1)
    ]
    found = opened(backlog(), *calls)
    assert sorted(go(found)) == [1, 2, 4]
    found.ended("call_4")
    assert go(found) == []
    found.ended("call_1")
    assert go(found) == [3]


def test_limits_of_one_name_in_two_tenants_are_two() -> None:
    """Each tenant has its own tools and keys."""
    found = opened(backlog(), call(1, "a", ONE_AT_ONCE), call(2, "b", ONE_AT_ONCE))
    assert sorted(go(found)) == [1, 2]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_the_newest_numbers_hold_in_whatever_order_calls_are_read(order: tuple[int, ...]) -> None:
    """The log is read from its beginning or the table in any order: the call with the highest position tells."""
    of = {1: limit(concurrency=1), 2: limit(concurrency=3), 3: limit(concurrency=2)}
    found = opened(backlog(), *(call(number, "acme", of[number]) for number in order))
    assert grant(found) == [1, 2]


def test_a_tenant_without_held_calls_has_room() -> None:
    """A new call without limits may go at once, as long as its tenant may have more and nobody waits before it."""
    found = full(out=19)
    assert found.has_room("acme", at())
    assert found.has_room("other", at())
    opened(found, call(1))
    assert not found.has_room("acme", at())
    assert go(found) == [1]
    assert not found.has_room("acme", at())
    found.ended("call_1000")
    assert found.has_room("acme", at())


def test_calls_that_are_held_by_limits_leave_room_for_those_without() -> None:
    """They wait for their own limit."""
    found = opened(backlog(), call(1, "acme", ONE_AT_ONCE), call(2, "acme", ONE_AT_ONCE))
    assert found.has_room("acme", at())


def test_nothing_wakes_without_an_event_unless_time_does() -> None:
    """Neither a full limit, nor a full tenant, nor an empty backlog."""
    assert backlog().wakes_at(at()) is None
    busy = opened(backlog(), call(1, "acme", ONE_AT_ONCE), call(2, "acme", ONE_AT_ONCE))
    go(busy)
    assert busy.wakes_at(at()) is None
    assert opened(full(), call(1)).wakes_at(at()) is None


def test_the_first_moment_wakes() -> None:
    """Of all rates and all next attempts."""
    per_s, per_minute = limit("a", calls=1), limit("b", calls=1, per_s=60)
    found = opened(backlog(), *(call(number, "acme", per_minute) for number in (1, 2)))
    assert go(found) == [1]
    assert found.wakes_at(at()) == at(60.06)
    opened(found, *(call(number, "acme", per_s) for number in (3, 4)))
    assert go(found) == [3]
    assert found.wakes_at(at()) == at(1.06)
    found.rests("call_1", at(0.5))
    assert found.wakes_at(at()) == at(0.5)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ((FIVE_AT_ONCE,), "tool refund has 5 of 5 calls running (limits.concurrency); 3 wait for the same"),
        ((limit("k", calls=5, of="key"),), "key k began 5 of 5 calls in 1 s (limits.rate); 3 wait for the same"),
        (
            (limit("a", calls=5), limit("acme", calls=5, per_s=60, of="tenant")),
            "tenant acme began 5 of 5 calls in 60 s (limits.rate); 3 wait for the same",
        ),
    ],
)
def test_a_held_call_names_its_limit_and_the_numbers(limits: tuple[Limit, ...], told: str) -> None:
    """The one that holds longest, and how many wait for it."""
    found = opened(backlog(), *(call(number, "acme", *limits) for number in range(1, 9)))
    assert go(found) == [1, 2, 3, 4, 5]
    assert [found.explain(f"call_{number}", at()) for number in (5, 6, 8)] == [None, told, told]


def test_a_held_call_that_is_about_to_go_names_its_limit_too() -> None:
    """One has ended and the next was not let go yet: the share of the tenant has nothing to do with it."""
    found = opened(backlog(), *(call(number, "acme", FIVE_AT_ONCE) for number in range(1, 9)))
    assert go(found) == [1, 2, 3, 4, 5]
    found.ended("call_1")
    told = "tool refund has 4 of 5 calls running (limits.concurrency); 3 wait for the same"
    assert found.explain("call_8", at()) == told


def test_a_held_call_names_the_share_of_its_tenant() -> None:
    """When it has all that it may have, or is about to go."""
    told = "tenant acme has 20 calls with the executors, its share of 10 slots; 2 wait for the same"
    assert opened(full(), call(1), call(2)).explain("call_2", at()) == told


def test_what_ended_before_counts_against_rates() -> None:
    """A process that begins reads it from the table: the target has seen those calls."""
    found = backlog()
    found.recalled(call(1, "acme", limit(calls=2), limit("pay", concurrency=1)), at(-0.5), at())
    opened(found, *(call(number, "acme", limit(calls=2)) for number in (2, 3)))
    assert (go(found), found.wakes_at(at())) == ([2], at(0.51))


def test_only_calls_under_a_rate_are_timed() -> None:
    """Of the others nobody needs to read when they arrived."""
    found = opened(backlog(), call(1), call(2, "acme", ONE_AT_ONCE), call(3, "acme", ONE_AT_ONCE, ONE_PER_S))
    assert [found.is_timed(f"call_{number}") for number in (1, 2, 3)] == [False, False, True]


def test_a_call_that_stands_still_takes_no_place_and_comes_back_to_its_own() -> None:
    """It is older than those that came meanwhile; told twice it is held once, and what is gone is not held again."""
    one = limit("refund", concurrency=1)
    found = opened(backlog(), call(1, "acme", one), call(2, "acme", one))
    found.rests("call_1")
    assert (len(found), found.holds("call_1")) == (1, False)
    for _ in range(2):
        found.resumed("call_1")
    assert (len(found), go(found)) == (2, [1])
    found.resumed("call_1")
    found.resumed("call_unknown")
    assert (len(found), grant(found)) == (1, [])


def test_what_only_stands_still_does_not_move() -> None:
    """Held, with the executors, or due later: something will happen by itself; not so while somebody has to act."""
    found = opened(backlog(), call(1))
    assert found.is_moving
    assert grant(found)
    assert found.is_moving
    found.rests("call_1", at(60))
    assert found.is_moving
    found.ended("call_1")
    found = opened(backlog(), call(2))
    found.rests("call_2")
    assert not found.is_moving
