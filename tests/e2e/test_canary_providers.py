"""
Secrets through every provider, MCP server, stored setup, approval and webhook; then everything left is searched.

Traces: nothing here exports any. All there is of them is the `traceparent` of a call, which stands in its events; it
is the client's, vendors are told of none, and a `tracestate`, in which these clients put their secrets, is not kept.
"""

import asyncio
import json
import re
import signal
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.canaries import COUNT, files_below, traces
from tests.e2e.canary_places import metrics_of, rows_of, told_by
from tests.e2e.canary_servers import READ, Servers, all_servers, put_webhooks, tools_of_servers
from tests.e2e.canary_streams import messages_of
from tests.e2e.canary_vendors import KNOWN, SIGNING, Sending, Vendors
from tests.e2e.test_up import Up, running
from tests.e2e.up.test_dead_letters import publish
from tests.nats_fixtures import until
from toolbus_integrations.hosting.shelf import ours

ENDED = frozenset({"succeeded", "failed", "in_doubt", "refused", "expired", "cancelled", "denied"})
PLANTED = "a-text-that-everybody-may-read"  # shows that the search finds what is there
PLACES = ("/v1/calls", "/nats/", "rows of events", "messages of EVENTS")  # where it has to be found
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WITHOUT_SECRETS = {"dummy", "ffmpeg"}  # their providers have no setup, and arguments hold no references
BESIDE = {"email", "mcp", "remote_browser"}
Calls = list[dict[str, Any]]


async def prepare(http: httpx.AsyncClient, sending: Sending) -> None:
    """Its secrets are there, its tool, and its stored setup."""
    await keep(http, sending.values)
    answer = await http.put(f"/v1/tools/{sending.name}", json=dict(sending.definition))
    assert answer.is_success, answer.text
    if sending.stored:
        answer = await http.put(f"/v1/stored/tenant/all/{sending.name}", json={"setup": sending.stored})
        assert answer.is_success, answer.text


async def keep(http: httpx.AsyncClient, values: dict[str, str] | Any) -> None:
    """These secrets are stored."""
    for name, value in values.items():
        assert (await http.put(f"/v1/secrets/{name}", json={"value": value})).is_success, name


async def carried_out(
    http: httpx.AsyncClient, tool: str, arguments: Any, *, is_approved: bool = False, **headers: str
) -> dict[str, Any]:
    """The call of a tool as it stands when it ended."""
    body = {"tool": tool, "arguments": arguments, "labels": {"planted": PLANTED}}
    answer = await http.post("/v1/calls", json=body, headers={"traceparent": TRACE, **headers})
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    if is_approved:
        await agree(http, found)

    async def is_over() -> bool:
        nonlocal found
        found = (await http.get(f"/v1/calls/{found['id']}")).json()
        return found["status"] in ENDED

    await until(is_over, within_s=90.0)
    return found


async def agree(http: httpx.AsyncClient, call: dict[str, Any]) -> None:
    """Somebody agrees to the call, which waits for it."""
    assert call["wait"]["kind"] == "approval", call
    path, digest = f"/v1/waits/{call['wait']['id']}/approve", {"digest": call["wait"]["digest"]}

    async def is_taken() -> bool:
        return (await http.post(path, json=digest)).is_success

    await until(is_taken, within_s=30.0)


async def send(http: httpx.AsyncClient, sendings: Iterable[Sending]) -> Calls:
    """All of them at once; each came to what it had to."""
    every = list(sendings)
    for sending in every:
        await prepare(http, sending)
    made = (
        carried_out(http, one.name, dict(one.arguments), is_approved=one.is_approved, tracestate=_state(one))
        for one in every
    )
    found = await asyncio.gather(*made)
    both = list(zip(every, found, strict=True))
    wrong = [(one.name, call["error"]) for one, call in both if one.status and call["status"] != one.status]
    assert wrong == []
    assert [one.name for one, call in both if one.tells and "[secret:" not in json.dumps(call)] == []
    return found


def _state(sending: Sending) -> str:
    """A client that traces with what it should not: it is heard by nobody."""
    return f"key={next(iter(sending.values.values()))}"


async def through_vendors(http: httpx.AsyncClient, vendors: Vendors, sendings: list[Sending]) -> Calls:
    """Every vendor, three times; the keys that are sent came to it."""
    calls: Calls = []
    for way in ("honest", "garbled", "refused"):
        these = list(vendors.honest() if way == "honest" else vendors.unfaithful(way))
        calls += await send(http, these)
        wanted = {name for one in these for name in one.values if not any(key in name for key in SIGNING)}
        assert wanted - vendors.sent(these) == set()
        sendings += these
    return calls


