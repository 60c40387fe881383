"""Webhooks on real databases and a real receiver: what is sent, how it is signed, and when it is tried again."""

import asyncio
import json

import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.integration.approvals.webhook_rig import ADMIN, Rig, Seen, receiving, rigged, statuses
from tests.nats_fixtures import until


async def test_an_event_arrives_signed_as_the_public_library_wants_it(database_url: str) -> None:
    """Type, time and the event itself; only what matches, and nothing of before the webhook."""
    async with rigged(database_url) as rig, receiving() as receiver:
        await rig.happen("grant.given.v1", note="before")
        secret = await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("delegation.given.v1")
        await rig.happen("grant.given.v1", note="Grüße")
        (view,) = await rig.until(lambda log: statuses(log) == ["delivered"])
        (seen,) = receiver.seen
        told = Webhook(secret).verify(seen.body, seen.headers)
        assert told["type"] == view.type == "grant.given"
        assert told["data"]["note"] == "Grüße"
        assert told["position"] == view.position
        assert seen.headers["webhook-id"] == view.id
        assert seen.headers["Content-Type"] == "application/json"
        assert (view.attempts, view.last_status_code, view.next_at) == (1, 204, None)


async def test_other_tenants_hear_nothing(database_url: str) -> None:
    """A webhook belongs to its tenant."""
    async with rigged(database_url) as rig, receiving() as receiver:
        await rig.put("crm", receiver.url, "*")
        await rig.happen("grant.given.v1", tenant="other")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: "grant.given" in [view.type for view in log if view.status == "delivered"])
        bodies = [json.loads(seen.body)["type"] for seen in receiver.seen]
        assert bodies.count("grant.given") == 1


async def test_a_failure_is_tried_again_under_the_same_id_until_it_arrives(database_url: str) -> None:
    """By the schedule: 5 seconds, 5 minutes; the signature is of the moment, the bytes are the same."""
    told = [500, 302, 200]
    async with rigged(database_url) as rig, receiving(lambda _: web.Response(status=told.pop(0))) as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        (view,) = await rig.until(lambda log: log and log[0].attempts == 1)
        assert (view.status, view.last_status_code, view.last_error) == ("pending", 500, "it answered 500")
        assert view.next_at is not None
        assert view.last_at is not None
        assert 5 <= (view.next_at - view.last_at).total_seconds() < 6
        rig.pass_time(seconds=6)
        (view,) = await rig.until(lambda log: log[0].attempts == 2)
        assert view.next_at is not None
        assert view.last_at is not None
        assert 300 <= (view.next_at - view.last_at).total_seconds() < 360
        rig.pass_time(seconds=360)
        await rig.until(lambda log: statuses(log) == ["delivered"])
        assert len({seen.headers["webhook-id"] for seen in receiver.seen}) == 1
        assert len({seen.body for seen in receiver.seen}) == 1
        assert len(receiver.seen) == 3


async def test_ten_failures_are_the_end_and_it_can_be_resent(database_url: str) -> None:
    """Within four days; resending begins anew, under the same id."""
    status = [500]
    async with rigged(database_url) as rig, receiving(lambda _: web.Response(status=status[0])) as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        for attempts in range(1, 10):
            (view,) = await rig.until(lambda log, n=attempts: log and log[0].attempts == n)  # type: ignore[misc]
            rig.pass_until(view.next_at)
        (view,) = await rig.until(lambda log: statuses(log) == ["failed"])
        assert (view.attempts, len(receiver.seen), view.next_at) == (10, 10, None)
        status[0] = 200
        assert await rig.deliveries.resend("acme", "crm", view.id, rig.calendar.now())
        rig.outgoing.wake()
        await rig.until(lambda log: statuses(log) == ["delivered"])
        assert {seen.headers["webhook-id"] for seen in receiver.seen} == {view.id}


async def test_a_receiver_is_left_alone_as_long_as_it_asks(database_url: str) -> None:
    """Retry-After counts when it is longer than the schedule, and for everything that goes there."""

    def busy(_: Seen) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "600"})

    async with rigged(database_url) as rig, receiving(busy) as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        (view,) = await rig.until(lambda log: log and log[0].attempts == 1)
        assert view.next_at is not None
        assert view.last_at is not None
        assert (view.next_at - view.last_at).total_seconds() == 600
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: len(log) == 2)
        rig.pass_time(seconds=590)
        receiver.answering = lambda _: web.Response()
        assert len(receiver.seen) == 1
        rig.pass_time(seconds=10)
        await rig.until(lambda log: statuses(log) == ["delivered", "delivered"])


async def test_410_disables_and_holds_what_is_pending(database_url: str) -> None:
    """Until somebody enables it; what was held goes out when asked for."""
    status = [410]
    async with rigged(database_url) as rig, receiving(lambda _: web.Response(status=status[0])) as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: statuses(log) == ["failed"])
        await _until_disabled(rig, "gone")
        since = rig.calendar.now()
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: statuses(log) == ["failed", "held"])
        await rig.webhooks.enable("acme", "crm", ADMIN)
        status[0] = 204
        assert await rig.deliveries.resend_since("acme", "crm", since, status="held", now=rig.calendar.now()) == 1
        rig.outgoing.wake()
        await rig.until(lambda log: statuses(log) == ["failed", "delivered"])
        assert len(receiver.seen) == 2


