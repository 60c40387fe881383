"""Calls that stand still for something else than a yes; what is seen of waits, and who would have to decide."""

import asyncio
from typing import Any

import pytest

from tests.e2e.people import People, code

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]


async def test_values_are_supplied_by_a_person(people: People) -> None:
    """They are checked by path, laid over the model's arguments, and the call goes on with them."""
    ask = {"fields": {"name": {"type": "string", "maxLength": 8}}, "message": "which one?"}
    await people.world.define("asked", "POST", ask_user=ask)
    ana = await people.person("user:ana")
    call = await people.standing("asked", "proposed")
    wait = call["wait"]
    assert wait["kind"] == "input"
    bad = await ana.says(wait["id"], "answer", digest=wait["digest"], values={"name": "far too long"})
    assert (code(bad), bad.json()["errors"][0]["path"]) == ((422, "invalid_request"), "/values/name")
    good = await ana.says(wait["id"], "answer", digest=wait["digest"], values={"name": "chosen"})
    assert (good.status_code, good.json()["outcome"]) == (200, "answered")
    ended = await people.ended(call)
    assert (ended["status"], ended["arguments"]) == ("succeeded", {"name": "chosen"})
    assert (people.reached("proposed"), people.reached("chosen")) == (0, 1)
    other = await ana.says(wait["id"], "answer", digest=wait["digest"], values={"name": "another"})
    assert code(other) == (409, "wait_closed")


async def test_a_doubt_is_visible_until_it_is_settled(people: People) -> None:
    """An operator sees it as a wait; settled, it is withdrawn."""
    await people.world.define("lost", "POST", "/hang/{name}", timeout_s=1.0)
    ana = await people.person("user:ana")
    call = await people.world.submit("lost", "doubtful")
    await people.world.ledger.until_kind(call["id"], "in_doubt")

    async def doubts() -> list[dict[str, Any]]:
        answer = await ana.http.get("/v1/waits", params={"kind": "doubt", "status": "open", "call_id": call["id"]})
        found: list[dict[str, Any]] = answer.json()["items"]
        return found

    deadline = asyncio.get_running_loop().time() + 20
    while not (found := await doubts()):
        assert asyncio.get_running_loop().time() < deadline
    assert (found[0]["kind"], found[0]["attempt"], found[0]["error"]["effect_happened"]) == ("doubt", 1, "unknown")
    settled = await people.world.http.post(
        f"/v1/calls/{call['id']}/settle", json={"outcome": "failed", "note": "looked it up"}
    )
    assert settled.status_code == 200
    assert (await people.until_closed(ana, found[0]["id"]))["outcome"] == "withdrawn"


async def test_simulation_and_lists(people: People) -> None:
    """Who would have to approve; what is open, by kind and tool, page by page."""
    ana = await people.person("user:ana", "finance")
    told = (await ana.http.post("/v1/waits/simulate", json={"tool": "refund"})).json()
    assert (told["needs_approval"], told["may_decide"]) == (True, ["role:finance"])
    assert not (await ana.http.post("/v1/waits/simulate", json={"tool": "look"})).json()["needs_approval"]
    await people.define("listed")
    ids = [(await people.standing("listed", f"list{number}"))["wait"]["id"] for number in range(3)]
    for wait_id in ids:
        await ana.sees(wait_id)
    found: list[str] = []
    cursor = None
    query = {"kind": "approval", "status": "open", "tool": "listed", "limit": "2"}
    deadline = asyncio.get_running_loop().time() + 20
    while len(found) < 3:
        assert asyncio.get_running_loop().time() < deadline
        found, cursor = [], None
        while True:
            page = (await ana.http.get("/v1/waits", params={**query, **({"cursor": cursor} if cursor else {})})).json()
            found += [item["id"] for item in page["items"]]
            assert all(item["arguments"] is None for item in page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                break
    assert found == ids[::-1]
    whole = (await ana.http.get("/v1/waits", params={**query, "include": "arguments"})).json()["items"]
    assert whole[0]["arguments"] == {"name": "list2"}
