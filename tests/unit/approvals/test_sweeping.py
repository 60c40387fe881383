"""The sweeper of waits asks the tables no more often than something can be due."""

from datetime import datetime, timedelta
from typing import Any, cast

from tests.unit.runtime.things import NOW, Store, background, in_virtual_time, loop_clock, pass_time
from toolbus_approvals.adapters.queries import Due
from toolbus_approvals.sweeping import Sweeper
from toolbus_runtime.feed import Feed
from toolbus_runtime.lull import AFTER_S, LOOK_EVERY_S, Lull


class Waits:
    """One wait, due at a time until it was taken up; and how often somebody asked."""

    def __init__(self, due_at: datetime | None) -> None:
        self.due_at = due_at
        self.looks = 0
        self.taken_at: datetime | None = None

    def now(self) -> datetime:
        """The time of the loop."""
        return loop_clock()

    async def due(self, now: datetime, *, limit: int) -> list[Due]:
        """It, once it is due."""
        assert limit > 1
        self.looks += 1
        return [Due("acme", "wait_1")] if self.due_at is not None and self.due_at <= now else []

    async def next_due(self) -> datetime | None:
        """When it is due."""
        return self.due_at

    async def pass_time(self, tenant: str, wait_id: str) -> None:
        """It was taken up."""
        assert (tenant, wait_id) == ("acme", "wait_1")
        self.due_at, self.taken_at = None, loop_clock()


def swept(due_at: datetime | None, seconds: float) -> Waits:
    """After so long, in which nothing was stored."""

    async def scenario() -> Waits:
        waits = Waits(due_at)
        every: Any = waits
        async with background(Sweeper(every, every, every, Lull(Feed(cast("Any", Store())))).run()):
            await pass_time(seconds)
        return waits

    return in_virtual_time(scenario())


def test_a_wait_is_taken_up_within_a_second_also_in_a_lull() -> None:
    """Nothing happens for minutes, and then it is due."""
    due_at = NOW + timedelta(seconds=123.4)
    found = swept(due_at, 200)
    assert found.taken_at is not None
    assert timedelta() <= found.taken_at - due_at <= timedelta(seconds=1)


def test_in_a_lull_the_tables_are_asked_rarely() -> None:
    """However many wait for a later day."""
    found = swept(NOW + timedelta(days=1), AFTER_S + 10 * LOOK_EVERY_S)
    assert found.taken_at is None
    assert found.looks <= AFTER_S + 11
