"""
Limits, counted: how many calls run under one, how many began lately, and whether another may begin.

A rate is held where the calls arrive, not where they are let go, since the way there is not always equally
long. A call under a rate asks to start, whatever its contract. Until it does it counts, however long it lies
ready; from then on for the window of the rate, which begins at the latest moment at which it can have
arrived: a little after its start was granted; and once it ended, as long before its end as the quickest of the
latest exchanges took. How long its own exchange took tells only when it was sent: a target may be slow to take it,
and to take all of the first ones. Until enough exchanges were seen, a call counts from its end.
"""

import heapq
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from toolbus_contracts.tools import Limit, Rate

AFTER_START = timedelta(seconds=0.05)  # from the permission to send to the target
MARGIN = timedelta(seconds=0.01)  # what the network between executor and target may differ from call to call
LATEST_EXCHANGES = 32  # among which the quickest is sought: a target may become slower for good
LimitId = tuple[str, str, str]  # tenant, whose limit, its name


class Exchange(NamedTuple):
    """When a request was handed to the network, and when its answer was heard of."""

    began_at: datetime
    ended_at: datetime


def limit_id(tenant: str, limit: Limit) -> LimitId:
    """What makes two calls count together."""
    return tenant, limit.of, limit.name


class Count:
    """How one limit stands. The newest call tells its numbers: a limit that was changed holds from then on."""

    __slots__ = ("_arrived", "_latest", "_ready", "_started", "_took", "limit", "told_at")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.told_at = 0  # position of the event that told the numbers
        self._ready: set[str] = set()  # let go, and not started yet
        self._started: dict[str, datetime] = {}  # and when each has arrived at the latest
        self._arrived: list[datetime] = []  # of those that ended, sorted
        self._took = deque([timedelta()], maxlen=LATEST_EXCHANGES)
        self._latest = datetime.min.replace(tzinfo=UTC)  # of all these moments

    @property
    def running(self) -> int:
        """How many calls are on their way or at the target."""
        return len(self._ready) + len(self._started)

    def tell(self, limit: Limit, position: int) -> None:
        """These are the numbers, unless a newer event told others."""
        if position >= self.told_at:
            self.limit, self.told_at = limit, position

    def begin(self, call_id: str) -> None:
        """A call was let go."""
        self._ready.add(call_id)

    def start(self, call_id: str, at: datetime) -> None:
        """An executor was permitted to send it."""
        if call_id in self._ready:
            self._ready.remove(call_id)
            self._started[call_id] = self._noted(at + AFTER_START)

    def end(self, call_id: str, exchange: Exchange | None = None) -> None:
        """A call does not run any more; its exchange tells when it arrived. One that never started did not."""
        self._ready.discard(call_id)
        presumed_at = self._started.pop(call_id, None)
        if presumed_at is not None and self.limit.rate is not None:
            self.recall(presumed_at if exchange is None else self._arrived_at(exchange))

    def recall(self, arrived_at: datetime) -> None:
        """A call that ended arrived then."""
        if self.limit.rate is not None:
            insort(self._arrived, self._noted(arrived_at))

    def free_at(self, now: datetime) -> datetime | None:
        """When another call may begin as far as time alone decides; none: not before one of the others is heard of."""
        limit = self.limit
        if limit.concurrency is not None and self.running >= limit.concurrency:
            return None
        if limit.rate is None:
            return now
        running = self._lately(limit.rate, now)
        over = len(self._arrived) + len(self._ready) + len(running) - limit.rate.calls
        if over < 0:
            return now
        soonest = heapq.nsmallest(over + 1, chain(self._arrived[: over + 1], running))
        return soonest[over] + window(limit.rate) if over < len(soonest) else None

    def is_idle(self, now: datetime) -> bool:
        """Whether nothing would be forgotten with it."""
        return not self.running and (self.limit.rate is None or not self._counted(self.limit.rate, now))

    def explain(self, now: datetime) -> str:
        """How it stands, for a person: the number that is used up, or that is nearer to it."""
        limit, name = self.limit, f"{self.limit.of} {self.limit.name}"
        stand: list[tuple[float, str]] = []
        if limit.concurrency is not None:
            told = f"{name} has {self.running} of {limit.concurrency} calls running (limits.concurrency)"
            stand.append((self.running / limit.concurrency, told))
        if limit.rate is not None:
            calls, per_s = limit.rate.calls, limit.rate.per_s
            begun = self._counted(limit.rate, now)
            stand.append((begun / calls, f"{name} began {begun} of {calls} calls in {per_s:g} s (limits.rate)"))
        return max(stand, key=itemgetter(0), default=(0.0, f"{name} limits nothing"))[1]

    def _arrived_at(self, exchange: Exchange) -> datetime:
        """When a request reached its target at the latest."""
        self._took.append(exchange.ended_at - exchange.began_at)
        return exchange.ended_at - min(self._took)

    def _noted(self, moment: datetime) -> datetime:
        self._latest = max(self._latest, moment)
        return moment

    def _set_back(self, now: datetime) -> None:
        """
        Let what lies ahead count from now on.

        It has happened: the clock was set back since, and until it has caught up nothing would be let go.
        """
        latest = now + AFTER_START
        if self._latest > latest:
            self._latest = latest
            self._arrived = [min(at, latest) for at in self._arrived]
            self._started = {call_id: min(at, latest) for call_id, at in self._started.items()}

    def _counted(self, rate: Rate, now: datetime) -> int:
        """How many calls count against the rate."""
        running = self._lately(rate, now)
        return len(self._arrived) + len(self._ready) + len(running)

    def _lately(self, rate: Rate, now: datetime) -> list[datetime]:
        """When those running calls arrived that still count; ended ones that do not are forgotten."""
        self._set_back(now)
        since = now - window(rate)
        del self._arrived[: bisect_right(self._arrived, since)]
        return [at for at in self._started.values() if at > since]


def window(rate: Rate) -> timedelta:
    """How long a call counts after it arrived."""
    return timedelta(seconds=rate.per_s) + MARGIN


def blocking(counts: Iterable[Count], now: datetime) -> tuple[Count, datetime | None] | None:
    """The limit that holds longest, and until when; nothing when all of them let another call begin."""
    held: tuple[Count, datetime | None] | None = None
    for count in counts:
        free_at = count.free_at(now)
        if free_at is None:
            return count, None
        if free_at > now and (held is None or held[1] is None or free_at > held[1]):
            held = count, free_at
    return held
