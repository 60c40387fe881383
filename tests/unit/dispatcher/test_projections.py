"""The read table of calls says what their states say, in every status."""

from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.unit.dispatcher.logs import STATES, doubted, failed, requested, write
from toolbus_contracts.calls import Call, call_events, evolve_call
from toolbus_contracts.envelope import StoredEvent
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.holding import limit_lists
from toolbus_dispatcher.projections import project
from toolbus_runtime.store.memory import MemoryStore

AT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


async def row(engine: AsyncEngine, *parts: list[StoredEvent]) -> Row[Any]:
    """The row of the call after these events, projected part by part."""
    async with engine.begin() as connection:
        await connection.execute(calls.delete())
        for part in parts:
            await project(connection, part)
        return (await connection.execute(select(calls))).one()


def state(events: list[StoredEvent]) -> Call:
    """The state of the call."""
    call = reduce(evolve_call, (call_events.validate_json(event.data) for event in events), None)
    assert call is not None
    return call


@pytest.mark.parametrize("name", STATES)
async def test_a_row_says_what_the_state_says(engine: AsyncEngine, name: str) -> None:
    """Status, attempt, when it is tried again or probed, and what it is held by; projected at once or in parts."""
    store = MemoryStore()
    await write(store, STATES[name])
    for cut in range(1, len(store.events) + 1):
        call, found = state(store.events), await row(engine, store.events[:cut], store.events[cut:])
        assert (found.status, found.attempt, found.priority) == (call.status, call.attempt, call.priority)
        assert (limit_lists.validate_json(found.limits) if found.limits else ()) == call.limits
        assert (found.finished_at is None) == (call.finished_at is None)
        assert (found.dispatched_at is None) == (call.dispatched_at is None)
        assert found.position == max(event.position for event in store.events)
        assert found.created_position == 1
        if call.status == "retrying":
            assert found.retry_at == call.retry_at
        if call.status == "in_doubt":
            assert found.probe_at == call.probe_at


async def test_times_are_kept_to_the_microsecond(engine: AsyncEngine) -> None:
    """What is due is due then, in every database."""
    store = MemoryStore()
    later = AT + timedelta(hours=1)
    await write(store, [requested("c"), failed("c", retry_at=AT), doubted("c", probe_at=later)])
    found = await row(engine, store.events)
    assert (found.retry_at, found.probe_at, found.status) == (AT, later, "in_doubt")


async def test_a_doubt_without_a_probe_forgets_the_one_before(engine: AsyncEngine) -> None:
    """Nothing is asked that nobody wants to know."""
    store = MemoryStore()
    await write(store, [requested("c"), doubted("c", probe_at=AT), doubted("c", attempt=2)])
    assert (await row(engine, store.events[:2], store.events[2:])).probe_at is None