async def through_servers(http: httpx.AsyncClient, servers: Servers, values: dict[str, str]) -> Calls:
    """Every MCP server, by tools of its own: what they tell names the secrets."""
    for name, settings, its_values in servers.mcp_settings():
        await keep(http, its_values)
        values |= its_values
        answer = await http.put(f"/v1/mcp/servers/{name}", json=settings)
        assert answer.is_success, answer.text
    calls = []
    for name, server, tool in tools_of_servers():
        body = {"name": name, "mcp": {"server": server, "tool": tool}, "contract": READ, "retry": {"attempts": 1}}
        answer = await http.put(f"/v1/tools/{name}", json=body)
        assert answer.is_success, answer.text
        calls.append(await carried_out(http, name, {}))
        assert "[secret:" in json.dumps(calls[-1]), calls[-1]
    return calls


async def die(up: Up, http: httpx.AsyncClient) -> str:
    """A message that nobody can read names a secret, and lies among the dead; its id."""
    await publish(up.credentials, json.dumps({"told": PLANTED, "secret": "secret://mail_password"}).encode())
    found: list[str] = []

    async def is_there() -> bool:
        found[:] = [item["id"] for item in (await http.get("/v1/dead")).json()["items"]]
        return bool(found)

    await until(is_there)
    return found[0]


def test_no_provider_is_left_out() -> None:
    """Each is in a table here, or has no place for a secret."""
    assert set(KNOWN) | BESIDE | WITHOUT_SECRETS == set(ours())


@pytest.mark.timeout(300)
async def test_no_secret_of_a_provider_is_left_anywhere(
    kept: tuple[str, tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Database, files of NATS, logs, metrics of every process, traces, and what HTTP tells."""
    monkeypatch.setenv("TOOLBUS_LOG_LEVEL", "debug")
    beside, folder, (url, flags) = tmp_path / "servers", tmp_path / "data", kept
    beside.mkdir()
    with ExitStack() as stack:
        vendors = Vendors(stack, monkeypatch)
        async with all_servers(beside, monkeypatch) as servers, running(folder, *flags) as up:
            values, told = await everything(up, vendors, servers)
            assert up.process is not None
            pages = await metrics_of(up.process.pid)
            await up.end(signal.SIGTERM)
    assert len(pages) == (3 if flags else 1)  # an executor that serves nothing has none
    rows = await rows_of(url)
    told += [*pages, *rows, *files_below(folder, folder.with_suffix(".log")), *await messages_of(folder, "default")]
    assert list(traces(values.items(), told)) == []
    assert missed(told, flags) == []
    traced = b"\n".join(data for where, data in rows if where == "rows of events")
    assert set(re.findall(rb"\b[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\b", traced)) == {TRACE.encode()}


async def everything(up: Up, vendors: Vendors, servers: Servers) -> tuple[dict[str, str], list[tuple[str, bytes]]]:
    """All calls were made: the secrets by name, and what is told of the calls over HTTP."""
    secret = servers.webhook_secret
    values = {"webhook": secret, "inside of webhook": secret.removeprefix("whsec_")}
    async with up.client() as http:
        await put_webhooks(http, servers)
        sendings: list[Sending] = []
        calls = await through_vendors(http, vendors, sendings)
        these = list(servers.sendings())
        calls += await send(http, these)
        calls += await send(http, [servers.refused_mail()])
        calls += await through_servers(http, servers, values)
        for one in (*sendings, *these):
            values |= one.values
        assert servers.are_signed_in(values)
        assert len(set(values.values())) > COUNT
        asked = (await http.post("/v1/calls", json={"tool": "asked", "arguments": {}})).json()
        named = await http.post(
            "/v1/calls", json={"tool": "weather_refused", "arguments": {"location": "secret://mine"}}
        )
        assert named.json()["code"] == "invalid_arguments"
        await until(lambda: any(asked["id"].encode() in one.body for one in servers.receiver.seen), within_s=30.0)
        dead = await die(up, http)
    assert vendors.traced() == []
    paths = [f"/v1/calls/{call['id']}" for call in (*calls, asked)]
    paths += [f"/v1/executions/{call['execution_id']}/events" for call in calls]
    paths += ["/metrics", "/v1/secrets", "/v1/calls?limit=100", "/v1/tools?limit=100", "/v1/waits?status=closed"]
    paths += ["/v1/stored", "/v1/mcp/servers", "/v1/webhooks/mine/deliveries?limit=500", "/v1/dead", f"/v1/dead/{dead}"]
    async with up.client() as http:  # with connections of its own: those of before may be about to close
        return {**values, **vendors.given_out()}, [*servers.heard(), *await told_by(http, paths)]


def missed(told: list[tuple[str, bytes]], flags: tuple[str, ...]) -> list[str]:
    """Places in which the search does not even find what has to be there."""
    there = {
        PLANTED: [*PLACES, "webhook", "/v1/dead/", "messages of DEAD", *([] if flags else ["toolbus.db"])],
        "Toolbus is ready": ["data.log"],
        "my token is [secret:stdio_token]": ["data.log"] if flags else [],  # in one process only warnings are shown
        "toolbus_effects_total": ["/metrics", *(where for where, _ in told if where.startswith("metrics on"))],
        "weather_openweathermap_api_key_garbled": ["/v1/stored"],
    }
    found = {text: "\n".join(traces([("it", text)], told)) for text in there}
    return [place for text, places in there.items() for place in places if place not in found[text]]
