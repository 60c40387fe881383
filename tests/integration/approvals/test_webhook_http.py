"""`/v1/webhooks` of the running service, without a bus: who may, what is shown once, what is told, what is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from aiohttp import web
from pydantic import SecretStr
from standardwebhooks.webhooks import Webhook

from tests.integration.approvals.service import define_refund
from tests.integration.approvals.webhook_rig import receiving
from tests.nats_fixtures import until
from toolbus_approvals.app import Approvals
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_dispatcher.bootstrap import create_first_key
from toolbus_runtime.http.server import listen

URL = "https://crm.example.com/hooks"


@asynccontextmanager
async def serving(database_url: str, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The service on a free port, and a client with a key of every scope."""
    token = await create_first_key(database_url, "acme")
    await define_refund(database_url)
    bound = listen("127.0.0.1", 0)
    given = {"secrets_key": SecretStr("s" * 40), "token_key": SecretStr("t" * 40), "egress_allow": "127.0.0.0/8"}
    found = ApprovalsSettings(
        database_url=database_url, nats_url="nats://127.0.0.1:1", shutdown_grace_s=1, **{**given, **settings}
    )
    stop = asyncio.Event()
    port = bound.getsockname()[1]
    running = asyncio.create_task(Approvals(found).run(stop, bound))
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False) as client:
        try:
            yield client
        finally:
            stop.set()
            await running


