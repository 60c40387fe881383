"""The sweeper on a real SQLite: what is found late is found, and nothing is sent over and over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from tests.unit.dispatcher.making import REQUESTED
from tests.unit.runtime.things import background
from toolbus_contracts.calls import AnyCallEvent, AttemptStarted, CallDispatched, CallError, CallInDoubt, DoubtAttempt
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.aggregates import AGGREGATES, CALL
from toolbus_dispatcher.core.lanes import OpenCall
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.messages import Outbox
from toolbus_dispatcher.orphans import Orphans
from toolbus_dispatcher.projections import project
from toolbus_dispatcher.sweeper import CALM_LOOKS, COUNT_EVERY_S, LIMIT, Sweeper
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.lookups import StoredMessage
from toolbus_runtime.feed import Feed
from toolbus_runtime.store.database import make_engine
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Append, Appended, NewEvent

AGO = datetime.now(UTC) - timedelta(hours=1)
DEFINITION = ToolDefinition.model_validate({"name": "refund", "api_call": {"method": "POST", "url": "http://x/r"}})


@dataclass
class Bus:
    """Holds what was published until it is taken, as a work queue does."""

    is_connected: bool = True
    held: list[datetime] = field(default_factory=list)
    sent: int = 0

    async def publish_soon(self, subject: str, data: bytes, headers: object = None) -> "asyncio.Future[None]":
        """Keep the message."""
        assert subject
        assert data
        assert headers == {}
        self.sent += 1
        self.held.append(datetime.now(UTC))
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stored.set_result(None)
        return stored

    async def next_message(self, stream: str, subject: str, sequence: int) -> StoredMessage | None:
        """The oldest message that nobody took."""
        if stream != "WORK" or not self.held:
            return None
        return StoredMessage({}, b"", sequence, subject, min(self.held))


@dataclass
class Place:
    """As far as relay and projection have come."""

    position: int

    async def reached(self, position: int) -> None:
        """Everything is there."""
        assert position <= self.position


@dataclass
class Scene:
    """A sweeper with what it looks at."""

    sweeper: Sweeper
    store: MemoryStore
    bus: Bus
    batcher: Batcher

    async def status(self, call_id: str) -> str:
        """How a call stands."""
        call = await self.batcher.states.read("acme", CALL, call_id)
        return str(call.status)


def history(call_id: str, *, deadline_at: datetime | None = None, in_doubt: bool = False) -> list[AnyCallEvent]:
    """A call that was dispatched an hour ago, and is in doubt or not."""
    requested = REQUESTED.model_copy(
        update={"call_id": call_id, "deadline_at": deadline_at, "definition": DEFINITION, "at": AGO}
    )
    dispatched = CallDispatched(call_id=call_id, attempt=1, tool_type="api_call", at=AGO)
    doubt = CallInDoubt(call_id=call_id, attempt=1, error=CallError(code="executor_lost", message="silent"), at=AGO)
    return [requested, dispatched, *([doubt] if in_doubt else [])]


@asynccontextmanager
async def scene(url: str, histories: Sequence[Sequence[AnyCallEvent]]) -> AsyncIterator[Scene]:
    """These calls lie in the store and in the read table."""
    store = MemoryStore(clock=lambda: AGO)
    appends = [
        Append(
            tenant="acme",
            category=CALL,
            stream=f"acme/{CALL}/{events[0].call_id}",
            expected_version=0,
            events=tuple(NewEvent(event.kind, event.model_dump_json()) for event in events),
            causation_id=events[0].call_id,
            correlation_id="exec_1",
            actor=REQUESTED.actor.model_dump_json(),
        )
        for events in histories
    ]
    assert all(isinstance(result, Appended) for result in await store.append(appends))
    engine = make_engine(url)
    async with engine.begin() as connection:
        await project(connection, store.events)
    batcher = Batcher(store, AGGREGATES, lambda _: None)
    bus, place = Bus(), Place(len(store.events))
    lifecycle, outbox = Lifecycle(batcher, store, cast("Any", bus)), Outbox(batcher, store, cast("Any", bus))
    holding = Holding(engine, Feed(store), slots=1, tenants={})
    orphans = Orphans(engine, holding, batcher.states, store)
    parts: Any = (engine, bus, batcher, lifecycle, outbox, place, lambda: place, orphans, holding)
    async with background(batcher.run()):
        yield Scene(Sweeper(*parts), store, bus, batcher)
    await engine.dispose()


async def test_calls_in_doubt_do_not_hide_those_whose_deadline_passed(sqlite_url: str) -> None:
    """However many stand in doubt beyond their deadline, the call after them expires."""
    doubtful = [history(f"call_{n}", deadline_at=AGO, in_doubt=True) for n in range(LIMIT)]
    async with scene(sqlite_url, [*doubtful, history("call_late", deadline_at=AGO)]) as found:
        await found.sweeper.expire()
        assert await found.status("call_late") == "expired"
        assert await found.status("call_0") == "in_doubt"


async def test_lost_work_is_sent_again_once_while_the_bus_holds_it(sqlite_url: str) -> None:
    """The message that was sent again is younger than its call: that does not make the call lost again."""
    async with scene(sqlite_url, [history(f"call_{n}") for n in range(LIMIT + 1)]) as found:
        for _ in range(3):
            await found.sweeper.find_lost_work()
        assert found.bus.sent == LIMIT + 1


async def test_work_that_the_relay_had_sent_again_is_not_lost(sqlite_url: str) -> None:
    """After the bus forgot everything, both look: one of them sends."""
    async with scene(sqlite_url, [history("call_1"), history("call_2")]) as found:
        await found.sweeper.resend_open()
        await found.sweeper.find_lost_work()
        assert found.bus.sent == 2


def started(call_id: str) -> list[AnyCallEvent]:
    """A call whose attempt was started an hour ago, and is silent since."""
    start = AttemptStarted(call_id=call_id, attempt=1, start_id="s", executor="x", start_by=AGO, stop_by=AGO, at=AGO)
    return [*history(call_id), start]


async def test_a_doubt_that_could_not_be_told_is_told_again(sqlite_url: str) -> None:
    """Also when whoever led was stopped in the middle, and leads again later; and one fault holds up no other call."""
    async with scene(sqlite_url, [started("call_1"), started("call_2"), started("call_3")]) as found:
        sweeper, lifecycle = found.sweeper, found.sweeper.lifecycle
        async with background(sweeper.holding.run()):
            await sweeper.holding.loaded()
            found.sweeper.lifecycle = cast("Any", Stuck())
            doubting = asyncio.ensure_future(sweeper.doubt())
            await asyncio.sleep(0)
            doubting.cancel()
            await asyncio.wait({doubting})
            found.sweeper.lifecycle = cast("Any", Choosy(lifecycle, "call_2"))
            with pytest.raises(ValueError, match="a fault of ours"):
                await sweeper.doubt()
            assert [await found.status(f"call_{n}") for n in (1, 2, 3)] == ["in_doubt", "running", "in_doubt"]
            found.sweeper.lifecycle = lifecycle
            await sweeper.doubt()
            assert await found.status("call_2") == "in_doubt"


class Stuck:
    """A lifecycle that decides nothing."""

    async def doubt(self, *_: object) -> None:
        """Never done."""
        await asyncio.Event().wait()


@dataclass
class Choosy:
    """A lifecycle that fails for one call."""

    lifecycle: Lifecycle
    refused: str

    async def doubt(self, tenant: str, command: DoubtAttempt) -> None:
        """As the real one, but for that call."""
        if command.call_id == self.refused:
            raise ValueError("a fault of ours")
        await self.lifecycle.doubt(tenant, command)


async def test_tables_are_asked_rarely_while_nothing_moves(sqlite_url: str) -> None:
    """Calls that stand still for somebody give the sweeper nothing to find; a call that is held does, at once."""
    async with scene(sqlite_url, [history("call_1")]) as found:
        sweeper = found.sweeper
        assert [look for look in range(2 * CALM_LOOKS) if sweeper._may_find(look)] == [0, CALM_LOOKS]
        sweeper.holding.backlog.opened(OpenCall("call_1", "acme", 5, 1), datetime.now(UTC))
        assert sweeper._may_find(1)


async def test_open_calls_are_counted_at_most_every_few_seconds(sqlite_url: str) -> None:
    """And the longer the count took, the later again."""
    async with scene(sqlite_url, [history("call_1")]) as found:
        began_at = asyncio.get_running_loop().time()
        await found.sweeper.count_open()
        planned_at = found.sweeper.count_at
        assert planned_at >= began_at + COUNT_EVERY_S
        await found.sweeper.count_open()
        assert found.sweeper.count_at == planned_at
