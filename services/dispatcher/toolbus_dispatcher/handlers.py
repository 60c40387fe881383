"""
The routing table of the dispatcher: bus message → core.

    toolbus.cmd.<tenant>.call.submit | cancel      durable, at least once          Handlers.on_command
    toolbus.int.dispatcher.outcome                 durable, at least once          Handlers.on_outcome
    toolbus.ask.<tenant>.call.submit | get | cancel    answered after the commit   Handlers.on_ask
    toolbus.intask.start                           answered after the commit       Handlers.on_start
    toolbus.intask.check                           answered from the log           Handlers.on_check
    toolbus.intask.settle                          answered after the commit       Handlers.on_settle
    toolbus.wake                                   another process committed       Handlers.on_wake

What exceptions mean to a durable is decided in `toolbus_runtime.bus.acking`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

import orjson
import structlog
from faststream.nats import NatsMessage, NatsRouter

from toolbus_contracts import digests, subjects
from toolbus_contracts.calls import (
    Call,
    CancelCall,
    CheckArguments,
    GetCall,
    RecordOutcome,
    SettleForPerson,
    StartAttempt,
    view_call,
)
from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.keys import Actor
from toolbus_contracts.problems import problem, problem_of_call
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.core.calls import known
from toolbus_dispatcher.core.envelopes import Told, name_in, read_command
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.messages import percent_encoded
from toolbus_dispatcher.resuming import Checking
from toolbus_runtime import waking
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus import answering
from toolbus_runtime.bus.answering import Answer
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.listening import Incoming
from toolbus_runtime.commands import new_id, parsed
from toolbus_runtime.feed import Feed

log = structlog.get_logger(__name__)
QUEUE = "dispatcher"
MAX_ID_CHARS = 255
ELSEWHERE = "call.complete"  # another service answers there
ASKS_AT_ONCE = 1024  # one at a time would mean one commit at a time


@dataclass(frozen=True)
class Handlers:
    """What each message of the routing table does."""

    bus: Bus
    batcher: Batcher
    intake: Intake
    lifecycle: Lifecycle
    holding: Holding
    feed: Feed
    checking: Checking

    async def on_command(self, delivery: Delivery) -> None:
        """Decide a command from the bus; what cannot become a call is told back as a refusal event."""
        _, _, tenant, _, verb = delivery.subject.split(".")
        message_id = name_in(delivery.headers) or f"{delivery.stream}-{delivery.sequence}"
        try:
            told = read_command(delivery.data, delivery.headers, verb)
            message_id = told.message_id or message_id
            await self._command(tenant, verb, told, delivery)
        except (Refused, Unreadable) as error:
            await self.bus.publish(
                subjects.refusal(tenant, message_id),
                orjson.dumps(problem(error)),
                _refusal_headers(message_id),
            )
            raise

    async def _command(self, tenant: str, verb: str, told: Told, delivery: Delivery) -> None:
        actor = bus_actor(tenant, "bus")
        if verb == "submit":
            has_key = told.body.get("idempotency_key") is not None
            call_id = None if has_key else message_call_id(tenant, delivery)
            size, trace = len(delivery.data), told.traceparent
            await self.intake.submit(
                told.body, tenant=tenant, actor=actor, call_id=call_id, size=size, traceparent=trace
            )
        else:
            command = parsed(CancelCall, told.body)
            causation_id = "bus:" + message_call_id(tenant, delivery)
            await self.lifecycle.cancel(command, tenant=tenant, actor=actor, causation_id=causation_id)

    async def on_outcome(self, delivery: Delivery) -> None:
        """Record what an executor found out."""
        await self.lifecycle.record(parsed(RecordOutcome, delivery.data), size=len(delivery.data))

    async def on_ask(self, message: Incoming) -> None:
        """Answer a request after the commit: a call, or a problem. Completing is for the service that holds waits."""
        tokens = message.subject.split(".")
        tenant, verb = tokens[2], ".".join(tokens[3:])
        if verb == ELSEWHERE:
            return
        await self._answer(message, lambda: self._ask(tenant, verb, message))

    async def _ask(self, tenant: str, verb: str, message: Incoming) -> Answer:
        noun, _, verb = verb.partition(".")
        if noun != "call" or verb not in subjects.ASK_VERBS:
            raise Unreadable("unknown_command", f"nothing answers on {message.subject}")
        told = read_command(message.data, message.headers, verb)
        match verb:
            case "submit":
                call = await self._submitted(tenant, told, len(message.data))
            case "cancel":
                call = await self._cancelled(tenant, parsed(CancelCall, told.body))
            case _:
                call_id = parsed(GetCall, told.body).call_id
                call = known(await self.batcher.states.read(tenant, CALL, call_id), call_id)
        return _call_answer(call, tenant, self.holding.explain(call.id))

    async def _submitted(self, tenant: str, told: Told, size: int) -> Call:
        actor = bus_actor(tenant, "ask")
        decided = await self.intake.submit(
            told.body, tenant=tenant, actor=actor, size=size, traceparent=told.traceparent
        )
        call: Call = decided.state
        return call

    async def _cancelled(self, tenant: str, command: CancelCall) -> Call:
        actor = bus_actor(tenant, "ask")
        decided = await self.lifecycle.cancel(command, tenant=tenant, actor=actor, causation_id=new_id("cmd"))
        call: Call = decided.state
        return call

    async def on_start(self, message: Incoming) -> None:
        """Tell an executor whether it may make an unsafe effect; `go` is on disk before it is told."""

        async def start() -> Answer:
            answer = await self.lifecycle.start(parsed(StartAttempt, message.data))
            return answer.model_dump(mode="json")

        await self._answer(message, start)

    async def on_check(self, message: Incoming) -> None:
        """Tell the service that holds waits whether a call could go on with these arguments."""

        async def check() -> Answer:
            faults = await self.checking.check(parsed(CheckArguments, message.data))
            return faults.model_dump(mode="json")

        await self._answer(message, check)

    async def on_settle(self, message: Incoming) -> None:
        """Settle a doubt for a person whom another service let in."""

        async def settle() -> Answer:
            said = parsed(SettleForPerson, message.data)
            decided = await self.lifecycle.settle(said.settlement, tenant=said.tenant, actor=said.actor)
            return _call_answer(decided.state, said.tenant, None)

        await self._answer(message, settle)

    def on_wake(self, message: Incoming) -> None:
        """Another process committed something."""
        wake = waking.read(message.data)
        if wake is not None:
            self.feed.hear(wake)

    async def _answer(self, message: Incoming, work: Callable[[], Awaitable[Answer]]) -> None:
        await answering.answer(self.bus, message, work)

    async def listen(self) -> None:
        """
        Listen on the subjects that every unsafe effect and every commit passes.

        A FastStream subscriber costs 560 µs of CPU a message where this costs 120.
        """
        await self.bus.subscribe(subjects.START, self.on_start, queue=QUEUE)
        await self.bus.subscribe(subjects.CHECK, self.on_check, queue=QUEUE)
        await self.bus.subscribe(subjects.SETTLE, self.on_settle, queue=QUEUE)
        await self.bus.subscribe(subjects.WAKE, self.on_wake)


@lru_cache(maxsize=1024)
def bus_actor(tenant: str, via: str) -> Actor:
    """Who speaks on the bus: the client user of the tenant that the server let in."""
    return Actor.model_validate({"subject": f"service:{subjects.client(tenant).name}", "via": via})


def message_call_id(tenant: str, delivery: Delivery) -> str:
    """What a message without a key stands for, the same on every delivery of it."""
    return digests.call_id_for_message(tenant, delivery.stream_created, delivery.sequence, delivery.stored_at)


def _call_answer(call: Call, tenant: str, held: str | None) -> Answer:
    refusal = problem_of_call(call)
    if refusal is not None:
        return {"status": refusal["status"], "problem": refusal}
    view = view_call(call, tenant=tenant, now=datetime.now(UTC), held=held)
    return {"status": 200 if call.is_terminal else 202, "call": view.model_dump(mode="json")}


def _refusal_headers(message_id: str) -> Mapping[str, str]:
    return {
        "ce-specversion": "1.0",
        "ce-id": f"{percent_encoded(message_id[:MAX_ID_CHARS])}-refused",
        "ce-source": "/toolbus/dispatcher",
        "ce-type": "toolbus.command.refused.v1",
        "ce-datacontenttype": "application/json",
    }


def make_router(handlers: Handlers) -> NatsRouter:
    """The subjects on which anybody may ask, as a FastStream router."""
    router = NatsRouter()

    @router.subscriber("toolbus.ask.>", queue=QUEUE, no_reply=True, decoder=_as_bytes, max_workers=ASKS_AT_ONCE)
    async def on_ask(message: NatsMessage) -> None:
        raw = message.raw_message
        await handlers.on_ask(Incoming(raw.subject, raw.data, raw.headers or {}, raw.reply))

    return router


async def _as_bytes(message: NatsMessage) -> bytes:
    """Leave the body alone: our own reader names every fault by its path."""
    return message.body
