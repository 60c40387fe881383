"""The releaser on a store in memory: what may go is given to the executors, and what could not be is held again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from tests.unit.dispatcher.backlogs import limit
from tests.unit.dispatcher.logs import HistoryEvents, dispatched, failed, requested, succeeded, write
from tests.unit.dispatcher.making import NOW
from tests.unit.runtime.things import Store, background, pass_time, until
from toolbus_contracts.calls import Call, ReleaseCall
from toolbus_contracts.envelope import StoredEvent
from toolbus_dispatcher.aggregates import AGGREGATES, CALL
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.releasing import Releaser
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Command, Decided
from toolbus_runtime.feed import Feed

ONE = limit("refund", concurrency=1)


def now() -> datetime:
    """What the clock says."""
    return datetime.now(UTC)


class Offered(Batcher):
    """Counts what it was asked to decide, taken or not."""

    offered = 0

    def enqueue(self, command: Command) -> asyncio.Future[Decided]:
        """Hand in a command."""
        self.offered += 1
        return super().enqueue(command)


@dataclass
class Scene:
    """A releaser, what it looks at, and the log that it hears of at once."""

    store: Store
    batcher: Offered
    holding: Holding
    releaser: Releaser
    is_leading: bool = True

    def hear(self, events: Sequence[StoredEvent]) -> None:
        """The backlog hears of these events."""
        self.holding._apply(events)
        self.holding._changed.set()

    async def write(self, *histories: HistoryEvents) -> None:
        """Others write these events, and the backlog hears of them."""
        before = len(self.store.events)
        await write(self.store, *histories)
        self.store.appends.clear()
        self.hear(self.store.events[before:])

    def went(self) -> list[str]:
        """Which calls were given to the executors, in this order."""
        return [event.subject_id for event in self.store.events if event.kind == "call.dispatched.v1"]

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[object]"]:
        """The releaser at work."""
        async with background(self.batcher.run()), background(self.releaser.run()) as task:
            yield task


def scene(**settings: Any) -> Scene:
    """Nothing is held yet."""
    store = Store(clock=now)
    made: list[Scene] = []

    def on_commit(events: Sequence[StoredEvent]) -> None:
        made[0].hear(events)

    batcher = Offered(store, AGGREGATES, on_commit, **settings)
    holding = Holding(cast("Any", None), Feed(store), slots=10, tenants={})
    holding._loaded.set()
    lifecycle = Lifecycle(batcher, store, cast("Any", None))
    made.append(Scene(store, batcher, holding, Releaser(holding, lifecycle, lambda: made[0].is_leading)))
    return made[0]


async def test_held_calls_go_as_soon_as_they_may() -> None:
    """The next one when the one before has ended; those without a limit at once."""
    found = scene()
    await found.write(*([requested(f"call_{number}", ONE)] for number in (1, 2)), [requested("call_3")])
    async with found.running():
        await until(lambda: len(found.went()) == 2)
        assert sorted(found.went()) == ["call_1", "call_3"]
        await found.write([succeeded("call_1")])
        await until(lambda: found.went()[2:] == ["call_2"])


async def test_a_next_attempt_goes_when_it_is_due() -> None:
    """Nothing has to happen for that but time to pass."""
    found = scene()
    due_at = now() + timedelta(seconds=0.2)
    await found.write([requested("call_1"), dispatched("call_1"), failed("call_1", retry_at=due_at, at=now())])
    async with found.running():
        await until(lambda: len(found.went()) == 2)
        assert now() >= due_at
        call: Call = await found.batcher.states.read("acme", CALL, "call_1")
        assert (call.status, call.attempt) == ("dispatched", 2)


async def test_releases_are_ours_and_have_a_cause_of_their_own() -> None:
    """One per attempt, so that two leaders who release the same attempt release it once."""
    found = scene()
    await found.write([requested("call_1")])
    async with found.running():
        await until(found.went)
    assert found.store.events[-1].causation_id == "release:call_1:1"
    assert "service:dispatcher" in found.store.events[-1].actor


async def test_who_does_not_lead_any_more_lets_nothing_go() -> None:
    """A leader that was paused, and followed by another, hears of that after it looked at its backlog."""
    found = scene()
    await found.write([requested("call_1", ONE)])
    found.is_leading = False
    async with found.running():
        await pass_time(0.05)
        assert found.went() == []
        found.is_leading = True
        await until(lambda: found.went() == ["call_1"])


async def test_what_could_not_be_stored_is_held_again() -> None:
    """The store is away: the call keeps its place, and goes when it is back."""
    found = scene()
    await found.write([requested("call_1", ONE)], [requested("call_2", ONE)])
    found.store.is_away = True
    async with found.running():
        await until(lambda: found.store.loads)
        await until(lambda: len(found.holding.backlog) == 2)
        assert found.went() == []
        found.store.is_away = False
        await until(found.went)
        assert (found.went(), len(found.holding.backlog)) == (["call_1"], 1)


async def test_what_the_batcher_has_no_place_for_is_held_again() -> None:
    """Too many commands wait already."""
    found = scene(queue_limit=0)
    await found.write([requested("call_1", ONE)])
    async with found.running():
        await until(lambda: found.batcher.offered)
        assert (found.went(), found.holding.explain("call_1") is None) == ([], False)
        found.batcher.queue_limit = 1
        await until(found.went)


async def test_a_leader_that_is_stopped_gives_its_grants_back() -> None:
    """Another one, or the same later, finds the calls held and their limit free."""
    found = scene()
    await found.write([requested("call_1", ONE)], [requested("call_2", ONE)])
    found.store.open.clear()
    async with background(found.batcher.run()):
        async with background(found.releaser.run()):
            await until(lambda: found.store.appends)
            assert (len(found.holding.backlog), found.holding.explain("call_1")) == (1, None)
        assert len(found.holding.backlog) == 2
        found.store.open.set()  # what it had asked for is stored all the same
        await until(found.went)
        assert found.holding.backlog.next(now(), 10) == []


async def test_a_call_that_ended_unheard_gives_its_place_back() -> None:
    """The table that it was taken in from was behind the log: nothing is heard of it any more."""
    found = scene()
    await found.write([requested("call_1", ONE), dispatched("call_1"), succeeded("call_1")], [requested("call_2", ONE)])
    found.hear(found.store.events[:1])
    assert len(found.holding.backlog) == 2
    async with found.running():
        await until(lambda: found.went() == ["call_1", "call_2"])


async def test_a_call_that_is_not_there_gives_its_place_back() -> None:
    """Nothing will ever be heard of it."""
    found = scene()
    elsewhere = Store(clock=now)
    await write(elsewhere, [requested("call_0", ONE)])
    found.hear(elsewhere.events)
    await found.write([requested("call_1", ONE)])
    async with found.running():
        await until(lambda: found.went() == ["call_1"])


async def test_a_call_that_expired_meanwhile_is_not_given_to_anybody() -> None:
    """Its deadline passed while it was held."""
    found = scene()
    await found.write([requested("call_1", ONE, deadline_at=NOW)], [requested("call_2", ONE)])
    async with found.running():
        await until(lambda: found.went() == ["call_2"])
    assert [event.kind for event in found.store.events if event.subject_id == "call_1"][1:] == ["call.expired.v1"]


@dataclass
class Broken:
    """A lifecycle with a fault of ours."""

    asked: list[ReleaseCall] = field(default_factory=list)

    def release(self, tenant: str, command: ReleaseCall, is_leading: Callable[[], bool]) -> "asyncio.Future[Decided]":
        """Fail, and say when."""
        assert (tenant, is_leading()) == ("acme", True)
        self.asked.append(command)
        failed: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        failed.set_exception(ValueError("a fault of ours"))
        return failed


async def test_a_fault_of_ours_stops_no_other_call(caplog: pytest.LogCaptureFixture) -> None:
    """It is told, and tried again."""
    found, broken = scene(), Broken()
    found.releaser.lifecycle = cast("Any", broken)
    await found.write([requested("call_1")])
    async with found.running():
        await until(lambda: len(broken.asked) >= 2)
    assert broken.asked[0] == broken.asked[1] == ReleaseCall(call_id="call_1", attempt=1)


async def test_nothing_is_released_before_the_log_was_read() -> None:
    """Who does not know what runs lets too much go."""
    found = scene()
    found.holding._loaded.clear()
    await found.write([requested("call_1")])
    async with found.running():
        for _ in range(10):
            await pass_time()
        assert len(found.holding.backlog) == 1
        found.holding._loaded.set()
        await until(found.went)
