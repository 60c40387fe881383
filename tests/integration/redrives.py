"""A dispatcher's handlers on a real bus and a real store, and letters that were buried there."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from tests.nats_fixtures import until
from tests.pull_fixtures import StartLoop
from tests.unit.runtime.things import background
from toolbus_contracts.calls import Call, RecordOutcome
from toolbus_contracts.dead import Redriven
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.keys import Actor
from toolbus_contracts.subjects import DURABLES
from toolbus_dispatcher.adapters.dead_letters import DeadLetters
from toolbus_dispatcher.aggregates import AGGREGATES, CALL
from toolbus_dispatcher.core.dead import Letter
from toolbus_dispatcher.describing import Describing
from toolbus_dispatcher.handlers import Handlers
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.messages import Outbox
from toolbus_dispatcher.redriving import Redriving
from toolbus_dispatcher.resuming import Checking
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.feed import Feed
from toolbus_runtime.secrets.published import published_generation
from toolbus_runtime.store.database import make_engine, open_store
from toolbus_runtime.store.port import EventStore

OPERATOR = Actor(subject="user:ana", via="http")
REFUND = {"name": "refund", "api_call": {"method": "POST", "url": "https://pay.example/refunds"}}
SUBMIT = orjson.dumps({"tool": REFUND, "arguments": {"charge": "ch_1"}})
Handler = Callable[[Delivery], Awaitable[None]]


class Forgetful(DeadLetters):
    """Letters that cannot be removed, as long as one says so: the process ends between the deed and the removal."""

    is_crashing = False

    async def remove(self, letter: Letter) -> None:
        """Gone, or left."""
        if self.is_crashing:
            raise Unavailable("killed before the letter was removed")
        await super().remove(letter)


@dataclass
class Scene:
    """What decides, what redrives, and what is stored."""

    bus: Bus
    store: EventStore
    batcher: Batcher
    handlers: Handlers
    redriving: Redriving
    letters: Forgetful
    start_loop: StartLoop

    async def redrive(self, letter: Letter | str, tenant: str = "acme") -> Redriven:
        """As an operator of the tenant asks for."""
        letter_id = letter if isinstance(letter, str) else letter.id
        return await self.redriving.redrive(letter_id, tenant=tenant, actor=OPERATOR)

    async def bury(
        self, handler: Handler, publish: Awaitable[object], *, durable: str = "commands", tenant: str = "acme"
    ) -> Letter:
        """What is published is handled once, and then lies with the tenant; its letter."""
        loop = self.start_loop(handler, durable=DURABLES[durable], limit=1)
        await publish
        found: list[Letter] = []

        async def is_there() -> bool:
            page = await self.letters.page(tenant, None, before=None, limit=1)
            found.extend(page.items)
            return bool(page.items)

        await until(is_there)
        await loop.stop()
        return found[-1]

    async def kinds(self) -> list[str]:
        """Every event of a call there is, by its kind."""
        return [event.kind for event in await self.store.read(after=0, limit=500) if event.category == CALL]

    async def call_ids(self) -> set[str]:
        """Every call there is."""
        return {event.subject_id for event in await self.store.read(after=0, limit=500) if event.category == CALL}

    async def call(self, call_id: str) -> Call:
        """A call as it stands."""
        found: Call = await self.batcher.states.read("acme", CALL, call_id)
        return found

    async def lying(self, tenant: str = "acme") -> list[str]:
        """The ids of the tenant's letters."""
        page = await self.letters.page(tenant, None, before=None, limit=50)
        return [letter.id for letter in page.items]

    async def dispatched(self) -> Call:
        """A call that was given to the executors."""
        decided = await self.handlers.intake.submit(orjson.loads(SUBMIT), tenant="acme", actor=OPERATOR)
        found: Call = decided.state
        return found


@asynccontextmanager
async def scene(bus: Bus, url: str, start_loop: StartLoop) -> AsyncIterator[Scene]:
    """Handlers over this bus and an empty store."""
    store, engine = open_store(url), make_engine(url)
    feed, batcher = Feed(store), Batcher(store, AGGREGATES, lambda _: None)
    holding = Holding(engine, feed, slots=100, tenants={})
    generation, lifecycle = partial(published_generation, bus), Lifecycle(batcher, store, bus)
    intake = Intake(batcher, store, holding, describing=Describing(bus), generation=generation)
    handlers = Handlers(bus, batcher, intake, lifecycle, holding=holding, feed=feed, checking=Checking(batcher, store))
    letters = Forgetful(bus)
    redriving = Redriving(letters, handlers, batcher, Outbox(batcher, store, bus), bus)
    async with background(batcher.run()):
        yield Scene(bus, store, batcher, handlers, redriving, letters, start_loop)
    await store.close()
    await engine.dispose()


def failing(handler: Handler | None = None, error: Exception | None = None) -> Handler:
    """A handler that fails, after it did its work if there is any."""

    async def handle(delivery: Delivery) -> None:
        if handler is not None:
            await handler(delivery)
        raise error or ValueError("a fault of ours")

    return handle


def outcome(call: Call, **changes: Any) -> bytes:
    """What an executor found out about the present attempt of a call."""
    found = RecordOutcome(
        call_id=call.id,
        tenant="acme",
        attempt=call.attempt,
        delivery_id="d_1",
        executor="api_caller@a",
        result="succeeded",
        output={"ok": True},
    )
    return found.model_copy(update=changes).model_dump_json().encode()
