"""Laws of the backlog: limits and shares hold, nobody is forgotten, and all who hear the log know the same."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.releases import LIMITS, TENANTS, WEIGHTS, World, worlds
from tests.unit.dispatcher.backlogs import picture
from toolbus_contracts.tools import Limit
from toolbus_dispatcher.core.backlog import Backlog
from toolbus_dispatcher.core.lanes import Grant
from toolbus_dispatcher.core.limits import blocking, window

EACH: set[Limit] = {limit for limits in LIMITS for limit in limits}
MAX_ROUNDS = 300


@given(world=worlds())
def test_no_more_run_than_may_run_at_once(world: World) -> None:
    """What was let go counts, whether it was heard of or not."""
    running = world.running()
    for limit in EACH:
        if limit.concurrency is not None:
            assert all(running[tenant, limit.of, limit.name] <= limit.concurrency for tenant in TENANTS)


@given(world=worlds())
def test_no_more_arrive_in_any_window_than_may_begin_in_it(world: World) -> None:
    """However late the one is and however early the other, as far as the way to the target is what it is held for."""
    for limit in EACH:
        if limit.rate is not None:
            assert all(world.most_in_a_window(tenant, limit) <= limit.rate.calls for tenant in TENANTS)


@given(world=worlds())
def test_what_was_counted_is_what_runs(world: World) -> None:
    """No count is off by one, after whatever happened."""
    running = world.running()
    for name, count in world.leader._counts.items():
        assert count.running == running[name]
    out = [*(world.tenants[one] for one in world.out), *(grant.tenant for grant in world.granted)]
    for tenant in TENANTS:
        assert world.leader._shares.burden(tenant) == out.count(tenant) / WEIGHTS.get(tenant, 1.0)


def next_as_it_is_meant(backlog: Backlog, world: World, at_most: int) -> list[Grant]:
    """Call by call: of all that may go, the head of a lane whose tenant has least, the most urgent, the oldest."""
    granted: list[Grant] = []
    backlog._wake_due(world.now)
    while len(granted) < at_most:
        free = [
            lane
            for lane in backlog._lanes.values()
            if lane.held
            and blocking(lane.counts, world.now) is None
            and backlog._shares.may_have_more(lane.tenant, world.now)
        ]
        if not free:
            break
        lane = min(free, key=lambda one: (backlog._shares.burden(one.tenant), backlog._place(one).head))
        granted.append(backlog._grant(lane))
    return granted


@given(world=worlds(), at_most=st.integers(0, 10))
def test_the_next_calls_are_those_that_are_meant(world: World, at_most: int) -> None:
    """Looking through the lanes once gives what looking through all of them for each call gives."""
    meant = next_as_it_is_meant(deepcopy(world.leader), world, at_most)
    assert world.release(at_most) == meant


@given(world=worlds())
def test_who_may_go_is_let_go(world: World) -> None:
    """Nothing is idle while somebody waits who is held by nothing; and without an event or time nobody goes later."""
    while world.release(3):
        pass
    total = len(world.out) + len(world.granted)
    for call_id in world.waiting:
        if world.limits[call_id] == ():
            assert total >= 0.8 * world.slots
    assert world.release(100) == []


@settings(max_examples=30)
@given(world=worlds())
def test_every_call_is_let_go_in_the_end(world: World) -> None:
    """When those before it end, each held call goes, and each that is put off; `wakes_at` tells when to look again."""
    for call_id in [one for one in world.resting if not world.leader.holds(one)]:
        world.hear("rests", call_id, world.now)  # the doubt is settled: another attempt
    for _ in range(MAX_ROUNDS):
        while world.granted:
            world.tell(0, is_stored=True)
        for _ in list(world.out):
            world.leave(0, "ends", is_told=False)
        if not world.release(100) and not world.granted:
            wakes_at = world.leader.wakes_at(world.now)
            if wakes_at is None:
                break
            assert wakes_at > world.now
            world.now = wakes_at
    assert (world.waiting, world.resting, len(world.leader)) == (set(), {}, 0)


@given(world=worlds())
def test_nothing_is_left_when_all_calls_have_ended(world: World) -> None:
    """Wherever they were."""
    for call_id in world.limits:
        world.end(call_id)
    later = world.now + timedelta(days=2)
    for backlog in (world.leader, world.follower):
        assert backlog.next(later, 10) == []
        assert (backlog._tickets, backlog._lanes, backlog._due, len(backlog)) == ({}, {}, [], 0)
        assert backlog.overdue(later) == []
        assert (backlog._shares._out, backlog._shares._total) == ({}, 0)
        assert all(count.is_idle(later) and not count.running for count in backlog._counts.values())


def knows(backlog: Backlog, world: World) -> Any:
    """Everything that decides what goes next, and when."""
    arrived = {
        name: [at for at in count._arrived if at > world.now - window(count.limit.rate)]
        for name, count in backlog._counts.items()
        if count.limit.rate is not None and not count.is_idle(world.now)
    }
    return picture(backlog, world.now), arrived


@given(world=worlds())
def test_everybody_who_hears_the_log_knows_the_same(world: World) -> None:
    """Once nothing is under way between them, whoever has led and whoever has not are in the same state."""
    while world.granted:
        world.tell(0, is_stored=len(world.granted) % 2 == 0)
    for backlog in (world.leader, world.follower):
        backlog._wake_due(world.now)
    assert knows(world.leader, world) == knows(world.follower, world)


@given(world=worlds())
def test_what_is_heard_twice_is_heard_once(world: World) -> None:
    """An event that comes again adds nothing: not a call, not a place, not a count."""
    again = Backlog(world.slots, WEIGHTS)
    for name, arguments, named in world.log:
        for _ in range(2):
            getattr(again, name)(*arguments, **named)
    for backlog in (world.follower, again):
        backlog._wake_due(world.now)
    assert knows(again, world) == knows(world.follower, world)
