"""The desk: what people and clients say to a wait, whichever way it reaches us (HTTP, inbox, webhook, lease)."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from toolbus_approvals.adapters.queries import Queries, WaitFilter
from toolbus_approvals.aggregates import CALL, DELEGATION, GRANT, TOOL, WAIT
from toolbus_approvals.agreements import Delegations, Grants
from toolbus_approvals.commanding import Rule, Streams, actor_of
from toolbus_approvals.core.answering import decide_answer, decide_complete, merged
from toolbus_approvals.core.approving import decide_approve, decide_deny
from toolbus_approvals.core.delegating import decide_delegate
from toolbus_approvals.core.gone import decide_gone
from toolbus_approvals.core.late import is_over, over
from toolbus_approvals.core.opening import digest_with
from toolbus_approvals.core.simulating import simulate
from toolbus_approvals.core.values import check_values
from toolbus_contracts.calls import Call
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Conflict, Fault, NotFound, Refused, Unavailable
from toolbus_contracts.tools import JsonObject, Tool, tool_stream_id
from toolbus_contracts.values import Json, parse_json
from toolbus_contracts.waits import (
    AnswerWait,
    AnyWaitEvent,
    ApproveWait,
    CompleteCall,
    DelegateWait,
    Delegation,
    DenyWait,
    Simulated,
    SimulateWait,
    Spoken,
    Wait,
    evolve_wait,
)
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Decided, Snapshot
from toolbus_runtime.payloads import PayloadStore, is_reference, keep_large

PROJECTION = "projection:approvals"
OPENING_S = 2.0  # a call tells of its wait before the wait is there: so long it is waited for
LOOK_S = 0.02
WAIT_ID = re.compile(r"wait_[0-9a-f]{32}")
LATE_KIND = "wait.answer_came_late.v1"
CheckArguments = Callable[[str, str, Json], Awaitable[tuple[Fault, ...]]]
Speak = Callable[[Wait, Spoken, Sequence[Delegation]], Sequence[AnyWaitEvent]]


class Desk:
    """
    Words about waits, and (`grants`, `delegations`) about what is given beforehand; on disk before they are answered.

    Raises, everywhere: `NotFound` for what the tenant does not have, `Unavailable`, `StreamMoved`.
    """

    def __init__(
        self,
        batcher: Batcher,
        queries: Queries,
        *,
        check_arguments: CheckArguments,
        payloads: PayloadStore,
    ) -> None:
        self._streams = Streams(batcher)
        self._queries = queries
        self.grants = Grants(self._streams, queries)
        self.delegations = Delegations(self._streams, queries)
        self._check_arguments = check_arguments
        self._payloads = payloads

    async def wait(self, tenant: str, wait_id: str) -> Wait:
        """
        A wait as it stands; one that was asked for a moment ago is waited for.

        Raises:
            NotFound: there is none.
            Unavailable: it may be among those that nobody has opened yet.
        """
        may_come = WAIT_ID.fullmatch(wait_id) is not None
        deadline = asyncio.get_running_loop().time() + (OPENING_S if may_come else 0.0)
        while (found := await self._read(tenant, wait_id)) is None:
            if asyncio.get_running_loop().time() >= deadline:
                if may_come and await self._queries.has_unopened():
                    raise Unavailable(f"wait {wait_id} is not there yet: some are still to be opened")
                raise NotFound(f"there is no wait {wait_id}")
            await asyncio.sleep(LOOK_S)
        return found

    async def list(
        self, tenant: str, wanted: WaitFilter, *, before: int | None, limit: int
    ) -> tuple[list[Wait], int | None]:
        """A page of waits, newest first, and the place behind which the next page begins."""
        rows = await self._queries.waits(tenant, wanted, before=before, limit=limit)
        streams = [stream_name(tenant, WAIT, wait_id) for wait_id, _ in rows]
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

    async def approve(self, tenant: str, wait_id: str, command: ApproveWait, who: Spoken) -> Wait:
        """
        Agree, perhaps to other arguments.

        Raises:
            Refused: `not_an_approver`; `edit_not_allowed`; `invalid_arguments`, by their paths.
            Conflict: `digest_mismatch`; `wrong_wait_kind`; `wait_closed`, and the word is on the record.
        """
        edited_digest = None
        if command.arguments is not None:
            wait = await self.wait(tenant, wait_id)
            slim = await keep_large(self._payloads, tenant, command.arguments)
            edited_digest = digest_with(wait, tenant, slim)
            if edited_digest != command.digest and not is_over(wait, who.at):
                await self._must_fit(tenant, wait, command.arguments)
            command = command.model_copy(update={"arguments": slim})

        def speak(wait: Wait, now: Spoken, delegations: Sequence[Delegation]) -> Sequence[AnyWaitEvent]:
            return decide_approve(command, wait, now, delegations=delegations, edited_digest=edited_digest)

        return await self._decided(tenant, wait_id, who, speak)

    async def deny(self, tenant: str, wait_id: str, command: DenyWait, who: Spoken) -> Wait:
        """
        Say no.

        Raises:
            Refused: `not_an_approver`.
            Conflict: `digest_mismatch`; `wrong_wait_kind`; `wait_closed`, and the word is on the record.
        """

        def speak(wait: Wait, now: Spoken, delegations: Sequence[Delegation]) -> Sequence[AnyWaitEvent]:
            return decide_deny(command, wait, now, delegations=delegations)

        return await self._decided(tenant, wait_id, who, speak)

    async def answer(self, tenant: str, wait_id: str, command: AnswerWait, who: Spoken) -> Wait:
        """
        Supply values.

        Raises:
            Refused: `invalid_request`, by the paths of the values.
            Conflict: `digest_mismatch`; `wrong_wait_kind`; `wait_closed`, and that somebody answered is on the record.
        """
        wait = await self.wait(tenant, wait_id)
        faults = check_values(wait.ask_user, command.values) if wait.ask_user else ()
        arguments = None
        if not wait.is_from_server:
            whole = await self._whole(tenant, wait.arguments)
            arguments = await keep_large(self._payloads, tenant, merged(whole, command.values))

        def speak(wait: Wait, now: Spoken, _: Sequence[Delegation]) -> Sequence[AnyWaitEvent]:
            return decide_answer(command, wait, now, faults=faults, tenant=tenant, arguments=arguments)

        return await self._said(tenant, wait_id, who, speak)

    async def delegate(self, tenant: str, wait_id: str, command: DelegateWait, who: Spoken) -> Wait:
        """
        Let somebody else decide this wait in the speaker's place.

        Raises:
            Refused: `not_an_approver`; `invalid_request`.
            Conflict: `wait_closed`; `wrong_wait_kind`.
        """

        def speak(wait: Wait, now: Spoken, _: Sequence[Delegation]) -> Sequence[AnyWaitEvent]:
            return decide_delegate(command, wait, now)

        return await self._said(tenant, wait_id, who, speak)

    async def complete(self, tenant: str, call_id: str, command: CompleteCall, who: Spoken) -> Wait:
        """
        Tell what a client's function came to; the same answer again is the same answer.

        Raises:
            Conflict: `answer_taken`; `wrong_wait_kind`; `wait_closed`, and that somebody answered is on the record.
        """
        call: Call | None = await self._streams.states.read(tenant, CALL, call_id)
        if call is None:
            raise NotFound(f"there is no call {call_id}")
        if not call.waits:
            raise Conflict("wrong_wait_kind", f"call {call_id} waits for no answer")
        output = await keep_large(self._payloads, tenant, command.output)
        taken = command.model_copy(update={"output": output})

        def speak(wait: Wait, now: Spoken, _: Sequence[Delegation]) -> Sequence[AnyWaitEvent]:
            return decide_complete(taken, wait, now)

        return await self._said(tenant, wait_id_for_call(call_id, call.waits), who, speak)

    async def _decided(self, tenant: str, wait_id: str, who: Spoken, speak: Speak) -> Wait:
        """Speak with all that was delegated; who seems to have no right has the newest delegations looked up."""
        ids = await self._queries.delegations_to(tenant, who.subject, who.at)
        try:
            return await self._said(tenant, wait_id, who, speak, delegated=ids)
        except Refused as error:
            if error.code != "not_an_approver" or not await self._caught_up():
                raise
            newest = await self._queries.delegations_to(tenant, who.subject, who.at)
            if set(newest) <= set(ids):
                raise
            return await self._said(tenant, wait_id, who, speak, delegated=newest)

    async def _said(
        self, tenant: str, wait_id: str, who: Spoken, speak: Speak, *, delegated: Sequence[str] = ()
    ) -> Wait:
        wait = await self.wait(tenant, wait_id)
        streams = ((CALL, wait.call_id), *((DELEGATION, delegation_id) for delegation_id in delegated))
        decided = await self._streams.submit(
            tenant,
            WAIT,
            wait_id,
            _rule(tenant, who, speak, delegated),
            actor=actor_of(who),
            needs=tuple(stream_name(tenant, category, subject_id) for category, subject_id in streams),
        )
        return _spoken(decided)

    async def _read(self, tenant: str, wait_id: str) -> Wait | None:
        found: Wait | None = await self._streams.states.read(tenant, WAIT, wait_id)
        return found

    async def _must_fit(self, tenant: str, wait: Wait, arguments: JsonObject) -> None:
        found = await self._check_arguments(tenant, wait.call_id, arguments)
        faults = tuple(Fault(f"/arguments{fault.path}", fault.message) for fault in found)
        if faults:
            raise Refused("invalid_arguments", f"the arguments do not fit: {faults[0].message}", faults)

    async def _whole(self, tenant: str, arguments: Json) -> Json:
        """The arguments that values can be laid over: large ones may stand for all of them."""
        if not is_reference(arguments):
            return arguments
        name = str(arguments[PAYLOAD_KEY])
        body = await self._payloads.get_payload(tenant, name)
        if body is None:
            raise NotFound(f"there is no payload {name}")
        return parse_json(body)

    async def _caught_up(self) -> bool:
        """Whether the read tables hold what the log held just now, within the time that a person waits."""
        newest = await self._queries.newest()
        deadline = asyncio.get_running_loop().time() + OPENING_S
        while await self._queries.position(PROJECTION) < newest:
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(LOOK_S)
        return True


def _rule(tenant: str, who: Spoken, speak: Speak, delegated: Sequence[str]) -> Rule:
    """What is said, at the moment of the decision; it holds only as long as neither call nor delegations change."""

    def rule(wait: Wait, snapshot: Snapshot, now: datetime) -> Sequence[AnyWaitEvent]:
        delegations = [snapshot.of(tenant, DELEGATION, found) for found in delegated]
        spoken = who.model_copy(update={"at": now})
        if not wait.is_open:
            return speak(wait, spoken, delegations)
        gone = decide_gone(wait, snapshot.of(tenant, CALL, wait.call_id), now=now)
        left: Wait | None = wait
        for event in gone:
            left = evolve_wait(left, event)
        return (*gone, *speak(left or wait, spoken, delegations))

    return rule


def _spoken(decided: Decided) -> Wait:
    """
    The wait after the word was taken.

    Raises:
        Conflict: `wait_closed`, it came late.
    """
    wait: Wait = decided.state
    late = next((event for event in decided.events if event.kind == LATE_KIND), None)
    if late is not None:
        raise over(wait, late.recorded_at)
    return wait
