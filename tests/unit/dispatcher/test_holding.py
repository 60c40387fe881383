"""Holding: the backlog that is read from the table is the one that is folded from the log."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.unit.dispatcher.backlogs import call, limit, picture
from tests.unit.dispatcher.logs import (
    STATES,
    A,
    B,
    asked,
    dispatched,
    doubted,
    failed,
    requested,
    settled,
    started,
    succeeded,
    wanted,
    write,
)
from tests.unit.dispatcher.making import NOW, key
from tests.unit.runtime.things import Store, background, until
from toolbus_contracts.calls import AnyCallEvent
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.tools import Limit, Limits, Rate
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.holding import CHECKPOINT, OPEN_COLUMNS, Holding, TenantPolicy
from toolbus_dispatcher.projections import project
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.feed import Feed
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.tables import checkpoints


class Still(Calendar):
    """A calendar in which no time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = NOW

    def now(self) -> datetime:
        """Always the same, until somebody says another."""
        return self.moment


def memory() -> MemoryStore:
    """A store in which no time passes either."""
    return MemoryStore(clock=lambda: NOW)


async def projected(engine: AsyncEngine, events: Sequence[StoredEvent]) -> None:
    """The read table has these events, and says so."""
    async with engine.begin() as connection:
        await project(connection, events)
        await connection.execute(checkpoints.delete())
        await connection.execute(checkpoints.insert().values(name=CHECKPOINT, position=events[-1].position, note=""))


def holding(engine: AsyncEngine, store: MemoryStore, **tenants: TenantPolicy) -> Holding:
    """What follows this store, with ten slots."""
    return Holding(engine, Feed(store), slots=10, tenants=tenants, calendar=Still())


@pytest.mark.parametrize("state", STATES)
async def test_a_call_is_read_from_the_table_as_it_is_folded_from_the_log(engine: AsyncEngine, state: str) -> None:
    """In every status, beside calls in another one."""
    store = memory()
    await write(store, [requested("call_1", A), dispatched("call_1")], STATES[state], [requested("call_2", A, B)])
    folded, read = holding(engine, store), holding(engine, store)
    folded._apply(store.events)
    await projected(engine, store.events)
    assert await read._load() == len(store.events)
    assert picture(read.backlog) == picture(folded.backlog)


@pytest.mark.parametrize("state", STATES)
async def test_a_log_that_is_folded_over_the_table_changes_nothing(engine: AsyncEngine, state: str) -> None:
    """A call that was taken in from the table is heard of from the log too."""
    store = memory()
    await write(store, STATES[state])
    folded, read = holding(engine, store), holding(engine, store)
    folded._apply(store.events)
    await projected(engine, store.events)
    await read._load()
    read._apply(store.events)
    assert picture(read.backlog) == picture(folded.backlog)


@pytest.mark.parametrize("state", STATES)
async def test_the_table_may_be_any_way_behind(engine: AsyncEngine, state: str) -> None:
    """What it does not have yet is folded from the log."""
    for cut in range(1, len(STATES[state]) + 1):
        store = memory()
        await write(store, STATES[state])
        folded, read = holding(engine, store), holding(engine, store)
        folded._apply(store.events)
        async with engine.begin() as connection:
            await connection.execute(calls.delete())
        await projected(engine, store.events[:cut])
        position = await read._load()
        read._apply(store.events[position:])
        assert picture(read.backlog) == picture(folded.backlog)


async def test_what_ended_lately_counts_against_rates_after_a_restart(engine: AsyncEngine) -> None:
    """The target has seen those calls, whoever let them go."""
    store = memory()
    once = limit("a", calls=1, per_s=3600)
    await write(
        store, [requested("c", once), dispatched("c"), started("c"), succeeded("c")], [requested("call_2", once)]
    )
    await projected(engine, store.events)
    read = holding(engine, store)
    await read._load()
    assert read.backlog.next(NOW, 10) == []
    assert read.backlog.next(NOW + timedelta(seconds=3601), 10) != []


@pytest.mark.parametrize("response_ms", [0.0, 20.0, -5.0, 1e300])
async def test_an_end_tells_when_its_request_arrived(engine: AsyncEngine, response_ms: float) -> None:
    """Its length is remembered of each; a number that no exchange can have is no reason to fail."""
    store = memory()
    once = limit("a", calls=1, per_s=60)
    last = succeeded("c", response_ms=response_ms)
    await write(store, [requested("c", once), dispatched("c"), started("c"), last], [requested("call_2", once)])
    found = holding(engine, store)
    found._apply(store.events)
    (count,) = found.backlog._counts.values()
    took = timedelta(milliseconds=min(max(response_ms, 0.0), 86_400_000.0))
    assert (count._arrived, count._took[-1]) == ([NOW], took)  # the first exchange counts from its end


@pytest.mark.parametrize("last", [asked("c", 1, "input"), failed("c", response_ms=20.0)])
async def test_a_question_tells_when_its_request_arrived(engine: AsyncEngine, last: AnyCallEvent) -> None:
    """As an end does, and once: whatever follows it in the same append speaks of the same exchange, or of none."""
    store = memory()
    once = limit("a", calls=1, per_s=60)
    await write(store, [requested("c", once), dispatched("c"), started("c"), wanted("c", response_ms=20.0), last])
    found = holding(engine, store)
    found._apply(store.events)
    (count,) = found.backlog._counts.values()
    assert (count._arrived, count.running) == ([NOW], 0)
    assert list(count._took) == [timedelta(), timedelta(milliseconds=20)]


