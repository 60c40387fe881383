"""`/v1/secrets` of the running service: who may, what is told, and that no value is ever told again."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from pydantic import SecretStr

from tests.nats_fixtures import Connect
from toolbus_contracts import subjects
from toolbus_contracts.keys import Actor, CreateKey, Scope
from toolbus_contracts.secrets import RemovedSecret, SealedSecret, read_published
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.resources import Resources
from toolbus_integrations.app import Integrations
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.http.server import listen
from toolbus_runtime.sealing import KeyRing, open_sealed
from toolbus_runtime.store.database import open_store

CANARY = "canary-7a5ebf-value"
KEY = "k" * 40
BODY = {"value": CANARY, "hosts": ["api.example.com"], "tools": ["refund"]}
NOWHERE = "nats://127.0.0.1:1"


async def token_with(database_url: str, *scopes: Scope, tenant: str = "acme") -> str:
    """A key of a tenant that may do this."""
    store = open_store(database_url)
    batcher = Batcher(store, AGGREGATES, lambda _: None)
    working = asyncio.create_task(batcher.run())
    try:
        command = CreateKey(subject="user:ana", scopes=scopes)
        actor = Actor(subject="service:test", via="internal")
        _, token = await Resources(batcher).create_key(command, tenant=tenant, actor=actor)
        return token.text()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await store.close()


@asynccontextmanager
async def serving(database_url: str, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The service on a free port, and a client with a key that may do everything."""
    bound = listen("127.0.0.1", 0)
    given = {"secrets_key": SecretStr(KEY), "nats_url": NOWHERE, "shutdown_grace_s": 1, **settings}
    stop = asyncio.Event()
    service = Integrations(IntegrationsSettings(database_url=database_url, **given))
    running = asyncio.create_task(service.run(stop, bound))
    headers = {"authorization": f"Bearer {await token_with(database_url, 'admin')}"}
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30) as client:
        try:
            yield client
        finally:
            stop.set()
            await running


