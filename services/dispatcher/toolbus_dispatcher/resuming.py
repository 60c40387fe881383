"""Resuming: what comes of a closed wait for the call that stood still for it."""

from collections.abc import Sequence
from datetime import datetime

from toolbus_contracts.calls import AnyCallEvent, ArgumentFaults, Call, CheckArguments, Detail, ResumeCall
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.tools import Tool, ToolVersion, tool_stream_id
from toolbus_contracts.values import Json
from toolbus_dispatcher.adapters.payloads import resolve
from toolbus_dispatcher.aggregates import CALL, TOOL
from toolbus_dispatcher.core.arguments import check_arguments, check_references
from toolbus_dispatcher.core.calls import known
from toolbus_dispatcher.core.standing import Surroundings, decide_resume
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.lifecycle import INTERNAL_ACTOR, by_now
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Command, Decided, Snapshot
from toolbus_runtime.payloads import references
from toolbus_runtime.store.port import EventStore


class Checking:
    """Checks arguments that a person changed, or is about to change, against the tool of a call."""

    def __init__(self, batcher: Batcher, store: EventStore) -> None:
        self._batcher = batcher
        self._store = store

    async def check(self, command: CheckArguments) -> ArgumentFaults:
        """
        What is wrong with these arguments for this call.

        Raises:
            NotFound: this tenant has no such call.
        """
        found: Call | None = await self._batcher.states.read(command.tenant, CALL, command.call_id)
        call = known(found, command.call_id)
        return ArgumentFaults(faults=await self.faults(command.tenant, call, command.arguments))

    async def faults(self, tenant: str, call: Call, arguments: Json) -> tuple[Detail, ...]:
        """What is wrong with these arguments; they may refer to payloads of the tenant."""
        if not isinstance(arguments, dict):
            return (Detail(path="", message="arguments are a JSON object"),)
        try:
            whole = await resolve(self._store, tenant, arguments) if any(references(arguments)) else arguments
        except (Refused, Unreadable) as error:
            return (Detail(path="", message=error.message),)
        version = await self._version(tenant, call)
        return (check_references(version.definition, whole) or check_arguments(version, whole)) if version else ()

    async def _version(self, tenant: str, call: Call) -> ToolVersion | None:
        """The definition that the call runs; none for one that was refused before a tool was found."""
        if call.definition is not None:
            own, found = call.definition, call.definition_hash or ""
            at, surface = call.requested_at, call.surface
            return ToolVersion(
                scope="call", version=0, definition=own, definition_hash=found, defined_at=at, surface=surface
            )
        if call.tool_scope is None or call.tool_version is None:
            return None
        stream = stream_name(tenant, TOOL, tool_stream_id(call.tool_scope, call.tool))
        tool: Tool = (await self._batcher.states.known({stream}))[stream]
        if call.tool_version > len(tool.versions):  # another process added it
            tool = (await self._batcher.states.read_many({stream}))[stream]
        return tool.version(call.tool_version)


class Resuming:
    """Lets calls go on, or ends them, when the wait that they stood still for was closed."""

    def __init__(self, batcher: Batcher, store: EventStore, holding: Holding) -> None:
        self._batcher = batcher
        self._holding = holding
        self._checking = Checking(batcher, store)

    async def resume(self, tenant: str, command: ResumeCall, *, causation_id: str) -> Decided:
        """The call went on or ended; one that stands still for another wait, or not at all, stays as it is."""
        faults = await self._faults(tenant, command)

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            call: Call | None = snapshot.of(tenant, CALL, command.call_id)
            named = by_now(snapshot, tenant, call)
            around = Surroundings(tenant, self._holding.has_room(tenant), named, faults)
            return decide_resume(command, call, around, now=now)

        return await self._batcher.submit(Command(tenant, CALL, command.call_id, causation_id, INTERNAL_ACTOR, decide))

    async def _faults(self, tenant: str, command: ResumeCall) -> tuple[Detail, ...]:
        """What is wrong with arguments that a person changed: what was asked for may be less than the tool wants."""
        if command.arguments is None or command.outcome not in {"approved", "answered"}:
            return ()
        call: Call | None = await self._batcher.states.read(tenant, CALL, command.call_id)
        return () if call is None else await self._checking.faults(tenant, call, command.arguments)
