"""One key, one call, one request: however often, and over whatever way, it is submitted."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.e2e.harness import World
from tests.nats_fixtures import until
from toolbus_contracts import subjects
from toolbus_contracts.digests import call_id_for_key
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming

BODY = {"tool": "act", "arguments": {"name": "once"}, "idempotency_key": "the key"}
OTHER = {**BODY, "arguments": {"name": "another"}}


async def over_http(http: httpx.AsyncClient, body: dict[str, Any]) -> tuple[int, str]:
    """Status and call id, or code of the problem."""
    answer = await http.post("/v1/calls", json=body)
    told = answer.json()
    return answer.status_code, told.get("id") or told["code"]


async def by_ask(bus: Bus, tenant: str, body: dict[str, Any]) -> tuple[int, str]:
    """As `over_http`, by a request on the bus."""
    reply = await bus.request(subjects.ask(tenant, "submit"), json.dumps(body).encode(), timeout_s=20)
    told = json.loads(reply.data)
    return told["status"], told["call"]["id"] if "call" in told else told["problem"]["code"]


async def by_command(bus: Bus, tenant: str, body: dict[str, Any], message_id: str = "") -> None:
    """Publish the command; the bus has taken it."""
    headers = {"Nats-Msg-Id": message_id} if message_id else None
    await bus.publish(subjects.command(tenant, "submit"), json.dumps(body).encode(), headers)


@pytest.mark.timeout(90)
async def test_fifty_submissions_of_one_key_are_one_call_and_one_request(postgres_world: World) -> None:
    """HTTP, ask and bus at once: every answer names the same call, and the target has one request."""
    world = postgres_world
    bus = await world.client_bus()
    call_id = call_id_for_key("default", "the key")
    commands = asyncio.gather(*(by_command(bus, "default", BODY) for _ in range(16)))
    answers = await asyncio.gather(
        *(over_http(world.http, BODY) for _ in range(17)), *(by_ask(bus, "default", BODY) for _ in range(17))
    )
    await commands
    assert {found for _, found in answers} == {call_id}
    assert {status for status, _ in answers} <= {200, 202}
    await world.ledger.until_ended([call_id])

    root = await world.bus("root")

    async def are_handled() -> bool:
        state = await root.stream_state("COMMANDS")
        return state is not None and state.messages == 0

    await until(are_handled)
    await world.ledger.refresh()
    assert world.ledger.kinds(call_id) == ["requested", "dispatched", "attempt_started", "succeeded"]
    assert world.target.counts == {"POST /items/once": 1}
    assert world.target.keys["POST /items/once"] == [call_id]


@pytest.mark.timeout(90)
async def test_another_body_with_the_same_key_is_refused_on_every_way(sqlite_world: World) -> None:
    """409 over HTTP and by ask; on the bus the refusal comes back as an event, and nothing is run."""
    world = sqlite_world
    bus = await world.client_bus()
    heard: list[Incoming] = []
    await bus.subscribe("toolbus.evt.default.command.*.refused", heard.append)
    first = await over_http(world.http, BODY)
    assert first[0] == 202
    assert await over_http(world.http, OTHER) == (409, "idempotency_key_reused")
    assert await by_ask(bus, "default", OTHER) == (409, "idempotency_key_reused")
    await by_command(bus, "default", OTHER, "my-message-1")
    await until(lambda: len(heard) == 1)
    assert heard[0].subject == "toolbus.evt.default.command.my-message-1.refused"
    assert json.loads(heard[0].data)["code"] == "idempotency_key_reused"
    await world.ledger.until_ended([first[1]])
    assert set(world.target.journal) == {"POST /items/once"}


@pytest.mark.timeout(90)
async def test_equal_keys_of_two_tenants_do_not_meet(sqlite_world: World) -> None:
    """Each tenant has its own call, over HTTP and over the bus, and sees neither the other's call nor its events."""
    world = sqlite_world
    second = await world.client("second")
    buses = {tenant: await world.client_bus(tenant) for tenant in ("default", "second")}
    heard: list[Incoming] = []
    await buses["second"].subscribe("toolbus.evt.second.>", heard.append)
    ours, theirs = await asyncio.gather(over_http(world.http, BODY), over_http(second, BODY))
    assert ours[1] != theirs[1]
    for tenant, bus in buses.items():
        await by_command(bus, tenant, {**BODY, "idempotency_key": "by bus"})
    ids = [ours[1], theirs[1], *(call_id_for_key(tenant, "by bus") for tenant in buses)]
    await world.ledger.until_ended(ids)
    assert world.target.counts == {"POST /items/once": 4}
    assert sorted(world.target.keys["POST /items/once"]) == sorted(ids)
    assert (await second.get(f"/v1/calls/{ours[1]}")).status_code == 404
    await until(lambda: len([one for one in heard if one.subject.endswith("succeeded")]) == 2)
    assert not [one for one in heard if ours[1] in one.subject]
