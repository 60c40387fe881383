"""Leases of calls that are over are forgotten: a table of hints must not grow without end."""

import asyncio
from datetime import timedelta

import structlog

from toolbus_approvals.adapters.leases import Leases
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.calendar import Calendar

log = structlog.get_logger(__name__)
LOOK_S = 60.0
KEPT_FOR = timedelta(hours=1)  # behind its end: the read table of waits may be that far behind after a long outage
LIMIT = 1000


class Forgetting:
    """Works on the leader; doing it twice does no harm."""

    def __init__(self, leases: Leases, calendar: Calendar) -> None:
        self._leases = leases
        self._calendar = calendar

    async def run(self) -> None:
        """Look until cancelled; at once again after a full look."""
        while True:
            try:
                gone = await self._leases.forget(self._calendar.now() - KEPT_FOR, limit=LIMIT)
            except Unavailable as error:
                log.warning("leases.waiting", reason=error.message)
                gone = 0
            await asyncio.sleep(0 if gone == LIMIT else LOOK_S)
