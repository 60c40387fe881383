"""What changes between the yes and the effect: nothing is sent, and the call says that its approval is void."""

from functools import partial
from typing import Any

import httpx
import pytest

from tests.e2e.harness import readiness
from tests.e2e.people import DANGEROUS, People
from tests.nats_fixtures import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
CHANGES: dict[str, dict[str, Any]] = {
    "url": {"path": "/items/{name}"},
    "header": {"headers": {"x-account": "another"}},
    "method": {"method": "PUT"},
}


async def define(
    people: People,
    tool: str,
    *,
    path: str = "/hang/{name}",
    method: str = "POST",
    headers: dict[str, str] | None = None,
) -> None:
    """A dangerous tool, one call at a time, whose target answers when the test says so."""
    section: dict[str, Any] = {
        "method": method,
        "url": people.world.target.url + path,
        "headers": headers or {"x-account": "first"},
        "params_schema": SCHEMA,
    }
    body = {"name": tool, "api_call": section, **DANGEROUS, "approval": {}, "limits": {"concurrency": 1}}
    answer = await people.world.http.put(f"/v1/tools/{tool}", json=body)
    assert answer.is_success, answer.text


def reached(people: People, name: str) -> int:
    """How many requests about this name came to the target, whichever way."""
    return sum(count for place, count in people.world.target.counts.items() if place.endswith(f"/{name}"))


def has_reached(people: People, name: str) -> bool:
    """Whether a request about this name came to the target."""
    return reached(people, name) > 0


async def test_a_change_after_the_yes_voids_it(people: People) -> None:
    """Approved calls that are held until others have ended are compared with what their tools are by then."""
    ana = await people.person("user:ana")
    first, held = {}, {}
    for what in CHANGES:
        await define(people, f"changing_{what}")
        first[what] = await people.standing(f"changing_{what}", f"{what}-first")
        held[what] = await people.standing(f"changing_{what}", f"{what}-held")
    for what, change in CHANGES.items():
        assert (await ana.approves(first[what]["wait"])).is_success
        await until(partial(has_reached, people, f"{what}-first"))
        assert (await ana.approves(held[what]["wait"])).is_success
        await people.until_closed(ana, held[what]["wait"]["id"])
        await define(people, f"changing_{what}", **change)
    people.world.target.release_hanging()
    for what in CHANGES:
        ended = await people.ended(held[what])
        assert (ended["status"], ended["error"]["code"]) == ("refused", "approval_void"), what
        assert ended["error"]["effect_happened"] == "no"
        assert people.world.ledger.kinds(held[what]["id"])[-1] == "approval_voided"
        assert (await people.ended(first[what]))["status"] == "succeeded"
        assert (reached(people, f"{what}-first"), reached(people, f"{what}-held")) == (1, 0)


async def held_behind(people: People, tool: str, name: str) -> dict[str, Any]:
    """A call of the tool that somebody approved, and that is held until another one has ended."""
    people.world.target.hang_again()
    ana = await people.person("user:ana")
    first = await people.standing(tool, f"{name}-first")
    held = await people.standing(tool, f"{name}-held")
    assert (await ana.approves(first["wait"])).is_success
    await until(partial(has_reached, people, f"{name}-first"))
    assert (await ana.approves(held["wait"])).is_success
    await people.until_closed(ana, held["wait"]["id"])
    return held


async def is_void(people: People, held: dict[str, Any], name: str) -> bool:
    """Whether the call that was held was refused, and its target heard nothing of it."""
    people.world.target.release_hanging()
    ended = await people.ended(held)
    assert (ended["status"], ended["error"]["code"]) == ("refused", "approval_void"), ended
    assert ended["error"]["effect_happened"] == "no"
    return reached(people, f"{name}-held") == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, {"setup": {"headers": {"x-extra": "1"}}}),
        ({"setup": {"headers": {"x-extra": "1"}}}, {"setup": {"headers": {"x-extra": "2"}}}),
        ({"setup": {"headers": {"x-extra": "1"}}}, None),
        ({"arguments": {"note": "a"}}, {"arguments": {"note": "b"}}),
    ],
    ids=["added", "changed", "removed", "argument"],
)
async def test_stored_values_that_change_after_the_yes_void_it(people: People, before: Any, after: Any) -> None:
    """One byte of what is stored for the tool is another request than the one that was approved."""
    tool = f"storing_{len(people.world.target.counts)}"
    await define(people, tool)
    place = f"/v1/stored/tenant/all/{tool}"
    if before is not None:
        assert (await people.world.http.put(place, json=before)).is_success
    held = await held_behind(people, tool, tool)
    changed = people.world.http.put(place, json=after) if after is not None else people.world.http.delete(place)
    assert (await changed).is_success
    assert await is_void(people, held, tool)


async def storing_secrets(people: People) -> httpx.AsyncClient:
    """The service that stores secrets, ready."""
    world = people.world
    if "integrations" not in world.services:
        world.start("integrations")
    http = await world.client(service="integrations")

    async def is_ready() -> bool:
        return await readiness(http) == httpx.codes.OK

    await until(is_ready, within_s=60.0)
    return http


async def test_a_secret_that_gets_another_value_after_the_yes_voids_it(people: People) -> None:
    """Who approved the call approved the generation that it would have used then."""
    place, http = "/v1/secrets/changing_key", await storing_secrets(people)
    assert (await http.put(place, json={"value": "the first value"})).is_success
    await define(people, "keyed", headers={"x-account": "secret://changing_key"})
    held = await held_behind(people, "keyed", "keyed")
    assert (await http.put(place, json={"value": "the second value"})).is_success
    assert await is_void(people, held, "keyed")


async def test_what_did_not_change_is_sent(people: People) -> None:
    """With stored setup and a secret: the digest that was approved is the one that the executor computes."""
    http = await storing_secrets(people)
    assert (await http.put("/v1/secrets/lasting_key", json={"value": "a lasting value"})).is_success
    await define(people, "lasting", headers={"x-account": "secret://lasting_key"}, path="/items/{name}")
    stored = {"setup": {"headers": {"x-extra": "secret://lasting_key"}}, "arguments": {"note": "a"}}
    assert (await people.world.http.put("/v1/stored/tenant/all/lasting", json=stored)).is_success
    ana = await people.person("user:ana")
    call = await people.standing("lasting", "lasting-one")
    seen = await ana.sees(call["wait"]["id"])
    assert seen["setup"] == stored["setup"]
    assert list(seen["secrets"]) == ["lasting_key"]
    assert (await ana.approves(call["wait"])).is_success
    assert (await people.ended(call))["status"] == "succeeded"
    assert reached(people, "lasting-one") == 1
