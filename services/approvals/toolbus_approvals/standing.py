"""
Which grants may speak for a wait: known beforehand for most waits, since most tools have no grant at all.

What is known of a tenant holds until a grant is given there: grants that are used up, revoked or over only make it say
that one may speak where none does, and then the tables are asked as well.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from toolbus_approvals.adapters.queries import GrantsOfTool
from toolbus_contracts.envelope import StoredEvent

GIVEN: Final = "grant.given.v1"
MAX_TENANTS: Final = 1000  # what is known of more is looked up again


class GrantTables(Protocol):
    """What the read tables tell of grants. Raises: Unavailable."""

    async def tools_with_grants(self, tenant: str, now: datetime) -> Mapping[str, GrantsOfTool]:
        """The tools that have grants which are neither over nor revoked."""

    async def standing_grants(self, tenant: str, tool: str, now: datetime, *, since: int | None = None) -> list[str]:
        """Ids of the grants that may speak for a call that was asked for at this position, the oldest first."""


@dataclass(frozen=True)
class _Known:
    """What the tables told, or are about to tell, of a tenant; they held everything up to this position."""

    position: int
    tools: asyncio.Future[Mapping[str, GrantsOfTool]]


class StandingGrants:
    """
    Asks the tables as little as possible. Made anew by every leader: it knows what was given since, for it hears of it.

    `position`: how far the tables are.
    """

    def __init__(self, tables: GrantTables, position: Callable[[], int]) -> None:
        self._tables = tables
        self._position = position
        self._known: dict[str, _Known] = {}
        self._given: dict[str, int] = {}  # by tenant, where the newest grant was given

    def hear(self, events: Sequence[StoredEvent]) -> None:
        """Hear of events in the order of the log, and of every one before the waits behind it are asked about."""
        for event in events:
            if event.kind == GIVEN:
                self._given[event.tenant] = event.position

    async def speaking_for(self, tenant: str, tool: str, asked_at: int, now: datetime) -> list[str]:
        """
        Ids of the grants that may speak for a call of this tool, which was asked for at this position.

        The tables hold everything up to there already. Raises: Unavailable.
        """
        known = self._of(tenant, now)
        try:
            of_tool = (await asyncio.shield(known.tools)).get(tool)
        except BaseException:
            self._forget(tenant, known)
            raise
        if of_tool is None or now >= of_tool.until or (of_tool.uses_left <= 0 and of_tool.position <= asked_at):
            return []
        found = await self._tables.standing_grants(tenant, tool, now, since=asked_at)
        if not found:
            self._forget(tenant, known)  # used up or revoked meanwhile: the next wait need not ask again
        return found

    def _of(self, tenant: str, now: datetime) -> _Known:
        known = self._known.get(tenant)
        if known is None or known.position < self._given.get(tenant, 0):
            told = asyncio.ensure_future(self._tables.tools_with_grants(tenant, now))
            known = self._known[tenant] = _Known(self._position(), told)
            if len(self._known) > MAX_TENANTS:
                del self._known[next(iter(self._known))]
        return known

    def _forget(self, tenant: str, known: _Known) -> None:
        if self._known.get(tenant) is known:
            del self._known[tenant]
