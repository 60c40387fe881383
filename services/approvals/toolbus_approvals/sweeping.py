"""The sweeper: every second it looks for open waits that are due, and lets time do to them what it does."""

import asyncio
from datetime import datetime

import structlog

from toolbus_approvals.adapters.queries import Due, Queries
from toolbus_approvals.keeping import Keeper
from toolbus_contracts.errors import ToolbusError, Unavailable
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.lull import Lull

log = structlog.get_logger(__name__)
LOOK_S = 1.0
AGAIN_S = 0.1
LIMIT = 500  # waits that one look takes up


class Sweeper:
    """
    Works off what the index of due times holds: a look costs the same with a hundred thousand open waits.

    A wait that the tables still show as due is looked at again: its own stream decides, and adds nothing twice.
    """

    def __init__(self, queries: Queries, keeper: Keeper, calendar: Calendar, lull: Lull) -> None:
        self._queries = queries
        self._keeper = keeper
        self._calendar = calendar
        self._lull = lull
        self._next_due: datetime | None = None

    async def run(self) -> None:
        """Look until cancelled; sooner again after a full look, once the tables can have followed."""
        while True:
            try:
                found = 0 if self._may_skip() else await self.look()
            except Unavailable as error:
                log.warning("sweep.waiting", reason=error.message)
                found = 0
            await asyncio.sleep(AGAIN_S if found == LIMIT else LOOK_S)

    def _may_skip(self) -> bool:
        """Whether nothing is due yet, and nothing that would be sooner can have come."""
        is_due = self._next_due is not None and self._calendar.now() >= self._next_due
        return not is_due and self._lull.may_skip()

    async def look(self) -> int:
        """Take up what is due; how many waits that were."""
        due = await self._queries.due(self._calendar.now(), limit=LIMIT)
        await asyncio.gather(*(self._take_up(wait) for wait in due))
        self._next_due = await self._queries.next_due()
        return len(due)

    async def _take_up(self, due: Due) -> None:
        try:
            await self._keeper.pass_time(due.tenant, due.wait_id)
        except ToolbusError as error:  # its neighbours go on; the next look takes it up again
            log.warning("sweep.wait_failed", wait_id=due.wait_id, reason=error.message)
