"""
Who may have the executors: one tenant alone has them all, several share them by weight.

What is with the executors cannot be taken back, so what is given to them at once is bounded: while one
tenant alone is active, twice what they carry out at once (the next work lies ready); while several are, a
share each that is always theirs, and up to four fifths for whoever wants more. The rest stays free for
those who come next.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

ALONE = 2.0  # times the slots
SHARED = 0.8
LOOK_AFTER = timedelta(seconds=1)
ACTIVE_FOR = timedelta(seconds=60)  # after its last sign of life a tenant still counts as active: it finds room at once


class Shares:
    """How many calls of each tenant are with the executors, and whether another may be."""

    def __init__(self, slots: int, weights: Mapping[str, float]) -> None:
        self._slots = slots
        self._weights = weights
        self._out: dict[str, int] = {}
        self._total = 0
        self._seen_at: dict[str, datetime] = {}
        self._active = 0.0  # weight of all who were seen
        self._looked_at: datetime | None = None

    def see(self, tenant: str, now: datetime) -> None:
        """The tenant is active."""
        if tenant not in self._seen_at:
            self._active += self._weight(tenant)
        self._seen_at[tenant] = now

    def add(self, tenant: str, change: int) -> None:
        """So many more, or less, calls of the tenant are with the executors."""
        self._total += change
        out = self._out.pop(tenant, 0) + change
        if out:
            self._out[tenant] = out

    @property
    def total(self) -> int:
        """How many calls of all tenants are with the executors."""
        return self._total

    def burden(self, tenant: str) -> float:
        """How much the tenant has of the executors, in proportion to its weight."""
        return self._out.get(tenant, 0) / self._weight(tenant)

    def may_have_more(self, tenant: str, now: datetime) -> bool:
        """Whether another call of the tenant may go to the executors."""
        return self._out.get(tenant, 0) < self._bound(tenant, now)

    def explain(self, tenant: str) -> str:
        """How the tenant stands, for a person."""
        out = self._out.get(tenant, 0)
        return f"tenant {tenant} has {out} calls with the executors, its share of {self._slots} slots"

    def _bound(self, tenant: str, now: datetime) -> float:
        self._prune(now)
        weight, is_seen = self._weight(tenant), tenant in self._seen_at
        if len(self._seen_at) == is_seen:
            return ALONE * self._slots
        own = self._slots * weight / (self._active + (0.0 if is_seen else weight))
        spare = SHARED * self._slots - (self._total - self._out.get(tenant, 0))
        return max(own, spare)  # more than nothing: each may have one call at least

    def _prune(self, now: datetime) -> None:
        """Forget who was not heard of for a while, looking once a second at most; the clock may be set back."""
        if self._looked_at is not None and timedelta() <= now - self._looked_at < LOOK_AFTER:
            return
        self._looked_at = now
        self._seen_at = {
            name: min(at, now) for name, at in self._seen_at.items() if now - at < ACTIVE_FOR or name in self._out
        }
        self._active = sum(map(self._weight, self._seen_at))

    def _weight(self, tenant: str) -> float:
        return self._weights.get(tenant, 1.0)
