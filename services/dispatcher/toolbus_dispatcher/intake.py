"""Intake: what HTTP, bus and ask share on the way from a request for a call to its decision."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from toolbus_contracts import digests
from toolbus_contracts.calls import (
    AnyCallEvent,
    Call,
    SubmitCall,
)
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import StreamMoved
from toolbus_contracts.executions import Execution
from toolbus_contracts.keys import Actor, Key
from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.stored import places_of
from toolbus_contracts.tools import DESCRIBED_TYPES, tool_stream_id
from toolbus_contracts.values import Json, compact
from toolbus_contracts.work import PAYLOAD_THRESHOLD_BYTES
from toolbus_dispatcher.adapters.payloads import resolve, with_own_references
from toolbus_dispatcher.aggregates import CALL, EXECUTION, STORED, TOOL
from toolbus_dispatcher.core.merging import Wanted
from toolbus_dispatcher.core.submit import Submission, decide_submit
from toolbus_dispatcher.describing import Described, Describing
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.looking import stored_in, tools_in
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.commands import new_id, parsed
from toolbus_runtime.deciding import Command, Decide, Decided, Snapshot
from toolbus_runtime.payloads import keep_large, references, slim
from toolbus_runtime.store.port import EventStore

GenerationOf = Callable[[str, str], Awaitable[int]]  # (tenant, name of a secret) → the one that is used now
MAX_LOOKS: Final = 5  # a decision may want more when the tool changes meanwhile
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context §3.2


class Intake:
    """Turns requests for calls into commands for the batcher, and waits for what they come to."""

    def __init__(
        self,
        batcher: Batcher,
        store: EventStore,
        holding: Holding,
        *,
        describing: Describing,
        generation: GenerationOf,
    ) -> None:
        self._batcher = batcher
        self._store = store
        self._holding = holding
        self._describing = describing
        self._generation = generation

    async def submit(
        self,
        body: Json,
        *,
        tenant: str,
        actor: Actor,
        key: Key | None = None,
        call_id: str | None = None,
        size: int = 0,
        traceparent: str | None = None,
    ) -> Decided:
        """
        Decide a submitted call; the state that comes back is committed (or, for a dry run, imagined).

        `call_id` is used when the body has no idempotency key; `size` is the length of the raw body.

        Raises:
            Unreadable, NotFound, Conflict, Unavailable, StreamMoved.
        """
        submission = await self._submission(body, tenant=tenant, actor=actor, key=key, call_id=call_id, size=size)
        for _ in range(MAX_LOOKS):
            decided, wanted = await self._decided(submission, traceparent)
            if wanted is None:
                return decided
            submission = await self._with(submission, wanted)
        raise StreamMoved(stream_name(tenant, CALL, submission.call_id))

    async def _decided(self, submission: Submission, traceparent: str | None) -> tuple[Decided, Wanted | None]:
        """What was decided, or what the decision wants looked up; then nothing was stored."""
        command, tenant = submission.command, submission.tenant
        wanted: Wanted | None = None

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            nonlocal wanted
            execution: Execution | None = (
                snapshot.of(tenant, EXECUTION, command.execution_id) if command.execution_id else None
            )
            call: Call | None = snapshot.of(tenant, CALL, submission.call_id)
            # Asked here, and not before the command was queued: many queued together would all find room.
            sent = submission if self._holding.has_room(tenant) else submission._replace(has_room=False)
            found = decide_submit(
                sent,
                call,
                find_tool=tools_in(snapshot, tenant),
                find_stored=stored_in(snapshot, tenant),
                execution=execution,
                now=now,
            )
            wanted = found if isinstance(found, Wanted) else None
            return () if isinstance(found, Wanted) else found

        if command.dry_run:
            return await self._imagine(decide, tenant, submission.call_id), wanted
        decided = await self._batcher.submit(
            Command(
                tenant=tenant,
                category=CALL,
                subject_id=submission.call_id,
                causation_id=f"submit:{submission.call_id}:{submission.fingerprint}",
                actor=submission.actor,
                decide=decide,
                needs=_needs(tenant, command),
                is_first=True,
                traceparent=traceparent if traceparent and _TRACEPARENT.fullmatch(traceparent) else None,
            )
        )
        return decided, wanted

    async def _with(self, submission: Submission, wanted: Wanted) -> Submission:
        """The submission with what its decision wants. Raises: Unavailable."""
        tenant, arguments = submission.tenant, wanted.arguments
        if arguments is not None:
            is_real = not submission.command.dry_run
            rests = await keep_large(self._store, tenant, arguments) if is_real else arguments
            return submission._replace(rests=(arguments, rests))
        names = sorted(wanted.secrets)
        found = await asyncio.gather(*(self._generation(tenant, name) for name in names))
        return submission._replace(generations=dict(zip(names, found, strict=True)))

    async def _submission(
        self, body: Json, *, tenant: str, actor: Actor, key: Key | None, call_id: str | None, size: int
    ) -> Submission:
        command = parsed(SubmitCall, body)
        if command.on_behalf_of is not None:
            actor = actor.model_copy(update={"on_behalf_of": command.on_behalf_of})
        said = {name: value for name, value in body.items() if name not in {"idempotency_key", "dry_run"}}
        text = compact(said, sort_keys=True)
        if command.idempotency_key is not None:
            call_id = digests.call_id_for_key(tenant, command.idempotency_key)
        stored: Json = command.arguments
        resolved = command.arguments
        has_references = any(references(command.arguments))
        if has_references:
            resolved = await resolve(self._store, tenant, command.arguments)
            stored = with_own_references(command.arguments, resolved)
        if has_references or size > PAYLOAD_THRESHOLD_BYTES:
            slimmed, bodies = slim(stored, resolved)
            if bodies and not command.dry_run:
                await self._store.put_payloads(tenant, bodies)
            stored = slimmed
        return Submission(
            command=command.model_copy(update={"arguments": resolved}) if resolved is not stored else command,
            call_id=call_id or new_id("call"),
            fingerprint=digests.fingerprint_of(text),
            stored_arguments=stored,
            actor=actor,
            key=key,
            tenant=tenant,
            limits=self._holding.limits(tenant, key),
            described=await self._described(tenant, command, call_id),
            may_refer=has_references or SCHEME in text,  # hardly any does: then nobody need walk through it
        )

    async def _described(self, tenant: str, command: SubmitCall, call_id: str | None) -> Described:
        """What is said of a tool that the call brings along; a call that was decided already is found without it."""
        if isinstance(command.tool, str) or command.tool.tool_type not in DESCRIBED_TYPES:
            return None
        if call_id is not None and await self._batcher.states.read(tenant, CALL, call_id) is not None:
            return None
        return await self._describing.of_call(tenant, command.tool)

    async def _imagine(self, decide: Decide, tenant: str, call_id: str) -> Decided:
        """Decide without storing anything."""
        return Decided(await self._batcher.imagine(decide, stream_name(tenant, CALL, call_id)), ())


def _needs(tenant: str, command: SubmitCall) -> tuple[str, ...]:
    """The streams that the decision will look at, as far as the command tells."""
    needs: tuple[str, ...] = ()
    if isinstance(command.tool, str):
        needs = _named(tenant, command.tool.partition("@")[0])
        if command.context is not None:
            places = places_of(command.context, command.tool.partition("@")[0])
            needs = (*needs, *(stream_name(tenant, STORED, place) for place in places[:-1]))
    if command.execution_id:
        needs = (*needs, stream_name(tenant, EXECUTION, command.execution_id))
    return needs


@lru_cache(maxsize=4096)
def _named(tenant: str, name: str) -> tuple[str, ...]:
    """The streams of a tool of the tenant, and of what the tenant stores for it."""
    of_tenant = places_of(None, name)
    tool = stream_name(tenant, TOOL, tool_stream_id("tenant", name))
    return (tool, *(stream_name(tenant, STORED, place) for place in of_tenant))