@pytest.mark.parametrize("ahead_s", [-86400.0, 0.0, 86400.0])
async def test_how_long_something_lasts_counts_from_when_it_is_heard_of(engine: AsyncEngine, ahead_s: float) -> None:
    """Other clocks, and ours before it was set, may tell any time of day, of a start and of a wait for the next one."""
    at = NOW + timedelta(seconds=ahead_s)
    store = memory()
    runs = started("call_1").model_copy(update={"at": at, "stop_by": at + timedelta(seconds=40)})
    waits = failed("call_2", at=at, retry_at=at + timedelta(seconds=10))
    histories = ("call_1", runs), ("call_2", waits)
    await write(store, *([requested(call_id), dispatched(call_id), last] for call_id, last in histories))
    folded, read = holding(engine, store), holding(engine, store)
    folded._apply(store.events)
    await projected(engine, store.events)
    await read._load()
    for backlog in (folded.backlog, read.backlog):
        late = backlog is read.backlog and ahead_s < 0  # that it was due long ago is believed
        assert backlog.wakes_at(NOW) == (NOW + timedelta(seconds=10) if not late else at + timedelta(seconds=10))
        assert backlog.overdue(NOW + timedelta(seconds=39.9)) == []
        assert [over.call_id for over in backlog.overdue(NOW + timedelta(seconds=40))] == ["call_1"]


async def test_a_call_cannot_have_gone_in_the_future(engine: AsyncEngine) -> None:
    """The store's clock is ahead of ours: what is read of it counts from now on."""
    store = MemoryStore(clock=lambda: NOW + timedelta(hours=1))
    once = limit("a", calls=1)
    await write(store, [requested("c", once), dispatched("c"), started("c")], [requested("call_2", once)])
    await projected(engine, store.events)
    read = holding(engine, store)
    await read._load()
    assert read.backlog.wakes_at(NOW) == NOW + timedelta(seconds=1.06)


class Log(Store):
    """A store that may be away for whoever follows it too."""

    async def read(self, **wanted: Any) -> list[StoredEvent]:
        """Events in order, unless away."""
        self._check()
        return await super().read(**wanted)


async def test_the_log_is_followed_from_where_the_table_ends(engine: AsyncEngine) -> None:
    """Whoever waits for a change is woken by each."""
    store = Log(clock=lambda: datetime.now(UTC))
    await write(store, [requested("call_1")])
    await projected(engine, store.events)
    found = holding(engine, store)
    assert found.has_room("acme")  # nobody knows better yet
    async with background(found.run()):
        await asyncio.wait_for(found.loaded(), 10)
        await found.changed(10)
        assert (len(found.backlog), found.has_room("acme"), found.has_room("other")) == (1, False, True)
        assert (found.explain("call_1") or "").endswith("1 wait for the same")
        await write(store, [dispatched("call_1")])
        found._feed.wake(len(store.events))
        await found.changed(10)
        assert (len(found.backlog), found.has_room("acme")) == (0, True)


async def test_when_the_store_was_away_all_begins_afresh(engine: AsyncEngine) -> None:
    """From the table, as far as it goes, and from the log behind it."""
    store = Log(clock=lambda: datetime.now(UTC))
    await write(store, [requested("call_1")], [requested("call_2")])
    await projected(engine, store.events)
    found = holding(engine, store)
    async with background(found.run()):
        await asyncio.wait_for(found.loaded(), 10)
        first = found.backlog
        await write(store, [dispatched("call_1")])
        store.is_away = True
        found._feed.wake(len(store.events))
        await until(lambda: found.backlog is not first)
        assert len(found.backlog) == 2
        store.is_away = False
        await until(lambda: len(found.backlog) == 1)


async def test_nothing_new_within_a_time_is_no_change(engine: AsyncEngine) -> None:
    """Whoever waits for the backlog looks again then."""
    await holding(engine, MemoryStore()).changed(0.01)


async def test_a_call_that_the_backlog_does_not_hold_is_taken_in(engine: AsyncEngine) -> None:
    """What is held, or with the executors, is left as it is: the table may be behind."""
    store = memory()
    await write(
        store,
        [requested("call_1", A)],
        [requested("call_2"), dispatched("call_2"), doubted("call_2"), settled("call_2")],
    )
    await projected(engine, store.events)
    async with engine.connect() as connection:
        one, two = (await connection.execute(select(*OPEN_COLUMNS).order_by(calls.c.created_position))).all()
    found = holding(engine, store)
    assert [found.take_in(one), found.take_in(one), len(found.backlog)] == [True, False, 1]
    await found.changed(0.01)
    found.backlog.next(datetime.now(UTC), 10)
    assert not found.take_in(one)
    found.backlog.opened(call(2), datetime.now(UTC))
    found.backlog.rests("call_2")
    assert [found.take_in(two), found.take_in(two)] == [True, False]
    assert [one.attempt for one in found.backlog.next(datetime.now(UTC), 10)] == [2]


def test_limits_of_key_and_tenant_hold_for_what_is_submitted() -> None:
    """Each by its own name; who has none is not limited."""
    of_key, of_tenant = Limits(concurrency=3), Limits(rate=Rate(calls=7, per_s=2.0))
    tenants = {"acme": TenantPolicy(limits=of_tenant), "b": TenantPolicy()}
    found = Holding(cast("Any", None), Feed(MemoryStore()), slots=1, tenants=tenants)
    limited = key().model_copy(update={"limits": of_key})
    by_key = Limit(of="key", name="key_1", concurrency=3)
    by_tenant = Limit(of="tenant", name="acme", rate=Rate(calls=7, per_s=2.0))
    assert found.limits("acme", limited) == (by_key, by_tenant)
    assert found.limits("acme", key()) == found.limits("acme", None) == (by_tenant,)
    assert found.limits("b", limited) == found.limits("c", limited) == (by_key,)
    assert found.limits("c", None) == ()
