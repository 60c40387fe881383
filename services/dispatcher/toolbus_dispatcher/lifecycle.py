"""Lifecycle: what HTTP, bus, executors and the leader have to say about a call that was taken."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from toolbus_contracts.calls import (
    AnyCallEvent,
    Call,
    CancelCall,
    DoubtAttempt,
    RecordOutcome,
    RecordProbe,
    ReleaseCall,
    SettleDoubt,
    StartAnswer,
    StartAttempt,
)
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.keys import Actor
from toolbus_contracts.work import PAYLOAD_THRESHOLD_BYTES
from toolbus_dispatcher.adapters.payloads import PayloadBus, collect
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.core.approved import UNSEEN, ByNow, names_a_tool
from toolbus_dispatcher.core.budgets import RetryBudgets
from toolbus_dispatcher.core.calls import decide_cancel, decide_expire, decide_release, decide_start, known
from toolbus_dispatcher.core.finding import stored_for
from toolbus_dispatcher.core.outcomes import decide_doubt, decide_outcome, decide_probe, decide_settle
from toolbus_dispatcher.looking import stored_in, tools_in
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Command, Decide, Decided, Snapshot
from toolbus_runtime.payloads import keep_large
from toolbus_runtime.store.port import EventStore

INTERNAL_ACTOR: Final = Actor(subject="service:dispatcher", via="internal")


@lru_cache(maxsize=1024)
def executor_actor(executor: str) -> Actor:
    """Who speaks when an executor (`service@host:process`) reports."""
    return Actor(subject=f"service:{executor.partition('@')[0]}", via="internal")


def by_now(snapshot: Snapshot, tenant: str, call: Call | None) -> ByNow:
    """What a call names as it is now, where an approval depends on that."""
    if call is None or call.tool_scope is None or call.tool_type is None or call.approval is None:
        return UNSEEN

    tool = tools_in(snapshot, tenant)(call.tool_scope, call.tool) if names_a_tool(call) else None
    return ByNow(tool, stored_for(call.context, call.tool, call.tool_type, stored_in(snapshot, tenant)))


class Lifecycle:
    """Turns what is said about a call into commands for the batcher, and waits for what they come to."""

    def __init__(self, batcher: Batcher, store: EventStore, bus: PayloadBus) -> None:
        self._batcher = batcher
        self._store = store
        self._bus = bus
        self._budgets = RetryBudgets()

    async def cancel(self, command: CancelCall, *, tenant: str, actor: Actor, causation_id: str) -> Decided:
        """Stop a call. Raises: NotFound, Conflict."""

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            call = known(snapshot.of(tenant, CALL, command.call_id), command.call_id)
            return decide_cancel(command, call, now=now)

        return await self._about(tenant, command.call_id, decide, causation_id=causation_id, actor=actor)

    async def settle(self, command: SettleDoubt, *, tenant: str, actor: Actor) -> Decided:
        """Record what a person found out about a call in doubt. Raises: NotFound, Conflict."""
        command = command.model_copy(update={"output": await keep_large(self._store, tenant, command.output)})

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            call = known(snapshot.of(tenant, CALL, command.call_id), command.call_id)
            return decide_settle(command, call, executor=actor.subject, now=now)

        return await self._about(tenant, command.call_id, decide, causation_id=new_id("cmd"), actor=actor)

    async def start(self, command: StartAttempt) -> StartAnswer:
        """Answer an executor that is about to make an unsafe effect; a `go` is committed before it is given."""

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            call: Call | None = snapshot.of(command.tenant, CALL, command.call_id)
            return decide_start(command, call, by_now=by_now(snapshot, command.tenant, call), now=now)[0]

        causation_id = f"start:{command.call_id}:{command.attempt}:{command.start_id}"
        actor = executor_actor(command.executor)
        decided = await self._about(command.tenant, command.call_id, decide, causation_id=causation_id, actor=actor)
        now = self._batcher.clock()
        answer = decide_start(command, decided.state, now=now)[1]  # what the committed state says
        return answer.model_copy(update={"answered_at": now})

    async def record(self, command: RecordOutcome, *, size: int) -> Decided:
        """Record what an executor found out about an attempt."""
        tenant = command.tenant
        output = await collect(self._store, self._bus, tenant, command.output)
        if size > PAYLOAD_THRESHOLD_BYTES:
            output = await keep_large(self._store, tenant, output)
        if output is not command.output:
            command = command.model_copy(update={"output": output})

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            call: Call | None = snapshot.of(tenant, CALL, command.call_id)
            may_retry = call is None or self._budgets.has_left(tenant, call, now)
            return decide_outcome(command, call, may_retry=may_retry, now=now)

        causation_id = f"outcome:{command.call_id}:{command.attempt}:{command.delivery_id}"
        actor = executor_actor(command.executor)
        decided = await self._about(tenant, command.call_id, decide, causation_id=causation_id, actor=actor)
        self._budgets.count(tenant, decided.state, decided.events)
        return decided

    def release(self, tenant: str, command: ReleaseCall, is_leading: Callable[[], bool]) -> asyncio.Future[Decided]:
        """
        Give a call that was held, or whose next attempt is due, to the executors; decided when the future is done.

        Raises:
            Unavailable: too many commands wait already; in the future, when another dispatcher leads by now.
        """

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            if not is_leading():
                raise Unavailable("another dispatcher may lead by now")
            return decide_release(command, snapshot.of(tenant, CALL, command.call_id), now=now)

        causation_id = f"release:{command.call_id}:{command.attempt}"
        return self._batcher.enqueue(Command(tenant, CALL, command.call_id, causation_id, INTERNAL_ACTOR, decide))

    async def probed(self, tenant: str, command: RecordProbe) -> Decided:
        """Record what a probe found out about a call in doubt."""
        command = command.model_copy(update={"output": await keep_large(self._store, tenant, command.output)})

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            return decide_probe(command, snapshot.of(tenant, CALL, command.call_id), now=now)

        causation_id = f"probe:{command.call_id}:{command.attempt}"
        return await self._about(tenant, command.call_id, decide, causation_id=causation_id, actor=INTERNAL_ACTOR)

    async def expire(self, tenant: str, call_id: str) -> Decided:
        """End a call whose deadline passed."""

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            return decide_expire(snapshot.of(tenant, CALL, call_id), now=now)

        return await self._about(tenant, call_id, decide, causation_id=f"expire:{call_id}", actor=INTERNAL_ACTOR)

    async def doubt(self, tenant: str, command: DoubtAttempt) -> Decided:
        """Say that nobody knows what became of a started attempt."""

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[AnyCallEvent]:
            return decide_doubt(command, snapshot.of(tenant, CALL, command.call_id), now=now)

        causation_id = f"doubt:{command.call_id}:{command.attempt}"
        return await self._about(tenant, command.call_id, decide, causation_id=causation_id, actor=INTERNAL_ACTOR)

    async def _about(self, tenant: str, call_id: str, decide: Decide, *, causation_id: str, actor: Actor) -> Decided:
        return await self._batcher.submit(Command(tenant, CALL, call_id, causation_id, actor, decide))
