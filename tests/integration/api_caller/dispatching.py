"""A dispatcher of our own, for an executor as a process on a real bus."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.integration.api_caller.raw_target import RawTarget
from tests.unit.api_caller.making import item
from toolbus_contracts import subjects
from toolbus_contracts.calls import RecordOutcome, StartAnswer, StartAttempt
from toolbus_contracts.work import WorkItem
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.listening import Incoming


@dataclass
class FakeDispatcher:
    """Gives out work, answers starts with `verdict`, and keeps the outcomes."""

    bus: Bus
    verdict: str = "go"
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[StartAttempt] = field(default_factory=list)
    told: list[RecordOutcome] = field(default_factory=list)

    async def on_start(self, message: Incoming) -> None:
        """Answer a start; `silent` is no answer."""
        self.asked.append(StartAttempt.model_validate_json(message.data))
        now = datetime.now(UTC)
        if self.verdict == "silent":
            return
        await self.may_answer.wait()
        times = {"start_by": now + timedelta(seconds=10), "stop_by": now + timedelta(seconds=60)}
        answer = StartAnswer.model_validate({"verdict": self.verdict, **(times if self.verdict != "drop" else {})})
        await self.bus.respond(message, answer.model_dump_json().encode())

    async def tell_event(self, work: WorkItem, kind: str, **data: object) -> None:
        """An event of the call was told; whatever is told afterwards is heard after it."""
        subject = subjects.event(work.tenant, "call", work.call_id, f"call.{kind}.v1")
        await self.bus.publish(
            subject, json.dumps({"call_id": work.call_id, "at": "2030-01-01T00:00:00Z", **data}).encode()
        )

    async def on_outcome(self, delivery: Delivery) -> None:
        """Keep an outcome."""
        self.told.append(RecordOutcome.model_validate_json(delivery.data))

    async def give(self, work: WorkItem) -> None:
        """The work lies on the bus."""
        data = work.model_dump_json(by_alias=True, exclude_none=True).encode()
        await self.bus.publish(subjects.work("api_call", work.tenant), data)

    async def work_left(self) -> int:
        """How many work items are not acknowledged."""
        state = await self.bus.stream_state("WORK")
        assert state is not None
        return state.messages


def work_for(target: RawTarget, method: str, arguments: Any = None, **more: Any) -> WorkItem:
    """A work item for the target."""
    return item({"method": method, "url": f"{target.url}/v1/x"}, arguments, **more)


async def gone(dispatcher: FakeDispatcher) -> bool:
    """Whether all work was acknowledged."""
    return await dispatcher.work_left() == 0
