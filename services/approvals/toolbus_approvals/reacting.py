"""Reactions: what happens to a call opens and withdraws waits."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import orjson

from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.core.ending import ENDING, GOING_ON, needless
from toolbus_approvals.core.opening import doubt_id
from toolbus_approvals.heeding import Heeding
from toolbus_approvals.keeping import Keeper
from toolbus_approvals.standing import StandingGrants
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import ToolbusError
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.projections import Projection
from toolbus_runtime.reactions import React


class Reacting:
    """
    Reactions to one event each; events of different calls may be reacted to at once.

    A call that ended by the word of its wait has nothing open; a refused or a denied one neither.
    """

    def __init__(
        self,
        keeper: Keeper,
        queries: Queries,
        projection: Projection,
        calendar: Calendar,
        *,
        newest: Callable[[], Awaitable[int]],
        heeding: Heeding,
    ) -> None:
        self._keeper = keeper
        self._queries = queries
        self._projection = projection
        self._calendar = calendar
        self._newest = newest
        self._heeding = heeding
        self._standing = StandingGrants(queries, lambda: projection.position)
        keeper.found_open = True
        self._asked: set[str] = set()
        self._look: asyncio.Future[dict[str, list[str]]] | None = None

    def table(self) -> dict[str, React]:
        """What is done about each kind of event."""
        return {
            "call.wait_asked.v1": self.on_wait_asked,
            "call.in_doubt.v1": self.on_in_doubt,
            **dict.fromkeys(sorted(ENDING | GOING_ON), self.on_settled),
        }

    def hear(self, events: Sequence[StoredEvent]) -> None:
        """Know of events, before any of them is reacted to."""
        self._standing.hear(events)

    async def on_wait_asked(self, event: StoredEvent) -> None:
        """The wait is open, and grants that were given before have spoken."""
        said = orjson.loads(event.data)
        wait = await self._keeper.open(event.tenant, said["call_id"], said["wait_id"])
        if wait is None or wait.kind != "approval" or not wait.is_open:
            return
        await self._projection.reached(event.position)  # a grant that was given before the call speaks for it
        now = self._calendar.now()
        grants = await self._standing.speaking_for(event.tenant, wait.tool, event.position, now)
        await self._keeper.apply_grants(event.tenant, wait, grants, now)

    async def on_in_doubt(self, event: StoredEvent) -> None:
        """The doubt is visible."""
        self._heeding.doubted()  # before it is looked at: an end that comes afterwards is heard of
        said = orjson.loads(event.data)
        await self._keeper.open_doubt(event.tenant, said["call_id"], doubt_id(said["call_id"], said["attempt"]))

    async def on_settled(self, event: StoredEvent) -> None:
        """What is still open of a call that ended, or goes on, is withdrawn."""
        note = event.kind.removeprefix("call.").removesuffix(".v1").replace("_", " ")
        opened = (await self._looked_up(event.subject_id)).get(event.subject_id, [])
        if not opened:
            return
        for wait_id in needless(event.kind, event.subject_id, orjson.loads(event.data).get("attempt"), opened):
            await self._keeper.withdraw(event.tenant, wait_id, f"the call: {note}")

    async def _looked_up(self, call_id: str) -> dict[str, list[str]]:
        """
        The open waits of this call, and of others that were asked about at the same time.

        Most calls that end have none, and they are many: one query serves all that are asked about together.
        """
        self._asked.add(call_id)
        if self._look is None:
            self._look = asyncio.ensure_future(self._look_up())
        return await asyncio.shield(self._look)

    async def _opened_to(self) -> int:
        """
        How far the tables must have come to hold every open wait.

        A former leader may have opened some just before, or does so still: then that is as far as the log goes.
        """
        if self._keeper.found_open:
            self._keeper.found_open = False  # before asking: one that is found meanwhile may lie behind the answer
            try:
                head = await self._newest()
            except ToolbusError:
                self._keeper.found_open = True
                raise
            self._keeper.opened_to = max(self._keeper.opened_to, head)
        return self._keeper.opened_to

    async def _look_up(self) -> dict[str, list[str]]:
        try:
            await asyncio.sleep(0)  # the others of this list ask as well
            await self._projection.reached(await self._opened_to())
        finally:
            asked, self._asked, self._look = self._asked, set(), None
        found: dict[str, list[str]] = {}
        for call_id, wait_id in await self._queries.open_of(asked):
            found.setdefault(call_id, []).append(wait_id)
        return found
