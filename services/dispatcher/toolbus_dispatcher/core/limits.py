"""
Limits, counted: how many calls run under one, how many began lately, and whether another may begin.

A rate is held where the calls arrive, not where they are let go: the way there is not always equally
long, so the window in which calls are counted is a little longer than the one that was promised.
"""

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta

from toolbus_contracts.tools import Limit, Rate

MARGIN_SHARE = 0.06  # of the window; what the way to the target may differ from call to call
MAX_MARGIN_S = 0.25
LimitId = tuple[str, str, str]  # tenant, whose limit, its name


def limit_id(tenant: str, limit: Limit) -> LimitId:
    """What makes two calls count together."""
    return tenant, limit.of, limit.name


class Count:
    """How one limit stands. The newest call tells its numbers: a limit that was changed holds from then on."""

    __slots__ = ("_begun", "_granted", "limit", "running", "told_at")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.told_at = 0  # position of the event that told the numbers
        self.running = 0
        self._granted = 0  # let go, and not heard to have begun yet
        self._begun: deque[datetime] = deque()

    def tell(self, limit: Limit, position: int) -> None:
        """These are the numbers, unless a newer event told others."""
        if position >= self.told_at:
            self.limit, self.told_at = limit, position

    def grant(self) -> None:
        """A call was let go."""
        self.running += 1
        self._granted += 1

    def begin(self, at: datetime, *, was_granted: bool) -> None:
        """A call began."""
        if was_granted:
            self._granted -= 1
        else:
            self.running += 1
        if self.limit.rate is not None:
            self._begun.append(at)

    def end(self, *, was_granted: bool) -> None:
        """A call does not run any more; one that was granted never began."""
        self.running -= 1
        if was_granted:
            self._granted -= 1

    def free_at(self, now: datetime) -> datetime | None:
        """When another call may begin as far as time alone decides; none: not before one of the running ones ends."""
        limit = self.limit
        if limit.concurrency is not None and self.running >= limit.concurrency:
            return None
        if limit.rate is None:
            return now
        self._forget(limit.rate, now)
        counted = len(self._begun) + self._granted
        if counted < limit.rate.calls:
            return now
        if len(self._begun) < counted - limit.rate.calls + 1:
            return None  # those that were just let go have to begin first
        return self._begun[counted - limit.rate.calls] + window(limit.rate)

    def is_idle(self, now: datetime) -> bool:
        """Whether nothing would be forgotten with it."""
        if self.limit.rate is not None:
            self._forget(self.limit.rate, now)
        return not self.running and not self._begun

    def explain(self, now: datetime) -> str | None:
        """Which number is used up, for a person; nothing when another call may begin."""
        limit, name = self.limit, f"{self.limit.of} {self.limit.name}"
        if limit.concurrency is not None and self.running >= limit.concurrency:
            return f"{name} has {self.running} of {limit.concurrency} calls running (limits.concurrency)"
        free_at = self.free_at(now)
        if limit.rate is not None and (free_at is None or free_at > now):
            begun = len(self._begun) + self._granted
            return f"{name} began {begun} of {limit.rate.calls} calls in {limit.rate.per_s:g} s (limits.rate)"
        return None

    def _forget(self, rate: Rate, now: datetime) -> None:
        since = now - window(rate)
        while self._begun and self._begun[0] <= since:
            self._begun.popleft()


def window(rate: Rate) -> timedelta:
    """How long a call counts after it began."""
    return timedelta(seconds=rate.per_s + min(rate.per_s * MARGIN_SHARE, MAX_MARGIN_S))


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
