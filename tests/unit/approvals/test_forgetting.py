"""Forgetting leases: in portions, now and then, and on when the database was away."""

import asyncio
from datetime import datetime, timedelta
from typing import Any, cast

from tests.unit.runtime.things import background, in_virtual_time, loop_clock, pass_time
from toolbus_approvals.forgetting import LIMIT, LOOK_S, Forgetting
from toolbus_contracts.errors import Unavailable


class Table:
    """Leases of which so many are too old at each look; the database may be away."""

    def __init__(self, *old: int | None) -> None:
        self._old = list(old)
        self.looks: list[tuple[float, datetime]] = []

    async def forget(self, before: datetime, *, limit: int) -> int:
        """Drop as many as may be dropped at once."""
        self.looks.append((asyncio.get_running_loop().time(), before))
        gone = self._old.pop(0) if self._old else 0
        if gone is None:
            raise Unavailable("the database is away")
        return min(gone, limit)


class Clock:
    """The loop's time."""

    def now(self) -> datetime:
        """Now."""
        return loop_clock()


def test_what_is_old_goes_in_portions_and_then_now_and_then() -> None:
    """A full portion is followed by the next at once; without a database it is tried again at the next look."""
    table = Table(LIMIT, 3, None, 0)

    async def story() -> None:
        async with background(Forgetting(cast("Any", table), cast("Any", Clock())).run()):
            await pass_time(2.5 * LOOK_S)

    in_virtual_time(story())
    assert [at for at, _ in table.looks] == [0, 0, LOOK_S, 2 * LOOK_S]
    assert table.looks[-1][1] == table.looks[0][1] + timedelta(seconds=2 * LOOK_S)
