"""
What the approvals service hears and asks on the bus.

    toolbus.wake            another process committed                         Handlers.on_wake
    toolbus.intask.check    asked of the dispatcher: do these arguments fit?  Handlers.check_arguments
"""

from dataclasses import dataclass

import orjson

from toolbus_contracts import subjects
from toolbus_contracts.errors import Fault, Unavailable
from toolbus_contracts.values import Json
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming
from toolbus_runtime.feed import Feed

ASK_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Handlers:
    """What each message means, and what the dispatcher is asked."""

    bus: Bus
    feed: Feed

    async def listen(self) -> None:
        """Listen for the commits of others."""
        await self.bus.subscribe(subjects.WAKE, self.on_wake)

    def on_wake(self, message: Incoming) -> None:
        """Another process committed up to this position."""
        if message.data.isdigit():
            self.feed.wake(int(message.data))

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
