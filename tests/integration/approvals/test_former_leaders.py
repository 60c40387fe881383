"""What a former leader did is known to the next one, whose read tables may be behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from tests.integration.approvals.service import TENANT, Service, running
from toolbus_approvals.keeping import Keeper
from toolbus_approvals.projections import project
from toolbus_approvals.reacting import Reacting
from toolbus_contracts.calls import CallCancelled
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.projections import Projection


async def told(service: Service, kind: str) -> StoredEvent:
    """The newest event of this kind."""
    return [event for event in await service.approvals.store.read(after=0, limit=100) if event.kind == kind][-1]


@asynccontextmanager
async def leading(service: Service) -> AsyncIterator[tuple[Reacting, Keeper, Projection]]:
    """A new leader's reactions; its projection has begun nothing yet."""
    parts = service.approvals
    projection = Projection("approvals", parts.engine, parts.feed, project)
    keeper = Keeper(parts.batcher)
    yield (
        Reacting(keeper, parts.queries, projection, parts.calendar, newest=parts.feed.newest, heeding=parts.heeding),
        keeper,
        projection,
    )


@asynccontextmanager
async def projecting(service: Service, projection: Projection) -> AsyncIterator[None]:
    """The read tables catch up."""
    task = asyncio.ensure_future(asyncio.gather(service.approvals.feed.run(), projection.run()))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_wait_that_a_former_leader_opened_is_withdrawn(database_url: str) -> None:
    """Its call ended before the read tables heard of it: the new leader waits until they did."""
    async with running(database_url, leads=False) as service, leading(service) as (reacting, _, projection):
        call_id, wait_id = await service.call()
        await Keeper(service.approvals.batcher).open(TENANT, call_id, wait_id)
        await service.say(call_id, CallCancelled(call_id=call_id, reason="", at=datetime.now(UTC)))
        settling = asyncio.create_task(reacting.on_settled(await told(service, "call.cancelled.v1")))
        async with projecting(service, projection):
            await settling
        assert not (await service.desk.wait(TENANT, wait_id)).is_open


async def test_a_wait_that_a_former_leader_opens_meanwhile_is_withdrawn(database_url: str) -> None:
    """It stood still beyond its lease, and goes on: the new leader finds the wait open, not knowing since when."""
    async with running(database_url, leads=False) as service, leading(service) as (reacting, keeper, projection):
        first, _ = await service.call()
        async with projecting(service, projection):
            await service.say(first, CallCancelled(call_id=first, reason="", at=datetime.now(UTC)))
            await reacting.on_settled(await told(service, "call.cancelled.v1"))
        call_id, wait_id = await service.call()
        await Keeper(service.approvals.batcher).open(TENANT, call_id, wait_id)
        assert await keeper.open(TENANT, call_id, wait_id) is not None
        await service.say(call_id, CallCancelled(call_id=call_id, reason="", at=datetime.now(UTC)))
        settling = asyncio.create_task(reacting.on_settled(await told(service, "call.cancelled.v1")))
        async with projecting(service, projection):
            await settling
        assert not (await service.desk.wait(TENANT, wait_id)).is_open
