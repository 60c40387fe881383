"""
Agreements: what somebody gives beforehand until a moment, and they or an admin end before.

A grant agrees to the next calls of a tool. A delegation lets somebody else decide in the giver's place.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.aggregates import DELEGATION, GRANT, TOOL
from toolbus_approvals.commanding import Streams, actor_of
from toolbus_approvals.core.delegating import decide_give_delegation
from toolbus_approvals.core.grants import decide_give_grant
from toolbus_approvals.core.revoking import decide_revoke
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import NotFound
from toolbus_contracts.tools import Tool, tool_stream_id
from toolbus_contracts.waits import Delegation, GiveDelegation, GiveGrant, Grant, Spoken
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Snapshot

Given = TypeVar("Given", Grant, Delegation)
Rule: TypeAlias = Callable[[Given | None, Snapshot, Spoken], Sequence[BaseModel]]
PREFIXES: Final = {GRANT: "grant", DELEGATION: "dele"}


class Agreements(Generic[Given]):
    """
    Agreements of one category.

    Raises, everywhere: `NotFound` for what the tenant does not have, `Unavailable`, `StreamMoved`.
    """

    category: str

    def __init__(self, streams: Streams, queries: Queries) -> None:
        self._streams = streams
        self._queries = queries

    async def get(self, tenant: str, agreement_id: str) -> Given:
        """An agreement as it stands."""
        found: Given | None = await self._streams.states.read(tenant, self.category, agreement_id)
        if found is None:
            raise NotFound(f"there is no {self.category} {agreement_id}")
        return found

    async def revoke(self, tenant: str, agreement_id: str, who: Spoken, *, is_admin: bool = False) -> Given:
        """End an agreement; again changes nothing. Raises: NotAllowed."""

        def rule(given: Given | None, _: Snapshot, now: Spoken) -> Sequence[BaseModel]:
            if given is None:
                raise NotFound(f"there is no {self.category} {agreement_id}")
            return decide_revoke(given, now, is_admin=is_admin)

        return await self._said(tenant, agreement_id, who, rule)

    def _new_id(self) -> str:
        return new_id(PREFIXES[self.category])

    async def _said(self, tenant: str, agreement_id: str, who: Spoken, rule: "Rule[Given]") -> Given:
        def decide(given: Given | None, others: Snapshot, now: datetime) -> Sequence[BaseModel]:
            return rule(given, others, who.model_copy(update={"at": now}))

        decided = await self._streams.submit(tenant, self.category, agreement_id, decide, actor=actor_of(who))
        after: Given = decided.state
        return after

    async def _shown(self, tenant: str, rows: Sequence[tuple[str, int]], limit: int) -> tuple[list[Given], int | None]:
        """A page of these, and the place behind which the next page begins."""
        streams = [stream_name(tenant, self.category, agreement_id) for agreement_id, _ in rows]
        states = await self._streams.states.read_many(streams)
        return [states[stream] for stream in streams], rows[-1][1] if len(rows) == limit else None


class Grants(Agreements[Grant]):
    """Somebody agrees beforehand to the next calls of a tool."""

    category = GRANT

    async def give(self, tenant: str, command: GiveGrant, who: Spoken) -> Grant:
        """Agree to so many calls, until then, while a condition holds. Raises: Refused."""
        grant_id = self._new_id()

        def rule(grant: Grant | None, others: Snapshot, now: Spoken) -> Sequence[BaseModel]:
            tool: Tool = others.of(tenant, TOOL, tool_stream_id(command.scope, command.tool))
            return decide_give_grant(command, grant, tool, now, grant_id=grant_id)

        return await self._said(tenant, grant_id, who, rule)

    async def list(
        self, tenant: str, *, tool: str | None, before: int | None, limit: int
    ) -> tuple[list[Grant], int | None]:
        """A page of grants, newest first, and the place behind which the next page begins."""
        return await self._shown(
            tenant, await self._queries.grants(tenant, tool=tool, before=before, limit=limit), limit
        )


class Delegations(Agreements[Delegation]):
    """Somebody lets another decide in their place, in every wait."""

    category = DELEGATION

    async def give(self, tenant: str, command: GiveDelegation, who: Spoken) -> Delegation:
        """Let somebody decide until then. Raises: Refused."""
        delegation_id = self._new_id()

        def rule(delegation: Delegation | None, _: Snapshot, now: Spoken) -> Sequence[BaseModel]:
            return decide_give_delegation(command, delegation, now, delegation_id=delegation_id)

        return await self._said(tenant, delegation_id, who, rule)

    async def list(self, tenant: str, *, before: int | None, limit: int) -> tuple[list[Delegation], int | None]:
        """A page of delegations, newest first, and the place behind which the next page begins."""
        return await self._shown(tenant, await self._queries.delegations(tenant, before=before, limit=limit), limit)
