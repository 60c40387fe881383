"""Webhooks of a whole installation: functions that are asked, systems that are told, and a service that is killed."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from tests.e2e import functions
from tests.e2e.functions import complete, desk, leased
from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.integration.approvals.webhook_rig import Receiver, receiving
from tests.nats_fixtures import until

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def here(nursery: Nursery, tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """An installation on each database; nothing that would execute anything else."""
    async with world(nursery, tmp_path, database_url, "approvals", "dispatcher") as made:
        await made.until_ready("approvals")
        yield made


@pytest.fixture
async def client() -> AsyncIterator[Receiver]:
    """A client that carries out functions, and says that all went well."""
    async with receiving(lambda _: web.json_response({"output": {"letter": "Dear Ana"}})) as receiver:
        yield receiver


async def put(here: World, url: str, *events: str, name: str = "mine") -> str:
    """A webhook is there; gives its secret."""
    answer = await here.http.put(f"/v1/webhooks/{name}", json={"url": url, "events": list(events)})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    secret: str = answer.json()["secret"]
    return secret


async def define(here: World, client: Receiver, **more: Any) -> None:
    """A function that is asked by webhook, signed with the secrets of `mine`."""
    await functions.define(here, webhook={"url": client.url, "secret": "secret://mine"}, **more)


async def deliveries(here: World, name: str = "mine") -> list[dict[str, Any]]:
    """What was sent, the newest first."""
    items: list[dict[str, Any]] = (await here.http.get(f"/v1/webhooks/{name}/deliveries")).json()["items"]
    return items


async def ended_call(here: World, call_id: str) -> dict[str, Any]:
    """The call, once it has ended."""
    found: dict[str, Any] = {}

    async def has_ended() -> bool:
        found.update(await here.call(call_id))
        return found["finished_at"] is not None

    await until(has_ended)
    return found


async def test_a_function_answers_at_once_and_others_hear_of_it(here: World, client: Receiver) -> None:
    """One signed question, its answer is the outcome, and a system that subscribed is told of it."""
    async with receiving() as crm:
        secret = await put(here, client.url)
        told = await put(here, crm.url, "call.succeeded", name="crm")
        await define(here, client)
        call = await here.submit("draft", "ana")
        ended = await ended_call(here, call["id"])
        assert (ended["status"], ended["output"]) == ("succeeded", {"letter": "Dear Ana"})
        (asked,) = client.seen
        message = Webhook(secret).verify(asked.body, asked.headers)
        assert (message["data"]["call_id"], message["data"]["arguments"]) == (call["id"], {"name": "ana"})
        await until(lambda: len(crm.seen) == 1)
        heard = Webhook(told).verify(crm.seen[0].body, crm.seen[0].headers)
        assert (heard["type"], heard["data"]["call_id"]) == ("call.succeeded", call["id"])


async def test_a_function_answers_later_with_the_token_it_was_told(here: World, client: Receiver) -> None:
    """It needs no key of its own."""
    client.answering = lambda _: web.Response(status=202)
    await put(here, client.url)
    await define(here, client)
    call = await here.submit("draft", "ana")
    await until(lambda: len(client.seen) == 1)
    token = json.loads(client.seen[0].body)["data"]["token"]
    async with httpx.AsyncClient(base_url=here.http.base_url, trust_env=False) as nobody:
        answer = await complete(nobody, call["id"], {"output": 1}, authorization=f"Bearer {token}")
    assert (answer.status_code, answer.json()["output"]) == (200, 1)
    assert (await here.call(call["id"]))["status"] == "succeeded"


async def test_nothing_is_asked_before_the_approval(here: World, client: Receiver) -> None:
    """A person agrees first; then the client is asked, with what the person made of the arguments."""
    await put(here, client.url)
    await define(here, client, approval={"may_edit": False, "requester_may_approve": True})
    call = await here.submit("draft", "ana")
    assert call["wait"]["kind"] == "approval"
    wait_id, digest = call["wait"]["id"], call["wait"]["digest"]
    http = await desk(here)

    async def is_there() -> bool:
        return (await http.get(f"/v1/waits/{wait_id}")).status_code == httpx.codes.OK

    await until(is_there)
    assert client.seen == []
    answer = await http.post(f"/v1/waits/{wait_id}/approve", json={"digest": digest})
    assert answer.status_code == httpx.codes.OK, answer.text
    ended = await ended_call(here, call["id"])
    assert (ended["status"], len(client.seen)) == ("succeeded", 1)


async def test_the_first_answer_counts(here: World, client: Receiver) -> None:
    """A worker was faster than the webhook: its answer stands, and the log of deliveries tells so."""
    client.held = asyncio.Event()
    await put(here, client.url)
    await define(here, client)
    call = await here.submit("draft", "ana")
    await until(lambda: len(client.seen) == 1)
    http = await desk(here)
    await leased(http)
    assert (await complete(http, call["id"], {"output": "faster"})).status_code == httpx.codes.OK
    client.held.set()

    async def is_told() -> bool:
        found = [item for item in await deliveries(here) if item["status"] == "delivered"]
        return bool(found) and found[0]["last_error"] is not None

    await until(is_told)
    assert (await here.call(call["id"]))["output"] == "faster"


async def test_a_service_that_is_killed_asks_again_under_the_same_id(here: World, client: Receiver) -> None:
    """Nobody knows whether the client heard: it hears again, tells by the id, and the call has one outcome."""
    client.held = asyncio.Event()
    await put(here, client.url)
    await define(here, client)
    calls = [await here.submit("draft", f"n{number}") for number in range(5)]
    await until(lambda: len(client.seen) == 5)
    await here.restart("approvals")
    client.held.set()
    for call in calls:
        assert (await ended_call(here, call["id"]))["status"] == "succeeded"
    await here.ledger.refresh()
    for call in calls:
        assert here.ledger.kinds(call["id"]) == ["requested", "wait_asked", "succeeded"]
    asked = {seen.headers["webhook-id"] for seen in client.seen}
    assert asked == {call["wait"]["id"] for call in calls}
    assert len(client.seen) == 10


async def test_a_cancelled_call_is_asked_no_more(here: World, client: Receiver) -> None:
    """Its client answered 500 and would be asked again in five seconds."""
    client.answering = lambda _: web.Response(status=500)
    await put(here, client.url)
    await define(here, client)
    call = await here.submit("draft", "ana")

    async def has_failed() -> bool:
        return [item["attempts"] for item in await deliveries(here)] == [1]

    await until(has_failed)
    assert (await here.http.post(f"/v1/calls/{call['id']}/cancel", json={})).is_success

    async def is_dropped() -> bool:
        return [item["status"] for item in await deliveries(here)] == ["dropped"]

    await until(is_dropped)
    assert len(client.seen) == 1
