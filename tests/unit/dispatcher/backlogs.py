"""Calls, limits and moments for the tests of what is held back."""

from datetime import datetime, timedelta
from typing import Any

from tests.unit.dispatcher.making import NOW
from toolbus_contracts.tools import Limit, Rate
from toolbus_dispatcher.core.backlog import Backlog
from toolbus_dispatcher.core.lanes import Grant, OpenCall


def at(seconds: float = 0.0) -> datetime:
    """So many seconds after the beginning."""
    return NOW + timedelta(seconds=seconds)


def limit(
    name: str = "refund",
    *,
    concurrency: int | None = None,
    calls: int | None = None,
    per_s: float = 1.0,
    of: Any = "tool",
) -> Limit:
    """A limit of a tool, unless told otherwise, on what runs at once or on what begins in a time."""
    rate = None if calls is None else Rate(calls=calls, per_s=per_s)
    return Limit(of=of, name=name, concurrency=concurrency, rate=rate)


def call(number: int, tenant: str = "acme", *limits: Limit, priority: int = 5) -> OpenCall:
    """The call that was accepted at this place of the log."""
    return OpenCall(f"call_{number}", tenant, priority, number, limits)


def backlog(slots: int = 10, **weights: float) -> Backlog:
    """An empty backlog, with weights of tenants."""
    return Backlog(slots, weights)


def opened(found: Backlog, *calls: OpenCall, seconds: float = 0.0) -> Backlog:
    """The backlog, which heard of these calls then."""
    for one in calls:
        found.opened(one, at(seconds))
    return found


def numbers(grants: list[Grant]) -> list[int]:
    """Which calls may go, in their order."""
    return [int(grant.call_id.removeprefix("call_")) for grant in grants]


def grant(found: Backlog, seconds: float = 0.0, *, at_most: int = 100) -> list[int]:
    """Which calls may go then."""
    return numbers(found.next(at(seconds), at_most))


def go(found: Backlog, seconds: float = 0.0, *, at_most: int = 100) -> list[int]:
    """Which calls went then: they were let go, the log said so, and their executors started them at once."""
    grants = found.next(at(seconds), at_most)
    for one in grants:
        found.went(one.call_id, one.attempt, at(seconds))
        found.started(one.call_id, at(seconds), at(seconds + 3600))
    return numbers(grants)


def picture(backlog: Backlog, now: datetime = NOW) -> dict[str, Any]:
    """Everything that decides what goes next."""
    return {
        "tickets": {
            call_id: (found.where, found.attempt, found.priority, found.position, found.lane.key)
            for call_id, found in backlog._tickets.items()
        },
        "held": {key: lane.held for key, lane in backlog._lanes.items()},
        "running": {
            name: (count.limit, sorted(count._started), sorted(count._ready))
            for name, count in backlog._counts.items()
            if not count.is_idle(now)
        },
        "out": backlog._shares._out,
        "due": {
            (due_at, call_id)
            for due_at, call_id, attempt in backlog._due
            if (found := backlog._tickets.get(call_id)) and (found.where, found.attempt) == ("later", attempt)
        },
    }