@pytest.fixture
async def http(sqlite_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that keeps secrets."""
    async with serving(sqlite_url) as client:
        yield client


async def until_status(http: httpx.AsyncClient, *wanted: str) -> list[dict[str, Any]]:
    """Wait until the deliveries of `crm` stand so, the newest first."""
    items: list[dict[str, Any]] = []

    async def stand() -> bool:
        items[:] = (await http.get("/v1/webhooks/crm/deliveries")).json()["items"]
        return [item["status"] for item in items] == list(wanted)

    await until(stand)
    return items


async def give_grant(http: httpx.AsyncClient) -> None:
    """Something happens that webhooks hear of."""
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    answer = await http.post("/v1/grants", json={"tool": "refund", "uses": 1, "until": later})
    assert answer.status_code == 201, answer.text


async def test_a_secret_that_is_made_is_shown_once(http: httpx.AsyncClient) -> None:
    """Neither reading nor putting the same again shows it."""
    made = await http.put("/v1/webhooks/crm", json={"url": URL, "events": ["call.*"]})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    again = await http.put("/v1/webhooks/crm", json={"url": URL, "events": ["call.*"]})
    assert (again.status_code, again.json()["secret"]) == (200, None)
    read = (await http.get("/v1/webhooks/crm")).json()
    assert "secret" not in read
    assert len(read["secrets"]) == 1
    assert (await http.get("/v1/webhooks")).json() == {"items": [read], "next_cursor": None}


async def test_a_secret_of_ones_own_is_never_shown(http: httpx.AsyncClient) -> None:
    """The same one again rotates nothing; another one does, for a day."""
    first, second = "whsec_" + "A" * 32, "whsec_" + "B" * 32
    body = {"url": URL, "events": ["call.*"]}
    for secret, count in ((first, 1), (first, 1), (second, 2), (second, 2)):
        answer = (await http.put("/v1/webhooks/crm", json={**body, "secret": secret})).json()
        assert answer["secret"] is None
        assert len(answer["secrets"]) == count
    newest, former = (await http.get("/v1/webhooks/crm")).json()["secrets"]
    assert newest["until"] is None
    assert former["until"] is not None


async def test_rotating_makes_a_secret(http: httpx.AsyncClient) -> None:
    """A private key tells its public one."""
    await http.put("/v1/webhooks/crm", json={"url": URL})
    made = (await http.post("/v1/webhooks/crm/rotate")).json()
    assert made["secret"].startswith("whsec_")
    key = "whsk_" + "A" * 43 + "="
    told = (await http.post("/v1/webhooks/crm/rotate", json={"secret": key})).json()
    assert told["secret"] is None
    assert told["secrets"][0]["scheme"] == "v1a"
    assert told["secrets"][0]["public_key"].startswith("whpk_")


async def test_an_event_of_the_service_is_sent_and_can_be_sent_again(database_url: str) -> None:
    """One delivery, or all since a time; under the same id."""
    async with serving(database_url) as http, receiving() as receiver:
        secret = (await http.put("/v1/webhooks/crm", json={"url": receiver.url, "events": ["grant.*"]})).json()[
            "secret"
        ]
        began = datetime.now(UTC).isoformat()
        await give_grant(http)
        (item,) = await until_status(http, "delivered")
        assert Webhook(secret).verify(receiver.seen[0].body, receiver.seen[0].headers)["type"] == "grant.given"
        again = await http.post(f"/v1/webhooks/crm/deliveries/{item['id']}/resend")
        assert (again.status_code, again.json()["status"]) == (200, "pending")
        await until(lambda: len(receiver.seen) == 2)
        await until_status(http, "delivered")
        answer = await http.post("/v1/webhooks/crm/resend", params={"since": began, "status": "failed"})
        assert answer.json() == {"deliveries": 0}
        answer = await http.post("/v1/webhooks/crm/resend", params={"since": began})
        assert answer.json() == {"deliveries": 1}
        await until(lambda: len(receiver.seen) == 3)
        assert {seen.headers["webhook-id"] for seen in receiver.seen} == {item["id"]}


async def test_deliveries_are_listed_over_pages(http: httpx.AsyncClient) -> None:
    """Newest first, by status if wanted; of a webhook that is there."""
    async with receiving() as receiver:
        await http.put("/v1/webhooks/crm", json={"url": receiver.url, "events": ["grant.*"]})
        for _ in range(3):
            await give_grant(http)
        items = await until_status(http, *["delivered"] * 3)
        page = (await http.get("/v1/webhooks/crm/deliveries", params={"limit": 2})).json()
        rest = (await http.get("/v1/webhooks/crm/deliveries", params={"cursor": page["next_cursor"]})).json()
        assert page["items"] + rest["items"] == items
        assert rest["next_cursor"] is None
        assert (await http.get("/v1/webhooks/crm/deliveries", params={"status": "failed"})).json()["items"] == []
        assert (await http.get("/v1/webhooks/none/deliveries")).status_code == 404


async def test_a_disabled_webhook_is_enabled_by_hand(http: httpx.AsyncClient) -> None:
    """Until then nothing is sent again there."""
    async with receiving(lambda _: web.Response(status=410)) as receiver:
        await http.put("/v1/webhooks/crm", json={"url": receiver.url, "events": ["grant.*"]})
        await give_grant(http)
        (item,) = await until_status(http, "failed")

        async def is_disabled() -> bool:
            return bool((await http.get("/v1/webhooks/crm")).json()["status"] == "disabled")

        await until(is_disabled)
        refused = await http.post(f"/v1/webhooks/crm/deliveries/{item['id']}/resend")
        assert (refused.status_code, refused.json()["code"]) == (409, "webhook_disabled")
        assert (await http.post("/v1/webhooks/crm/enable")).json()["status"] == "enabled"
        receiver.answering = lambda _: web.Response()
        assert (await http.post(f"/v1/webhooks/crm/deliveries/{item['id']}/resend")).status_code == 200
        await until_status(http, "delivered")


async def test_a_removed_webhook_is_gone(http: httpx.AsyncClient) -> None:
    """A second time there is none such."""
    await http.put("/v1/webhooks/crm", json={"url": URL})
    assert (await http.delete("/v1/webhooks/crm")).status_code == 200
    for answer in (
        await http.get("/v1/webhooks/crm"),
        await http.delete("/v1/webhooks/crm"),
        await http.post("/v1/webhooks/crm/enable"),
        await http.post("/v1/webhooks/crm/rotate"),
        await http.post("/v1/webhooks/crm/resend", params={"since": "2026-01-01"}),
        await http.post("/v1/webhooks/crm/deliveries/x/resend"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await http.get("/v1/webhooks")).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        ({}, 422, "/url"),
        ({"url": "ftp://a.example.com"}, 422, "/url"),
        ({"url": URL, "events": ["call"]}, 422, "/events/0"),
        ({"url": URL, "events": ["call.*", "call.gone"]}, 422, "/events/1"),
        ({"url": URL, "secret": "whsec_c2hvcnQ="}, 422, "/secret"),
        ({"url": URL, "more": 1}, 422, "/more"),
        ({"url": "http://169.254.169.254/latest"}, 403, None),
        ({"url": "http://user:pw@crm.example.com/"}, 403, None),
    ],
)
async def test_what_cannot_be_is_refused(
    http: httpx.AsyncClient, body: dict[str, Any], status: int, path: str | None
) -> None:
    """With the place of the fault; a secret is told by no refusal."""
    answer = await http.put("/v1/webhooks/crm", json=body)
    assert answer.status_code == status
    if path is not None:
        assert [fault["path"] for fault in answer.json()["errors"]] == [path]
    assert "c2hvcnQ" not in answer.text
    assert (await http.get("/v1/webhooks/crm")).status_code == 404


@pytest.mark.parametrize("name", ["a b", "1a", "-", "a" * 65, "a.b"])
async def test_a_name_is_a_name(http: httpx.AsyncClient, name: str) -> None:
    """Anything else is refused by its place."""
    answer = await http.put(f"/v1/webhooks/{name}", json={"url": URL})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "/path/name"


async def test_a_webhook_needs_the_scope_admin(sqlite_url: str) -> None:
    """Whoever may only read learns of no url and no secret."""
    async with serving(sqlite_url) as http:
        for headers in ({}, {"authorization": "Bearer tb_x"}):
            async with httpx.AsyncClient(base_url=http.base_url, headers=headers, trust_env=False) as nobody:
                assert (await nobody.get("/v1/webhooks")).status_code == 401
                assert (await nobody.put("/v1/webhooks/crm", json={"url": URL})).status_code == 401


async def test_without_a_key_no_secret_is_kept(sqlite_url: str) -> None:
    """The answer names the setting; nothing is defined."""
    async with serving(sqlite_url, secrets_key=SecretStr("")) as http:
        answer = await http.put("/v1/webhooks/crm", json={"url": URL})
        assert answer.status_code == 503
        assert "TOOLBUS_SECRETS_KEY" in answer.json()["detail"]
        assert (await http.get("/v1/webhooks/crm")).status_code == 404