@pytest.fixture
async def http(sqlite_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service without a bus."""
    async with serving(sqlite_url) as client:
        yield client


async def told(bus: Bus, name: str) -> SealedSecret | RemovedSecret:
    """What an executor reads of a secret of acme."""
    subject = subjects.secret("acme", name)
    reply = await bus.request(f"$JS.API.DIRECT.GET.{subjects.SECRETS}.{subject}", b"", timeout_s=5.0)
    return read_published(reply.data)


async def test_a_secret_is_stored_told_listed_and_removed(
    database_url: str, nats_server: EmbeddedNats, declared: Bus, connect: Connect
) -> None:
    """On both databases and a real bus; the executors have it when the answer comes."""
    executor = await connect("api_caller")
    settings = {"nats_url": nats_server.url, "nats_password": SecretStr(nats_server.passwords["integrations"])}
    async with serving(database_url, **settings) as http:
        for generation in (1, 2):
            answer = await http.put("/v1/secrets/pay.eu", json=BODY)
            assert answer.status_code == 200
            view = answer.json()
            assert view.pop("stored_at")
            assert view == {
                "name": "pay.eu",
                "generation": generation,
                "hosts": ["api.example.com"],
                "tools": ["refund"],
            }
        found = await told(executor, "pay.eu")
        assert isinstance(found, SealedSecret)
        assert open_sealed(KeyRing(KEY), "acme", found) == CANARY
        listed = await http.get("/v1/secrets")
        assert [(one["name"], one["generation"]) for one in listed.json()["items"]] == [("pay.eu", 2)]
        assert CANARY not in listed.text
        assert (await http.delete("/v1/secrets/pay.eu")).json()["generation"] == 2
        assert await told(executor, "pay.eu") == RemovedSecret(name="pay.eu", generation=2)
        assert (await http.delete("/v1/secrets/pay.eu")).status_code == 404
        assert (await http.get("/v1/secrets")).json() == {"items": [], "next_cursor": None}


async def test_lists_are_paged_by_name(http: httpx.AsyncClient) -> None:
    """Nothing twice, nothing left out; another tenant sees none of it."""
    for name in ("b", "a", "c"):
        assert (await http.put(f"/v1/secrets/{name}", json={"value": CANARY})).status_code == 200
    first = (await http.get("/v1/secrets?limit=2")).json()
    assert [one["name"] for one in first["items"]] == ["a", "b"]
    rest = (await http.get("/v1/secrets", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [one["name"] for one in rest["items"]] == ["c"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("scope", ["read", "submit", "work", "approve", "audit", "operate"])
async def test_only_an_admin_stores_and_only_operators_read_names(
    sqlite_url: str, http: httpx.AsyncClient, scope: Scope
) -> None:
    """Each other scope is refused."""
    headers = {"authorization": f"Bearer {await token_with(sqlite_url, scope)}"}
    assert (await http.put("/v1/secrets/pay", json=BODY, headers=headers)).status_code == 403
    assert (await http.delete("/v1/secrets/pay", headers=headers)).status_code == 403
    listed = await http.get("/v1/secrets", headers=headers)
    assert listed.status_code == (200 if scope == "operate" else 403)


async def test_tenants_are_strangers(sqlite_url: str, http: httpx.AsyncClient) -> None:
    """The tenant is that of the key: each has its own names."""
    other = {"authorization": f"Bearer {await token_with(sqlite_url, 'admin', tenant='other')}"}
    assert (await http.put("/v1/secrets/pay", json=BODY)).json()["generation"] == 1
    assert (await http.get("/v1/secrets", headers=other)).json()["items"] == []
    assert (await http.delete("/v1/secrets/pay", headers=other)).status_code == 404
    assert (await http.put("/v1/secrets/pay", json=BODY, headers=other)).json()["generation"] == 1


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (json.dumps({"value": [CANARY]}), "/value"),
        (json.dumps({"value": "c\u0000" + CANARY}), "/value"),
        (json.dumps({"value": ""}), "/value"),
        (json.dumps({"value": CANARY, "hosts": [CANARY + "!"]}), "/hosts/0"),
        (json.dumps({"value": CANARY, "tools": CANARY}), "/tools"),
        (json.dumps({"valeu": CANARY}), ""),
        (json.dumps({CANARY: "value"}), ""),
        (json.dumps({"value": CANARY, CANARY: 1}), ""),
        (json.dumps(CANARY), ""),
        (json.dumps({"value": CANARY * 4000}), "/value"),
        (f'{{"value": "{CANARY}"', None),
        (f'{{"value": "{CANARY}", "value": "{CANARY}"}}', "/value"),
        (f'{{"value": {CANARY}}}', None),
    ],
)
async def test_what_is_wrong_with_a_secret_is_told_by_its_place_alone(
    http: httpx.AsyncClient, content: str, path: str | None
) -> None:
    """Neither in the answer nor in the log does any part of the body come back."""
    with structlog.testing.capture_logs() as logged:
        answer = await http.put("/v1/secrets/pay", content=content)
    assert answer.status_code == 422
    assert CANARY not in answer.text
    assert CANARY not in str(logged)
    assert answer.headers["content-type"] == "application/problem+json"
    if path is not None:
        assert path in [one["path"] for one in answer.json()["errors"]]


@pytest.mark.parametrize("name", ["9lives", "a b", "a%2Fb", "x" * 65, "ä"])
async def test_a_name_that_is_none_is_refused(http: httpx.AsyncClient, name: str) -> None:
    """It has to fit into a reference, and into a subject."""
    answer = await http.put(f"/v1/secrets/{name}", json=BODY)
    assert answer.status_code in {404, 422}
    assert CANARY not in answer.text


async def test_without_a_bus_it_is_stored_all_the_same(http: httpx.AsyncClient) -> None:
    """The answer comes at once: nobody waits for a bus that is away."""
    async with asyncio.timeout(10):
        assert (await http.put("/v1/secrets/pay", json=BODY)).status_code == 200


async def test_without_a_master_key_nothing_is_stored(sqlite_url: str) -> None:
    """What to set is told; nothing else is refused for it."""
    async with serving(sqlite_url, secrets_key=SecretStr("")) as http:
        answer = await http.put("/v1/secrets/pay", json=BODY)
        assert answer.status_code == 503
        assert "TOOLBUS_SECRETS_KEY" in answer.json()["detail"]
        assert (await http.get("/v1/secrets")).json()["items"] == []


async def test_no_value_is_logged_or_lies_in_the_database(
    sqlite_url: str, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even at the lowest level, and in no file of it; what is logged are names and generations."""
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as logged:
        await http.put("/v1/secrets/pay", json=BODY)
        await http.delete("/v1/secrets/pay")
    assert {"secret.stored", "secret.removed"} <= {line["event"] for line in logged}
    assert CANARY not in str(logged) + caplog.text
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


async def test_the_document_shows_no_value(http: httpx.AsyncClient) -> None:
    """It may be written and not read; no operation answers with one."""
    document = (await http.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    assert schemas["PutSecret"]["properties"]["value"]["writeOnly"] is True
    assert "value" not in schemas["SecretView"]["properties"]
