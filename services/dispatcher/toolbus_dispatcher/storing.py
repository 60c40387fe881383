"""Stored values: commands to the batcher, and reads that fold their streams."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel

from toolbus_contracts.envelope import stream_name
from toolbus_contracts.keys import Actor
from toolbus_contracts.stored import (
    CallContext,
    Stored,
    StoredValues,
    overlaid,
    places_of,
    stored_stream_id,
)
from toolbus_contracts.tools import Tool, ToolDefinition, tool_stream_id
from toolbus_dispatcher.aggregates import STORED, TOOL
from toolbus_dispatcher.core.storing import Place, decide_remove, decide_store, known
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Command, Decide, Decided, Snapshot


class Storing:
    """What is stored for tools, so that calls need not bring it."""

    def __init__(self, batcher: Batcher) -> None:
        self._batcher = batcher

    async def put(self, values: StoredValues, place: Place, *, tenant: str, actor: Actor) -> Decided:
        """These values hold there from now on. Raises: Refused."""

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[BaseModel]:
            stored: Stored | None = snapshot.of(tenant, STORED, stored_stream_id(*place))
            tool: Tool = snapshot.of(tenant, TOOL, tool_stream_id("tenant", place.tool))
            return decide_store(values, stored, place, tool=tool, now=now)

        return await self._submit(place, decide, tenant=tenant, actor=actor)

    async def remove(self, place: Place, *, tenant: str, actor: Actor) -> StoredValues:
        """Nothing is stored there any more; what was is given back. Raises: NotFound."""
        former: StoredValues | None = None

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[BaseModel]:
            nonlocal former
            stored: Stored | None = snapshot.of(tenant, STORED, stored_stream_id(*place))
            former = known(stored, place)
            return decide_remove(stored, place, now=now)

        await self._submit(place, decide, tenant=tenant, actor=actor)
        return former or StoredValues()

    async def get(self, tenant: str, place: Place) -> StoredValues:
        """What is stored there. Raises: NotFound."""
        stored: Stored | None = await self._batcher.states.read(tenant, STORED, stored_stream_id(*place))
        return known(stored, place)

    async def for_models(
        self, tenant: str, context: CallContext, definitions: Sequence[ToolDefinition]
    ) -> list[StoredValues]:
        """What holds for calls of each of these tools in this context."""
        places = [[stream_name(tenant, STORED, place) for place in places_of(context, one.name)] for one in definitions]
        states = await self._batcher.states.read_many({stream for streams in places for stream in streams})
        return [
            overlaid((states[stream] for stream in streams), one.tool_type)
            for one, streams in zip(definitions, places, strict=True)
        ]

    async def _submit(self, place: Place, decide: Decide, *, tenant: str, actor: Actor) -> Decided:
        return await self._batcher.submit(
            Command(
                tenant=tenant,
                category=STORED,
                subject_id=stored_stream_id(*place),
                causation_id=new_id("cmd"),
                actor=actor,
                decide=decide,
            )
        )
