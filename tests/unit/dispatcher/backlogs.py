"""Calls, limits and moments for the tests of what is held back."""

from datetime import datetime, timedelta
from typing import Any

from tests.unit.dispatcher.making import NOW
from toolbus_contracts.tools import Limit, Rate
from toolbus_dispatcher.core.backlog import Backlog, Grant, OpenCall


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
    """Which calls went then: they were let go, and the log said so."""
    grants = found.next(at(seconds), at_most)
    for one in grants:
        found.went(one.call_id, one.attempt, at(seconds))
    return numbers(grants)
