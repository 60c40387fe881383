"""Large outputs of a provider's process are held one after the other where there is room for no more."""

import asyncio
from collections.abc import Callable

from tests.integration.integrations.shelf import MIB, MISBEHAVING, Started, asked
from tests.unit.api_caller.handling import Delivered, FakeBus
from tests.unit.api_caller.making import READ
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.work import WorkItem
from toolbus_integrations.effect import IntegrationEffect
from toolbus_integrations.host.messages import Ended, Gave, Perform
from toolbus_integrations.hosting.hosts import Hosts
from toolbus_runtime.executing.body_budget import BodyBudget
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.dispatcher import Dispatcher
from toolbus_runtime.executing.executor import Executor
from toolbus_runtime.executing.runs import Runs

CALLS = 12
LARGE_BYTES = 9 * MIB
OUTPUT_BYTES = 3 * MIB
ROOM = 2  # calls at once


class Counted:
    """Hosts, and how many calls were at work in them at once."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self.view, self.check, self.pause_s = hosts.view, hosts.check, hosts.pause_s
        self.at_work = 0
        self.most_at_work = 0

    async def perform(self, name: str, asked: Perform, on_sent: Callable[[], None], stop: asyncio.Event) -> Ended:
        """As theirs."""
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            return await self._hosts.perform(name, asked, on_sent, stop)
        finally:
            self.at_work -= 1


def work(number: int) -> WorkItem:
    """A call of the method that gives many bytes."""
    section = {"provider": MISBEHAVING, "method": "bloat"}
    bound = OUTPUT_BYTES + MIB
    return WorkItem(
        call_id=f"call_{number:032}",
        tenant="acme",
        execution_id="exec_00000000000000000000000000000001",
        attempt=1,
        needs_start=False,
        definition=ToolDefinition.model_validate({"name": "t", "integration": section, "max_output_bytes": bound}),
        arguments={"number": OUTPUT_BYTES},
        terms=READ,
    )


async def test_many_large_outputs_are_held_within_the_budget(started: Started) -> None:
    """All arrive; no more calls are at work at once than there is room for."""
    bus, clock = FakeBus(), SystemClock()
    hosts, budget = Counted(started.hosts), BodyBudget(ROOM * (OUTPUT_BYTES + MIB))
    effect = IntegrationEffect(hosts, clock, is_known=lambda _: True)  # type: ignore[arg-type]  # as much of them
    dispatcher = Dispatcher(bus, clock, executor="me", patience_s=10.0)
    executor = Executor(bus, effect, dispatcher, clock, runs=Runs(budget), takes_room=True)
    await asyncio.gather(*(executor.on_work(Delivered(work(number))) for number in range(CALLS)))
    assert [told.result for told in bus.told] == ["succeeded"] * CALLS
    assert hosts.most_at_work == ROOM
    assert budget.free_bytes == ROOM * (OUTPUT_BYTES + MIB)


async def test_a_process_that_gives_many_large_outputs_is_not_taken_for_dead(started: Started) -> None:
    """They are written one after the other, and in between it gives a sign of life."""
    roomy = Started(memory_bytes=1024 * MIB)
    try:
        question = asked("bloat", number=LARGE_BYTES)
        calls = (roomy.hosts.perform(MISBEHAVING, question, lambda: None, asyncio.Event()) for _ in range(CALLS))
        found = await asyncio.gather(*calls)
    finally:
        await roomy.hosts.close()
    assert all(isinstance(one, Gave) and len(one.output["text"]) == LARGE_BYTES for one in found)
    assert roomy.starts == [MISBEHAVING]
    assert not started.starts  # it only puts the provider where it is found