async def test_five_days_of_failure_disable(database_url: str) -> None:
    """One that arrives in between begins the count anew."""
    status = [500]
    async with rigged(database_url) as rig, receiving(lambda _: web.Response(status=status[0])) as receiver:
        await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: log and log[0].attempts == 1)
        rig.pass_time(days=3)
        status[0] = 200
        await rig.until(lambda log: statuses(log) == ["delivered"])
        status[0] = 500
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: len(log) == 2 and log[1].attempts == 1)
        rig.pass_time(days=4)
        await rig.until(lambda log: log[1].attempts == 2)
        assert (await rig.webhooks.get("acme", "crm")).disabled is None
        rig.pass_time(days=1)
        await _until_disabled(rig, "failing")
        await rig.until(lambda log: statuses(log) == ["delivered", "held"])
        assert receiver.seen


async def test_a_changed_secret_keeps_old_receivers_working_for_a_day(database_url: str) -> None:
    """Whoever knows the former one verifies as well as who knows the new one; then only the new one."""
    async with rigged(database_url) as rig, receiving() as receiver:
        old = await rig.put("crm", receiver.url, "grant.*")
        new = (await rig.webhooks.rotate("acme", "crm", None, ADMIN)).secret
        assert new is not None
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: statuses(log) == ["delivered"])
        for known in (old, new):
            Webhook(known).verify(receiver.seen[0].body, receiver.seen[0].headers)
        rig.pass_time(days=1)
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: statuses(log) == ["delivered", "delivered"])
        assert len(receiver.seen[1].headers["webhook-signature"].split()) == 1
        with pytest.raises(WebhookVerificationError):
            Webhook(old).verify(receiver.seen[1].body, receiver.seen[1].headers)


async def test_one_dead_receiver_slows_no_other(database_url: str) -> None:
    """Hundreds wait for one that never answers; another one hears at once."""
    async with rigged(database_url, timeout_s=30) as rig, receiving() as dead, receiving() as alive:
        dead.held = asyncio.Event()
        await rig.put("dead", dead.url, "grant.*")
        await rig.put("crm", alive.url, "delegation.*")
        await asyncio.gather(*(rig.happen("grant.given.v1") for _ in range(200)))
        await rig.until(lambda log: len(log) == 200, "dead")
        async with asyncio.timeout(5):
            await rig.happen("delegation.given.v1")
            await rig.until(lambda log: statuses(log) == ["delivered"])
        assert 1 <= len(dead.seen) <= 8


async def test_nothing_goes_where_the_guard_lets_nothing_go(database_url: str) -> None:
    """Refused when it is put; a name that leads there later is a failure, and told."""
    async with rigged(database_url, allowed="localhost") as rig, receiving() as receiver:
        url = receiver.url
        with pytest.raises(Exception, match="is not reached"):
            await rig.put("crm", url, "grant.*")
        await rig.put("crm", url.replace("127.0.0.1", "localhost"), "grant.*")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: statuses(log) == ["delivered"])
        assert len(receiver.seen) == 1


async def test_what_was_not_recorded_is_sent_again_under_the_same_id(database_url: str) -> None:
    """A leader that is killed between sending and writing loses nothing; receivers tell by the id."""
    async with receiving() as receiver:
        receiver.held = asyncio.Event()
        async with rigged(database_url) as rig:
            await rig.put("crm", receiver.url, "grant.*")
            await rig.happen("grant.given.v1")
            await until(lambda: bool(receiver.seen))
        receiver.held.set()
        async with rigged(database_url) as rig:
            await rig.until(lambda log: statuses(log) == ["delivered"])
        assert len({seen.headers["webhook-id"] for seen in receiver.seen}) == 1
        assert len(receiver.seen) == 2


async def test_a_removed_webhook_hears_nothing_more(database_url: str) -> None:
    """What was pending is dropped; put again, it begins with a secret of its own."""
    async with rigged(database_url) as rig, receiving(lambda _: web.Response(status=500)) as receiver:
        first = await rig.put("crm", receiver.url, "grant.*")
        await rig.happen("grant.given.v1")
        await rig.until(lambda log: log and log[0].attempts == 1)
        await rig.webhooks.remove("acme", "crm", ADMIN)
        await rig.until(lambda log: statuses(log) == ["dropped"])
        assert await rig.webhooks.all("acme") == []
        assert await rig.put("crm", receiver.url, "grant.*") != first


async def _until_disabled(rig: Rig, reason: str) -> None:
    async def is_disabled() -> bool:
        return (await rig.webhooks.get("acme", "crm")).disabled is not None

    await until(is_disabled)
    webhook = await rig.webhooks.get("acme", "crm")
    assert webhook.disabled is not None
    assert webhook.disabled.reason == reason
