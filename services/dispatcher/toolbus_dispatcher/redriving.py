"""
Redriving: dead letters go back to the handlers that they died on, in this process, with the identity they had.

Nothing is published anew. A command without a key is the call that its place in its stream stands for: published
again it would stand elsewhere, and become a second call. Only work is sent again, made from the store as it was
the first time, and only while its attempt is still to be made: what an executor does with it is decided by *start*.
"""

from dataclasses import dataclass

import structlog

from toolbus_contracts.calls import Call, RecordOutcome
from toolbus_contracts.dead import Redriven, RedriveOutcome
from toolbus_contracts.errors import Conflict
from toolbus_contracts.keys import Actor
from toolbus_dispatcher.adapters.dead_letters import DeadLetters, delivery_of
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.core.dead import Letter, attempt_in, call_of, check_tenant, destination, is_wanted
from toolbus_dispatcher.handlers import Handlers
from toolbus_dispatcher.messages import Outbox
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.commands import parsed

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Redriving:
    """Deals with dead letters; one that is dealt with twice comes to the same."""

    letters: DeadLetters
    handlers: Handlers
    batcher: Batcher
    outbox: Outbox
    bus: Bus

    async def redrive(self, letter_id: str, *, tenant: str, actor: Actor) -> Redriven:
        """
        The letter was dealt with, and is gone: first the one, then the other.

        Raises:
            NotFound: there is no such letter.
            Conflict: it is none that can be handled again, or its handler says no. The letter stays.
            Unreadable: its handler cannot read it. The letter stays.
            Unavailable: a part that is needed is away. The letter stays.
        """
        letter = await self.letters.find(tenant, letter_id)
        outcome = await self._hand_over(letter)
        await self.letters.remove(letter)
        log.info("letter.redriven", letter=letter.id, tenant=tenant, outcome=outcome, subject=actor.subject)
        return Redriven(id=letter.id, outcome=outcome, call_id=call_of(letter))

    async def _hand_over(self, letter: Letter) -> RedriveOutcome:
        match destination(letter):
            case "command":
                return await self._decide(letter)
            case "outcome":
                return await self._record(letter)
            case "work":
                return await self._send(letter)
            case _:
                raise Conflict(
                    "not_redrivable", f"{letter.id} ({letter.reason}) is no message that can be handled again"
                )

    async def _decide(self, letter: Letter) -> RedriveOutcome:
        delivery = delivery_of(letter)
        delivery.refuse_reflected()
        await self.handlers.on_command(delivery)
        return "decided"

    async def _record(self, letter: Letter) -> RedriveOutcome:
        check_tenant(letter, parsed(RecordOutcome, letter.data).tenant)
        await self.handlers.on_outcome(delivery_of(letter))
        return "recorded"

    async def _send(self, letter: Letter) -> RedriveOutcome:
        call_id, attempt = attempt_in(letter)
        call: Call | None = await self.batcher.states.read(letter.tenant, CALL, call_id)
        if call is None or not is_wanted(call, attempt):
            return "dropped"
        message = await self.outbox.work(letter.tenant, call)
        await self.bus.publish(message.subject, message.data, message.headers)
        return "sent"
