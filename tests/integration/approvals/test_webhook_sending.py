"""The work of the leader on real databases: what is kept, how little is written, and that nothing is told twice."""

import asyncio
from datetime import timedelta

from aiohttp import web
from sqlalchemy import select

from tests.integration.approvals.webhook_rig import ADMIN, receiving, rigged, statuses
from tests.nats_fixtures import until
from toolbus_approvals.adapters.webhook_tables import webhook_secrets


async def test_secrets_that_sign_nothing_any_more_are_gone(database_url: str) -> None:
    """Two changes ago, or of a webhook that was removed: not even sealed."""

    async def kept() -> int:
        async with rig.engine.connect() as connection:
            return len((await connection.execute(select(webhook_secrets))).all())

    async with rigged(database_url) as rig:
        await rig.put("crm", "http://127.0.0.1:1", "grant.*")
        await rig.put("other", "http://127.0.0.1:1", "grant.*")
        for _ in range(3):
            await rig.webhooks.rotate("acme", "crm", None, ADMIN)

        async def are(number: int) -> bool:
            return await kept() == number

        await until(lambda: are(3))
        await rig.webhooks.remove("acme", "crm", ADMIN)
        await until(lambda: are(1))


async def test_dead_receivers_hold_one_place_each(database_url: str) -> None:
    """Once one has failed it is tried one by one: hundreds of them leave room for the others."""
    async with rigged(database_url, timeout_s=30) as rig, receiving() as dead:
        dead.answering = lambda _: web.Response(status=500)
        await rig.put("dead", dead.url, "grant.*")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: log and log[0].attempts == 1, "dead")
        dead.held = asyncio.Event()
        dead.seen.clear()
        for _ in range(5):
            await rig.happen("grant.given.v1")
        await rig.until(lambda log: len(log) == 6, "dead")
        await until(lambda: len(dead.seen) == 1)
        dead.held.set()
        dead.answering = lambda _: web.Response()
        await rig.until(lambda log: statuses(log).count("delivered") >= 4, "dead")


async def test_where_nobody_wants_to_know_only_the_place_is_written(database_url: str) -> None:
    """Once a second, not with every event: the log's own writers must not wait."""
    async with rigged(database_url) as rig:
        await rig.happen("grant.given.v1")

        async def place() -> int:
            return (await rig.store.load_checkpoint("projection:webhooks")).position

        began = asyncio.get_running_loop().time()
        written: set[int] = set()
        while asyncio.get_running_loop().time() - began < 2:
            await rig.happen("grant.given.v1")
            written.add(await place())
        assert 2 <= len(written) <= 4


async def test_a_webhook_hears_of_what_follows_it_at_once(database_url: str) -> None:
    """Though both were stored in one go."""
    async with rigged(database_url) as rig, receiving() as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await asyncio.gather(*(rig.happen("grant.given.v1") for _ in range(100)))
        await rig.until(lambda log: statuses(log) == ["delivered"] * 100)
        assert len({seen.headers["webhook-id"] for seen in receiver.seen}) == 100


async def test_a_delivery_is_written_once_whoever_leads(database_url: str) -> None:
    """Two leaders for a moment: one goes on where the other was, and nothing is told twice by the log."""
    async with rigged(database_url) as one, rigged(database_url) as two, receiving() as receiver:
        await one.put("crm", receiver.url, "grant.*")
        for number in range(20):
            await (one if number % 2 else two).happen("grant.given.v1")
        await one.until(lambda log: statuses(log) == ["delivered"] * 20)


async def test_old_deliveries_are_forgotten(database_url: str) -> None:
    """After 30 days, unless they are still to be sent."""
    async with rigged(database_url) as rig, receiving() as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: statuses(log) == ["delivered"])
        assert await rig.deliveries.prune(rig.calendar.now() + timedelta(days=29)) == 0
        assert await rig.deliveries.prune(rig.calendar.now() + timedelta(days=31)) == 1
        assert await rig.log() == []
