"""
Heeding: which kinds of events this service has a use for now.

Most of what happens to calls is none of its business, and is not even read: what asks for waits and what ends them
always is; how calls end only while somebody waits here for that, a doubt is open, or a webhook wants to know.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.aggregates import DELEGATION, GRANT, KEY, WAIT, WEBHOOK
from toolbus_approvals.core.ending import GOING_ON
from toolbus_contracts.catalogue import event_types
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.watching import MOVING, STILL

log = structlog.get_logger(__name__)
Kinds = frozenset[str]
OWN = {WAIT, GRANT, DELEGATION, WEBHOOK, KEY}
ALWAYS: Kinds = frozenset(kind for kind in event_types() if kind.partition(".")[0] in OWN) | {
    "call.wait_asked.v1",
    "call.in_doubt.v1",
    "call.doubt_settled.v1",
    "call.cancelled.v1",
    "call.expired.v1",
    "call.approval_voided.v1",
}
ENDS: Kinds = STILL | MOVING | GOING_ON
LOOK_S = 10.0
FRESH_S = 60.0  # so long the tables may not show a doubt yet


class Heeding:
    """`told` are the kinds that webhooks want to know of; `has_doubts` whether a doubt may be open."""

    def __init__(self) -> None:
        self.told: Kinds = frozenset()
        self.has_doubts = False
        self.is_waited: Callable[[], bool] = lambda: False
        self._doubted_at = float("-inf")

    def wanted(self) -> Kinds:
        """What is of use at this moment."""
        needs_ends = self.has_doubts or self.is_waited()
        if not needs_ends and not self.told:
            return ALWAYS
        return ALWAYS | self.told | (ENDS if needs_ends else frozenset())

    def doubted(self) -> None:
        """A doubt is open, or about to be: how it ends is of use from now on."""
        self.has_doubts = True
        self._doubted_at = asyncio.get_running_loop().time()

    async def look_for_doubts(self, queries: Queries, reached: Callable[[int], Awaitable[None]]) -> None:
        """
        Find out whether all doubts are settled, and again now and then, until cancelled.

        `reached`: waits until the tables show what there is up to a position, which whoever led before may have opened.
        """
        while True:
            if self.has_doubts and asyncio.get_running_loop().time() - self._doubted_at >= FRESH_S:
                await self._look(queries, reached)
            await asyncio.sleep(LOOK_S)

    async def _look(self, queries: Queries, reached: Callable[[int], Awaitable[None]]) -> None:
        try:
            before = self._doubted_at
            await reached(await queries.newest())
            is_open = await queries.has_open_doubts()
            self.has_doubts = is_open or self._doubted_at != before
        except Unavailable as error:
            log.warning("doubts.waiting", reason=error.message)
