"""What the tests of client functions share: functions, their waiting calls, and workers."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx

from tests.e2e.harness import TENANTS, World
from tests.nats_fixtures import until

PARAMETERS = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
MONTH_S = 31 * 86400


async def define(world: World, name: str = "draft", **more: Any) -> None:
    """The function is there for both tenants."""
    for tenant in TENANTS:
        http = await world.client(tenant)
        definition = {"name": name, "function": {"parameters": PARAMETERS}, "expires_s": MONTH_S, **more}
        answer = await http.put(f"/v1/tools/{name}", json=definition)
        assert answer.is_success, answer.text


async def desk(world: World, tenant: str = "default") -> httpx.AsyncClient:
    """HTTP to the service that holds waiting calls, with a tenant's first key."""
    return await world.client(tenant, "approvals")


async def limited(world: World, **key: Any) -> httpx.AsyncClient:
    """As `desk`, with a key made for this."""
    answer = await world.http.post("/v1/keys", json={"subject": "service:worker", "scopes": ["work"], **key})
    assert answer.is_success, answer.text
    http = await desk(world)
    http.headers["authorization"] = f"Bearer {answer.json()['token']}"
    return http


async def stand(world: World, count: int, tool: str = "draft") -> list[str]:
    """So many calls of the function wait; their ids, the oldest first."""
    found: list[str] = []
    for start in range(0, count, 1000):
        names = range(start, min(count, start + 1000))
        calls = [{"tool": tool, "arguments": {"name": f"n{name}"}} for name in names]
        items = (await world.http.post("/v1/calls/batch", json={"calls": calls})).json()["items"]
        assert {item["status"] for item in items} == {202}, items[0]
        found += [item["call"]["id"] for item in items]
    return found


async def lease(http: httpx.AsyncClient, limit: int = 1, *, visibility_s: float = 60, tool: str = "draft") -> Any:
    """What a worker gets."""
    answer = await http.post("/v1/waits/lease", json={"tools": [tool], "max": limit, "visibility_s": visibility_s})
    assert answer.status_code == httpx.codes.OK, answer.text
    return answer.json()["items"]


async def leased(http: httpx.AsyncClient, limit: int = 1, **options: Any) -> Any:
    """As `lease`, once there are so many: a call that was just submitted is there a moment later."""
    found: list[Any] = []

    async def are_there() -> bool:
        found.extend(await lease(http, limit - len(found), **options))
        return len(found) == limit

    await until(are_there, within_s=30)
    return found


async def complete(http: httpx.AsyncClient, call_id: str, body: Any, **headers: str) -> httpx.Response:
    """The answer to whoever completes a call."""
    return await http.post(f"/v1/calls/{call_id}/complete", json=body, headers=headers)


async def work(http: httpx.AsyncClient, done: Counter[str], is_over: Callable[[], bool], *, limit: int = 5) -> None:
    """One worker: takes calls and completes them until nothing is left to do; `done` counts by call id."""

    async def is_idle() -> bool:
        for call in await lease(http, limit):
            done[call["call_id"]] += 1
            answer = await complete(http, call["call_id"], {"output": call["arguments"]})
            assert answer.status_code == httpx.codes.OK, answer.text
        return is_over()

    await until(is_idle, within_s=200)
