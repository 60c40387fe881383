"""Leases on PostgreSQL and SQLite: who gets which function call, for how long, and what ends it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.approvals.away import without_a_database
from tests.integration.approvals.cancelling import keeps_no_connection
from toolbus_approvals.adapters.leases import Lease, Leases, wait_leases
from toolbus_approvals.adapters.tables import waits
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.database import make_engine

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine on a fresh database of each kind."""
    made = make_engine(database_url)
    yield made
    await made.dispose()


@pytest.fixture
def leases(engine: AsyncEngine) -> Leases:
    """The leases of that database."""
    return Leases(engine)


async def stand(engine: AsyncEngine, *numbers: int, **changes: object) -> None:
    """Function calls that wait, in this order."""
    rows = [
        {
            "wait_id": f"wait_{number}",
            "tenant": "acme",
            "call_id": f"call_{number}",
            "kind": "function",
            "tool": "draft",
            "requester": "user:ana",
            "opened_at": NOW,
            "expires_at": NOW + timedelta(days=1),
            "position": number,
            "created_position": number,
            **changes,
        }
        for number in numbers
    ]
    async with engine.begin() as connection:
        await connection.execute(insert(waits), rows)


async def take(
    leases: Leases, lease_id: str = "a", *, at: datetime = NOW, limit: int = 10, tools: tuple[str, ...] = ("draft",)
) -> list[str]:
    """The waits that this lease, for a minute, holds."""
    found = await leases.take("acme", tools, lease_id=lease_id, now=at, until=at + MINUTE, limit=limit)
    assert all((lease.lease_id, lease.leased_until) == (lease_id, at + MINUTE) for lease in found)
    return [lease.wait_id for lease in found]


async def test_the_oldest_that_nobody_holds_are_leased(engine: AsyncEngine, leases: Leases) -> None:
    """As many as asked for; what others hold is passed over; when nothing is free there is nothing."""
    await stand(engine, 3, 1, 2)
    assert await take(leases, "a", limit=1) == ["wait_1"]
    assert await take(leases, "b", limit=5) == ["wait_2", "wait_3"]
    assert await take(leases, "c") == []


async def test_only_open_function_calls_of_the_tenants_tools_are_leased(engine: AsyncEngine, leases: Leases) -> None:
    """Not another's, not another tool's, no approval, none that is over or has expired."""
    await stand(engine, 1, tenant="other")
    await stand(engine, 2, tool="send")
    await stand(engine, 3, kind="approval")
    await stand(engine, 4, closed_at=NOW)
    await stand(engine, 5, expires_at=NOW)
    await stand(engine, 6, 7)
    assert await take(leases) == ["wait_6", "wait_7"]
    assert await take(leases, tools=("draft", "send")) == ["wait_2"]


async def test_of_several_tools_the_oldest_calls_are_leased(engine: AsyncEngine, leases: Leases) -> None:
    """Whichever tool they are of; a tool that is named twice is named once."""
    await stand(engine, 1, 4)
    await stand(engine, 2, 3, tool="send")
    await stand(engine, 0, tool="other")
    assert await take(leases, "a", limit=3, tools=("send", "draft", "send")) == ["wait_1", "wait_2", "wait_3"]
    assert await take(leases, "b", limit=3, tools=("send", "draft")) == ["wait_4"]


async def test_a_lease_that_ran_out_goes_to_the_next_and_is_counted(engine: AsyncEngine, leases: Leases) -> None:
    """Whoever had it can neither keep it nor give it back any more."""
    await stand(engine, 1)
    await take(leases, "a")
    assert await take(leases, "b", at=NOW + MINUTE / 2) == []
    later = NOW + MINUTE
    (again,) = await leases.take("acme", ["draft"], lease_id="b", now=later, until=later + MINUTE, limit=1)
    assert again == Lease("wait_1", "b", later + MINUTE, 2)
    assert not await leases.extend("acme", "wait_1", "a", later + 2 * MINUTE)
    assert not await leases.extend("acme", "wait_1", "a", later)
    assert await take(leases, "c", at=later) == []


async def test_a_heartbeat_keeps_a_call_and_a_release_frees_it(engine: AsyncEngine, leases: Leases) -> None:
    """Also when the time was over and nobody else had come."""
    await stand(engine, 1)
    await take(leases, "a")
    assert await leases.extend("acme", "wait_1", "a", NOW + 3 * MINUTE)
    assert await take(leases, "b", at=NOW + 2 * MINUTE) == []
    assert await leases.extend("acme", "wait_1", "a", NOW + 5 * MINUTE)
    assert not await leases.extend("other", "wait_1", "a", NOW)
    assert not await leases.extend("acme", "wait_2", "a", NOW)
    assert await leases.extend("acme", "wait_1", "a", NOW)
    assert await take(leases, "b") == ["wait_1"]


async def test_workers_that_ask_at_once_get_different_calls(engine: AsyncEngine, leases: Leases) -> None:
    """Fifty of them, together all of it, nothing twice."""
    await stand(engine, *range(1000))

    async def work(name: int) -> list[str]:
        found: list[str] = []
        while taken := await take(leases, f"{name}", limit=7):
            found += taken
        return found

    taken = Counter(wait_id for found in await asyncio.gather(*map(work, range(50))) for wait_id in found)
    assert set(taken.values()) == {1}
    assert len(taken) == 1000


async def test_leases_of_what_is_over_are_forgotten(engine: AsyncEngine, leases: Leases) -> None:
    """After a while; those of calls that still wait are kept, for they tell how often a call was tried."""
    await stand(engine, 1, 2, 3)
    await take(leases, "a", limit=2)
    async with engine.begin() as connection:
        await connection.execute(update(waits).where(waits.c.wait_id == "wait_1").values(closed_at=NOW))
    assert await leases.forget(NOW) == 0
    assert await leases.forget(NOW + 2 * MINUTE) == 1
    async with engine.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(wait_leases))).scalar_one() == 1


async def test_without_a_database_leases_are_unavailable() -> None:
    """And say so in our words."""
    async with without_a_database() as engine:
        leases = Leases(engine)
        with pytest.raises(Unavailable):
            await take(leases)
        with pytest.raises(Unavailable):
            await leases.extend("acme", "wait_1", "a", NOW)


async def test_whoever_is_stopped_gives_the_connection_back(engine: AsyncEngine, leases: Leases) -> None:
    """A worker's request that is cancelled in the middle keeps neither a connection nor a lock."""
    await stand(engine, 1)
    await keeps_no_connection(
        engine,
        lambda: (
            leases.take("acme", ["work"], lease_id="lease_1", now=NOW, until=NOW + MINUTE, limit=1),
            leases.forget(NOW),
        ),
        steps=20,
    )
    async with asyncio.timeout(2):
        await leases.forget(NOW)
