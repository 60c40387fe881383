"""What people agree to beforehand: standing grants, delegations, and who would have to approve a call."""

from collections.abc import Sequence
from datetime import UTC, datetime

from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.aggregates import DELEGATION, GRANT, TOOL
from toolbus_approvals.commanding import Streams, actor_of
from toolbus_approvals.core.delegating import decide_give_delegation, decide_revoke_delegation
from toolbus_approvals.core.grants import decide_give_grant, decide_revoke_grant
from toolbus_approvals.core.simulating import simulate
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import NotFound
from toolbus_contracts.tools import Tool, tool_stream_id
from toolbus_contracts.waits import (
    AnyDelegationEvent,
    AnyGrantEvent,
    Delegation,
    GiveDelegation,
    GiveGrant,
    Grant,
    Simulated,
    SimulateWait,
    Spoken,
)
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Snapshot


class Agreements:
    """Commands and reads about grants and delegations."""

    def __init__(self, streams: Streams, queries: Queries) -> None:
        self._streams = streams
        self._queries = queries

    async def give_grant(self, tenant: str, command: GiveGrant, who: Spoken) -> Grant:
        """Agree beforehand to the next calls of a tool. Raises: Refused, NotFound."""
        grant_id = new_id("grant")

        def rule(grant: Grant | None, others: Snapshot, now: datetime) -> Sequence[AnyGrantEvent]:
            tool: Tool = others.of(tenant, TOOL, tool_stream_id(command.scope, command.tool))
            return decide_give_grant(command, grant, tool, _at(who, now), grant_id=grant_id)

        decided = await self._streams.submit(tenant, GRANT, grant_id, rule, actor=actor_of(who))
        given: Grant = decided.state
        return given

    async def revoke_grant(self, tenant: str, grant_id: str, who: Spoken, *, is_admin: bool = False) -> Grant:
        """End a grant. Raises: NotFound, NotAllowed."""

        def rule(grant: Grant | None, _: Snapshot, now: datetime) -> Sequence[AnyGrantEvent]:
            return decide_revoke_grant(grant, _at(who, now), grant_id=grant_id, is_admin=is_admin)

        decided = await self._streams.submit(tenant, GRANT, grant_id, rule, actor=actor_of(who))
        revoked: Grant = decided.state
        return revoked

    async def grant(self, tenant: str, grant_id: str) -> Grant:
        """A grant as it stands. Raises: NotFound."""
        found: Grant | None = await self._streams.states.read(tenant, GRANT, grant_id)
        if found is None:
            raise NotFound(f"there is no grant {grant_id}")
        return found

    async def list_grants(
        self, tenant: str, *, tool: str | None, before: int | None, limit: int
    ) -> tuple[list[Grant], int | None]:
        """A page of grants, newest first, and the place behind which the next page begins."""
        rows = await self._queries.grants(tenant, tool=tool, before=before, limit=limit)
        streams = [stream_name(tenant, GRANT, grant_id) for grant_id, _ in rows]
        states = await self._streams.states.read_many(streams)
        return [states[stream] for stream in streams], rows[-1][1] if len(rows) == limit else None

    async def give_delegation(self, tenant: str, command: GiveDelegation, who: Spoken) -> Delegation:
        """Let somebody else decide in the speaker's place, in every wait. Raises: Refused."""
        delegation_id = new_id("dele")

        def rule(delegation: Delegation | None, _: Snapshot, now: datetime) -> Sequence[AnyDelegationEvent]:
            return decide_give_delegation(command, delegation, _at(who, now), delegation_id=delegation_id)

        decided = await self._streams.submit(tenant, DELEGATION, delegation_id, rule, actor=actor_of(who))
        given: Delegation = decided.state
        return given

    async def revoke_delegation(
        self, tenant: str, delegation_id: str, who: Spoken, *, is_admin: bool = False
    ) -> Delegation:
        """End a delegation. Raises: NotFound, NotAllowed."""

        def rule(delegation: Delegation | None, _: Snapshot, now: datetime) -> Sequence[AnyDelegationEvent]:
            return decide_revoke_delegation(delegation, _at(who, now), delegation_id=delegation_id, is_admin=is_admin)

        decided = await self._streams.submit(tenant, DELEGATION, delegation_id, rule, actor=actor_of(who))
        revoked: Delegation = decided.state
        return revoked

    async def delegation(self, tenant: str, delegation_id: str) -> Delegation:
        """A delegation as it stands. Raises: NotFound."""
        found: Delegation | None = await self._streams.states.read(tenant, DELEGATION, delegation_id)
        if found is None:
            raise NotFound(f"there is no delegation {delegation_id}")
        return found

    async def list_delegations(
        self, tenant: str, *, before: int | None, limit: int
    ) -> tuple[list[Delegation], int | None]:
        """A page of delegations, newest first, and the place behind which the next page begins."""
        rows = await self._queries.delegations(tenant, before=before, limit=limit)
        streams = [stream_name(tenant, DELEGATION, delegation_id) for delegation_id, _ in rows]
        states = await self._streams.states.read_many(streams)
        return [states[stream] for stream in streams], rows[-1][1] if len(rows) == limit else None

    async def simulate(self, tenant: str, command: SimulateWait, who: Spoken) -> Simulated:
        """Who would have to approve this call, were it asked for by this person. Raises: NotFound."""
        tool: Tool = await self._streams.states.read(tenant, TOOL, tool_stream_id("tenant", command.tool))
        if tool.latest is None:
            raise NotFound(f"there is no tool {command.tool!r}", "unknown_tool")
        now = datetime.now(UTC)
        ids = await self._queries.standing_grants(tenant, command.tool, now)
        streams = [stream_name(tenant, GRANT, grant_id) for grant_id in ids]
        grants = (await self._streams.states.read_many(streams)).values()
        return simulate(tool.latest, who, grants, now, command=command)


def _at(who: Spoken, now: datetime) -> Spoken:
    """Who speaks, at the moment of the decision."""
    return who.model_copy(update={"at": now})
