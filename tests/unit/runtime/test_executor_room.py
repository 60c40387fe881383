"""An executor whose answers cannot be left where they are takes room for them before their effects begin."""

import asyncio
from datetime import datetime, timedelta

from tests.nats_fixtures import until
from tests.unit.api_caller.handling import GO, Delivered, FakeBus, FrozenClock
from tests.unit.api_caller.making import NOW, READ, UNSAFE, item
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.tools import Terms
from toolbus_contracts.work import PAYLOAD_THRESHOLD_BYTES, WorkItem
from toolbus_runtime.executing.body_budget import BodyBudget
from toolbus_runtime.executing.dispatcher import Dispatcher
from toolbus_runtime.executing.executor import Executor
from toolbus_runtime.executing.runs import Run, Runs
from toolbus_runtime.secrets.held import HeldSecrets

MIB = 1024 * 1024


class Bringing:
    """An effect that ends when it is told to, and brings so many bytes."""

    def __init__(self, brings: int = 0) -> None:
        self.brings = brings
        self.at_work = 0
        self.most_at_work = 0
        self.go_on = asyncio.Event()

    async def prepare(self, item: WorkItem, held: HeldSecrets, *, is_large: bool) -> None:
        """Nothing is refused."""
        del item, held, is_large

    async def perform(self, item: WorkItem, prepared: None, permit: Permit, run: Run) -> Outcome:
        """Wait, and bring it."""
        del item, prepared, permit, run
        self.at_work += 1
        self.most_at_work = max(self.at_work, self.most_at_work)
        await self.go_on.wait()
        self.at_work -= 1
        return Outcome("succeeded", output={"x": None}, large={"x": b"x" * self.brings})


class Executing:
    """An executor with a budget, and what it asks and tells."""

    def __init__(self, effect: Bringing, budget: BodyBudget, starts: int = 0, clock: FrozenClock | None = None) -> None:
        self.bus = FakeBus([GO] * starts)
        self.clock = clock or FrozenClock()
        dispatcher = Dispatcher(self.bus, self.clock, executor="me", patience_s=10.0)
        self.executor = Executor(self.bus, effect, dispatcher, self.clock, runs=Runs(budget), takes_room=True)

    def begin(self, number: int, terms: Terms, **more: object) -> "asyncio.Task[None]":
        """One delivery, being carried out."""
        work = item({}, terms=terms, call_id=f"call_{number:032}", needs_start=terms == UNSAFE, **more)
        return asyncio.create_task(self.executor.on_work(Delivered(work)))


async def test_no_more_are_at_work_than_there_is_room_for() -> None:
    """Each takes what its tool may bring; whoever waits has asked for no start yet, so that nothing is in doubt."""
    effect, budget = Bringing(brings=MIB), BodyBudget(20 * MIB)
    made = Executing(effect, budget, starts=5)
    tasks = [made.begin(number, UNSAFE) for number in range(5)]
    await until(lambda: effect.at_work == 2 and budget.is_wanted)
    assert (len(made.bus.asked), budget.free_bytes) == (2, 0)
    effect.go_on.set()
    await asyncio.gather(*tasks)
    assert effect.most_at_work == 2
    assert [told.result for told in made.bus.told] == ["succeeded"] * 5
    assert budget.free_bytes == 20 * MIB


async def test_what_is_not_needed_is_free_when_the_answer_is_there() -> None:
    """Until it is told, only its own bytes are held."""
    effect, budget = Bringing(brings=MIB), BodyBudget(20 * MIB)
    effect.go_on.set()
    made = Executing(effect, budget)
    seen: list[int] = []
    keep = made.bus.put_payload

    async def put_payload(digest: str, body: bytes) -> None:
        seen.append(budget.free_bytes)
        await keep(digest, body)

    made.bus.put_payload = put_payload  # type: ignore[method-assign]  # to look at the budget in between
    await made.begin(1, READ)
    assert seen == [19 * MIB - PAYLOAD_THRESHOLD_BYTES]
    assert budget.free_bytes == 20 * MIB


async def test_whoever_waited_past_the_deadline_does_not_begin() -> None:
    """Nobody waits for the answer any more."""
    effect, budget = Bringing(), BodyBudget(MIB)
    held = await budget.take(MIB)
    clock = Turned()
    made = Executing(effect, budget, clock=clock)
    waiting = made.begin(1, READ, deadline_at=NOW + timedelta(seconds=5))
    await until(lambda: budget.is_wanted)
    clock.passed = timedelta(seconds=6)
    budget.give_back(held)
    await waiting
    assert [(told.result, told.error and told.error.code) for told in made.bus.told] == [("failed", "deadline_passed")]
    assert effect.most_at_work == 0
    assert budget.free_bytes == MIB


class Turned(FrozenClock):
    """A calendar that can be turned on."""

    passed = timedelta()

    def now(self) -> datetime:
        """The calendar's time, and what has passed since."""
        return NOW + self.passed
