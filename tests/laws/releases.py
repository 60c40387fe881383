"""A leader and a follower of one log: calls come, go, fail, are put off and end in any order, at any time."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.unit.dispatcher.backlogs import limit
from tests.unit.dispatcher.making import NOW
from toolbus_contracts.tools import Limit
from toolbus_dispatcher.core.backlog import Backlog
from toolbus_dispatcher.core.lanes import Grant, OpenCall
from toolbus_dispatcher.core.limits import AFTER_START, Exchange

TENANTS = ("a", "b", "c")
WEIGHTS = {"a": 2.0}
LIMITS: tuple[tuple[Limit, ...], ...] = (
    (),
    (limit("one", concurrency=1),),
    (limit("three", concurrency=3),),
    (limit("rate", calls=2, per_s=1.0),),
    (limit("both", concurrency=2, calls=3, per_s=0.5),),
    (limit("three", concurrency=3), limit("key", calls=4, per_s=2.0, of="key")),
)
NEVER = datetime.max.replace(tzinfo=NOW.tzinfo)


@dataclass
class Arrival:
    """When a call can have reached its target: not before it was let go, and at the latest then."""

    limits: tuple[Limit, ...]
    tenant: str
    since: datetime
    latest: datetime


@dataclass
class World:
    """
    What is true of the calls. `leader` decides and hears; `follower` only hears.

    Every event reaches both at the time at which it happens, in one order; a grant is heard of later, or
    comes to nothing.
    """

    slots: int = 6
    now: datetime = NOW
    log: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    limits: dict[str, tuple[Limit, ...]] = field(default_factory=dict)
    tenants: dict[str, str] = field(default_factory=dict)
    granted: list[Grant] = field(default_factory=list)
    out: dict[str, int] = field(default_factory=dict)
    resting: dict[str, int] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    arrivals: dict[tuple[str, int], Arrival] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.leader = Backlog(self.slots, WEIGHTS)
        self.follower = Backlog(self.slots, WEIGHTS)

    def hear(self, name: str, *arguments: Any, **named: Any) -> None:
        """An event that everybody hears of."""
        self.log.append((name, arguments, named))
        for one in (self.leader, self.follower):
            getattr(one, name)(*arguments, **named)

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += timedelta(seconds=seconds)

    def open(self, tenant: str, limits: tuple[Limit, ...], priority: int) -> None:
        """A call is accepted."""
        call_id = f"call_{len(self.limits)}"
        self.limits[call_id], self.tenants[call_id] = limits, tenant
        self.waiting.add(call_id)
        self.hear("opened", OpenCall(call_id, tenant, priority, len(self.limits), limits), self.now)

    def release(self, at_most: int) -> list[Grant]:
        """The leader lets calls go."""
        grants = self.leader.next(self.now, at_most)
        for grant in grants:
            self.waiting.discard(grant.call_id)
            self.resting.pop(grant.call_id, None)
            arrival = Arrival(self.limits[grant.call_id], grant.tenant, self.now, NEVER)
            self.arrivals[grant.call_id, grant.attempt] = arrival
        self.granted += grants
        return grants

    def tell(self, which: int, *, is_stored: bool) -> None:
        """One grant is heard of, or comes to nothing."""
        if not self.granted:
            return
        grant = self.granted.pop(which % len(self.granted))
        if is_stored:
            self.out[grant.call_id] = grant.attempt
            self.hear("went", grant.call_id, grant.attempt, self.now)
        else:
            del self.arrivals[grant.call_id, grant.attempt]
            self.waiting.add(grant.call_id)
            self.leader.refused(grant)

    def start(self, which: int) -> None:
        """An executor is permitted to send, however long the work lay ready."""
        if self.out:
            call_id = sorted(self.out)[which % len(self.out)]
            arrival = self.arrivals[call_id, self.out[call_id]]
            if arrival.latest == NEVER:
                arrival.since, arrival.latest = self.now, self.now + AFTER_START
                self.hear("started", call_id, self.now, self.now + timedelta(seconds=30))

    def leave(self, which: int, how: str, *, is_told: bool) -> None:
        """An attempt ends the call, is put off, or leaves a doubt; its executor may tell when it arrived."""
        if not self.out:
            return
        call_id = sorted(self.out)[which % len(self.out)]
        attempt = self.out.pop(call_id)
        arrival = self.arrivals[call_id, attempt]
        exchange = None
        if arrival.latest == NEVER:
            del self.arrivals[call_id, attempt]  # it never started: nothing was sent
        elif is_told:
            arrival.latest = min(arrival.latest, self.now)
            exchange = Exchange(arrival.latest, self.now)
        if how == "ends":
            self.hear("ended", call_id, exchange=exchange)
        else:
            self.resting[call_id] = attempt
            retry_at = self.now + timedelta(seconds=0.3) if how == "is put off" else None
            self.hear("rests", call_id, retry_at, exchange=exchange)

    def end(self, call_id: str) -> None:
        """A call ends from wherever it is: it was cancelled, expired, settled."""
        self.waiting.discard(call_id)
        self.resting.pop(call_id, None)
        attempt = self.out.pop(call_id, None)
        if attempt is not None and self.arrivals[call_id, attempt].latest == NEVER:
            del self.arrivals[call_id, attempt]
        for grant in [one for one in self.granted if one.call_id == call_id]:
            self.granted.remove(grant)
            del self.arrivals[call_id, grant.attempt]
        self.hear("ended", call_id)

    def end_held(self, which: int) -> None:
        """A call that waits ends."""
        if self.waiting:
            self.end(sorted(self.waiting)[which % len(self.waiting)])

    def running(self) -> Counter[tuple[str, str, str]]:
        """How many calls are let go or with the executors, by limit."""
        calls = [*self.out, *(grant.call_id for grant in self.granted)]
        return Counter((self.tenants[one], limit.of, limit.name) for one in calls for limit in self.limits[one])

    def most_in_a_window(self, tenant: str, limit: Limit) -> int:
        """The largest number of calls that can have arrived in one window of this rate, at worst."""
        assert limit.rate is not None
        per_s = timedelta(seconds=limit.rate.per_s)
        found = [one for one in self.arrivals.values() if one.tenant == tenant and limit in one.limits]
        # The fullest windows end when some call arrives as early as it can.
        ends = [one.since for one in found]
        return max([sum(one.latest > end - per_s and one.since <= end for one in found) for end in ends], default=0)

    def go(self, at_most: int) -> None:
        """Calls are let go, and all of them are heard of."""
        self.release(at_most)
        while self.granted:
            self.tell(0, is_stored=True)


Step = Callable[[World], object]
which = st.integers(0, 7)
few = st.integers(1, 5)
calls = st.tuples(st.sampled_from(TENANTS), st.sampled_from(LIMITS), st.integers(0, 9))
pauses = st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0, 1.01, 1.11, 5.0])
leaves = st.tuples(which, st.sampled_from(["ends", "is put off", "is in doubt"]), st.booleans())
# What moves calls on comes more often than what ends it: much is meant to be under way.
STEPS: list[st.SearchStrategy[Step]] = [
    calls.map(lambda one: lambda world: world.open(*one)),
    *[few.map(lambda at_most: lambda world: world.go(at_most))] * 3,
    few.map(lambda at_most: lambda world: world.release(at_most)),
    st.tuples(which, st.sampled_from([True, True, False])).map(
        lambda one: lambda world: world.tell(one[0], is_stored=one[1])
    ),
    which.map(lambda one: lambda world: world.start(one)),
    *[leaves.map(lambda one: lambda world: world.leave(one[0], one[1], is_told=one[2]))] * 2,
    which.map(lambda one: lambda world: world.end_held(one)),
    *[pauses.map(lambda seconds: lambda world: world.wait(seconds))] * 3,
]
steps = st.sampled_from(STEPS).flatmap(lambda found: found)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """What any order of steps leads to, with a good many calls at the beginning."""
    world = World()
    for tenant, limits, priority in draw(st.lists(calls, min_size=4, max_size=12)):
        world.open(tenant, limits, priority)
    for step in draw(st.lists(steps, min_size=8, max_size=30)):
        step(world)
    return world
