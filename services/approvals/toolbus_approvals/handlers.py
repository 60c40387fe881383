"""
What the approvals service hears and asks on the bus.

    toolbus.wake            another process committed                         Handlers.on_wake
    toolbus.intask.check    asked of the dispatcher: do these arguments fit?  Handlers.check_arguments
    toolbus.intask.settle   asked of the dispatcher, for people               Handlers.settle
    toolbus.ask.<tenant>.call.complete   answered once it shows in the call   Handlers.on_complete
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from toolbus_approvals.completing import Completing, answer_in
from toolbus_contracts import subjects
from toolbus_contracts.calls import SettleDoubt, SettleForPerson, view_call
from toolbus_contracts.errors import Fault, Refused, Unavailable, Unreadable
from toolbus_contracts.keys import Actor, Key
from toolbus_contracts.values import Json, parse_json
from toolbus_contracts.waits import CompleteByToken
from toolbus_runtime import waking
from toolbus_runtime.bus.answering import Answer, answer
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming
from toolbus_runtime.commands import parsed
from toolbus_runtime.feed import Feed

ASK_TIMEOUT_S = 5.0
QUEUE = "approvals"


@dataclass(frozen=True)
class Handlers:
    """What each message means, and what the dispatcher is asked."""

    bus: Bus
    feed: Feed

    async def listen(self) -> None:
        """Listen for the commits of others."""
        await self.bus.subscribe(subjects.WAKE, self.on_wake)

    async def serve(self, completing: Completing) -> None:
        """Listen for clients that complete their calls."""

        async def on_complete(message: Incoming) -> None:
            await answer(self.bus, message, lambda: self.on_complete(message, completing))

        await self.bus.subscribe(subjects.ASK_COMPLETE, on_complete, queue=QUEUE)

    async def on_complete(self, message: Incoming, completing: Completing) -> Answer:
        """
        The call after its client's answer was taken; nobody is let in but by the call's own token.

        Raises: as `Completing.by_token`; `NotAllowed` for the token of another tenant.
        """
        body = parse_json(message.data)
        if not isinstance(body, dict):
            raise Unreadable("invalid_request", "not a JSON object", (Fault("", "not an object"),))
        said, within = parsed(CompleteByToken, body), subjects.tenant_of(message.subject)
        command = answer_in({name: body[name] for name in body.keys() - {"call_id", "token"}})
        tenant, call = await completing.by_token(said.call_id, command, token=said.token, within=within)
        view = view_call(call, tenant=tenant, now=datetime.now(UTC))
        return {"status": 200, "call": view.model_dump(mode="json")}

    def on_wake(self, message: Incoming) -> None:
        """Another process committed something."""
        wake = waking.read(message.data)
        if wake is not None:
            self.feed.hear(wake)

    async def settle(self, tenant: str, command: SettleDoubt, key: Key) -> None:
        """
        Settle a call in doubt for somebody who signed in with this key.

        Raises:
            Refused: what the dispatcher has against it, with its code.
            Unavailable: no answer; whether it was settled, the call tells.
        """
        actor = Actor(subject=key.subject, key_id=key.key_id, via="http")
        said = SettleForPerson(tenant=tenant, actor=actor, settlement=command)
        reply = await self.bus.request(subjects.SETTLE, said.model_dump_json().encode(), timeout_s=ASK_TIMEOUT_S)
        told = orjson.loads(reply.data).get("problem")
        if told is not None:
            raise Refused(told["code"], told["detail"])

    async def check_arguments(self, tenant: str, call_id: str, arguments: Json) -> tuple[Fault, ...]:
        """
        What is wrong with these arguments for this call, as the dispatcher says.

        Raises:
            Unavailable: no answer.
        """
        question = {"tenant": tenant, "call_id": call_id, "arguments": arguments}
        reply = await self.bus.request(subjects.CHECK, orjson.dumps(question), timeout_s=ASK_TIMEOUT_S)
        answer = orjson.loads(reply.data)
        if "faults" not in answer:
            raise Unavailable("the dispatcher gave no answer to check")
        return tuple(Fault(fault["path"], fault["message"]) for fault in answer["faults"])
