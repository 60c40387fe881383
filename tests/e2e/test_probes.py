"""A call in doubt is probed before a person is asked."""

import asyncio
from typing import Any

import pytest

from tests.e2e.harness import World

POST: dict[str, Any] = {"timeout_s": 1.0}


def probe(tool: str, happened: str) -> dict[str, Any]:
    """A probe that asks this tool about the argument of the call in doubt."""
    return {"probe": {"tool": tool, "arguments": {"name": "$ call.arguments.name"}, "happened": happened}}


@pytest.mark.timeout(90)
async def test_a_doubt_settles_itself(sqlite_world: World) -> None:
    """By what the probe says: it happened, it did not (and is tried again), or nobody knows: then a person is asked."""
    world = sqlite_world
    await world.define("find")
    retry: dict[str, Any] = {"retry": {"attempts": 2, "first_delay_s": 0.05}}
    await world.define(
        "yes", "POST", "/hang/{name}", **POST, **probe("find", "$ output.json.name == call.arguments.name")
    )
    await world.define("no", "POST", "/hang/{name}", **POST, **probe("find", "output.json.name == 'another'"), **retry)
    await world.define("unclear", "POST", "/hang/{name}", **POST, **probe("find", "output.json.absent > 1"))
    await world.define("unsafe", "POST", "/hang/{name}", **POST, **probe("act", "true"))
    names = ("yes", "no", "unclear", "unsafe")
    ids = {name: (await world.submit(name, name))["id"] for name in names}
    await world.ledger.until_kind(ids["unclear"], "doubt_probed")
    await world.ledger.until_kind(ids["unsafe"], "doubt_probed")
    await world.ledger.until_ended([ids["yes"], ids["no"]])
    start = ["dispatched", "attempt_started", "in_doubt", "doubt_probed"]
    assert world.ledger.kinds(ids["yes"])[1:] == [*start, "succeeded"]
    assert world.ledger.kinds(ids["no"])[1:] == [*start, "attempt_failed", *start, "failed"]
    assert world.ledger.kinds(ids["unclear"])[1:] == start
    assert world.ledger.kinds(ids["unsafe"])[1:] == start
    yes, no = await asyncio.gather(world.call(ids["yes"]), world.call(ids["no"]))
    assert yes["output"]["probe"]["json"] == {"name": "yes"}
    assert (no["attempt"], no["error"]["code"], no["error"]["effect_happened"]) == (2, "probed_failed", "no")
    assert world.target.counts["POST /items/unsafe"] == 0  # what changes something is no probe
    assert [world.target.counts[f"POST /hang/{name}"] for name in names] == [1, 2, 1, 1]
    assert "settle it" in (await world.call(ids["unclear"]))["why"]


@pytest.mark.timeout(60)
async def test_expressions_are_checked_when_the_tool_is_defined(sqlite_world: World) -> None:
    """A fault is named by its path."""
    answer = await sqlite_world.http.put(
        "/v1/tools/bad",
        json={
            "name": "bad",
            "api_call": {"method": "POST", "url": "http://127.0.0.1/"},
            "probe": {"tool": "find", "arguments": {"key": "$ call."}, "happened": "true"},
        },
    )
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "/probe/arguments/key")
