"""A thousand open waits, decisions flowing; the service that holds them is killed, or the bus forgets everything."""

import asyncio
import os
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.e2e import functions
from tests.e2e.deciding import BO, CY, Deciders
from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until

GUARDED, FUNCTIONS, FILLED = 600, 250, 150
WAITS = GUARDED + FUNCTIONS + FILLED
LEFT = 100  # are decided by nobody, and must still be open in the end
MOMENTS = 9
Crash = Callable[[int], Awaitable[None]]


@pytest.fixture
async def here(nursery: Nursery, tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """An installation on each database, with a tool of each kind that stands still."""
    async with world(nursery, tmp_path, database_url, "dispatcher", "api_caller", "approvals") as made:
        await made.until_ready("approvals")
        properties = {"name": {"type": "string"}, "amount": {"type": "integer"}, "reason": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": ["name"]}
        section = {"method": "POST", "url": f"{made.target.url}/items/{{name}}", "params_schema": schema}
        guarded: dict[str, Any] = {"approval": {"approvers": [BO, CY], "may_edit": True}}
        filled: dict[str, Any] = {"ask_user": {"fields": {"reason": {"type": "string"}}}}
        for name, more in {"guard": guarded, "fill": filled}.items():
            answer = await made.http.put(f"/v1/tools/{name}", json={"name": name, "api_call": section, **more})
            assert answer.is_success, answer.text
        await functions.define(made)
        yield made


async def survive(here: World, crash: Crash) -> None:
    """Break something at random moments while people speak, and check the whole story afterwards."""
    seed = int(os.environ.get("TOOLBUS_TEST_SEED", "0")) or random.randrange(1, 2**31)
    print(f"seed {seed}")
    draw = random.Random(seed)
    deciders = Deciders(here, draw)
    await deciders.prepare()
    calls = [*await _stand(here, "guard", GUARDED), *await _stand(here, "draft", FUNCTIONS)]
    calls += await _stand(here, "fill", FILLED)
    await deciders.until_open(WAITS)
    part = (WAITS - LEFT) // MOMENTS
    for moment in range(MOMENTS):
        heard = sum(map(len, deciders.kept.values())) + draw.randint(1, part // 2)
        speaking = asyncio.create_task(deciders.speak(part))
        await until(lambda at=heard: sum(map(len, deciders.kept.values())) >= at)  # type: ignore[misc]
        await crash(moment)
        await speaking
    assert deciders.refused == Counter()
    await _until_settled(here, len(calls) - LEFT)
    _check(here, deciders)
    await here.ledger.assert_whole()
    shown: list[dict[str, Any]] = []

    async def are_shown() -> bool:
        shown[:] = await deciders.open_waits()
        return len(shown) == LEFT

    await until(are_shown)
    print(f"{len(calls)} calls, {sum(map(len, deciders.kept.values()))} words, {deciders.repeated} said again")


async def _stand(here: World, tool: str, count: int) -> list[str]:
    """So many calls of the tool were accepted, and stand still."""
    calls = [{"tool": tool, "arguments": {"name": f"{tool}-{number}"}} for number in range(count)]
    items = (await here.http.post("/v1/calls/batch", json={"calls": calls})).json()["items"]
    assert {item["call"]["status"] for item in items} == {"waiting"}
    return [item["call"]["id"] for item in items]


async def _until_settled(here: World, count: int) -> None:
    """So many calls have ended."""

    async def have_ended() -> bool:
        await here.ledger.refresh()
        return sum(here.ledger.end_of(call_id) is not None for call_id in tuple(here.ledger.events)) >= count

    await until(have_ended, within_s=60)


def _check(here: World, deciders: Deciders) -> None:
    """No word lost or applied twice, nothing released without one, no call without its wait."""
    waits = defaultdict(list)
    for event in here.ledger.log:
        if event.category == "wait":
            waits[event.subject_id].append(orjson.loads(event.data))
    assert len(waits) == WAITS
    open_of = set()
    for wait_id, events in waits.items():
        kinds = Counter(event["kind"] for event in events)
        assert kinds["wait.opened.v1"] == 1
        assert kinds["wait.closed.v1"] <= 1
        assert kinds["wait.answer_came_late.v1"] == 0
        said = [(one["subject"], one["digest"]) for one in events if one["kind"] == "wait.decision_recorded.v1"]
        assert len(set(said)) == len(said), f"applied twice: {events}"
        kept = deciders.kept.get(wait_id, [])
        decided = [one for one in kept if one.what in {"approve", "deny"}]
        assert sorted(one.subject for one in decided) == sorted(subject for subject, _ in said), events
        assert {(one.subject, one.digest) for one in decided if one.what == "approve"} <= set(said)
        assert bool(kept) == bool(kinds["wait.closed.v1"]), f"{kept} of {events}"
        if not kept:
            open_of.add(events[0]["call_id"])
    _check_calls(here, {events[0]["call_id"]: events for events in waits.values()}, open_of)


def _check_calls(here: World, waits: dict[str, list[dict[str, Any]]], open_of: set[str]) -> None:
    """Each call stands where its wait sent it; what reached the target was agreed to."""
    effects: Counter[str] = Counter()
    for call_id, events in waits.items():
        kinds = here.ledger.kinds(call_id)
        if call_id in open_of:
            assert kinds == ["requested", "wait_asked"]
            continue
        outcome = events[-1]["outcome"]
        assert kinds.count("resumed") == (outcome in {"approved", "answered"}), kinds
        ended = {"approved": "succeeded", "answered": "succeeded", "completed": "succeeded", "denied": "denied"}
        assert here.ledger.end_of(call_id) == ended[outcome], kinds
        if outcome in {"approved", "answered"}:
            effects[f"POST /items/{events[0]['arguments']['name']}"] += 1
    assert here.target.counts == effects
    assert len(open_of) == LEFT


@pytest.mark.timeout(400)
async def test_the_approvals_service_is_killed_while_decisions_flow(here: World) -> None:
    """Kill -9 at random moments: what was answered is kept, what was not is said again and counts once."""

    async def crash(_: int) -> None:
        await here.restart("approvals")

    await survive(here, crash)


@pytest.mark.timeout(400)
async def test_the_bus_forgets_everything_while_decisions_flow(here: World) -> None:
    """Its folder is deleted again and again, and once the service that holds waits dies with it."""

    async def crash(moment: int) -> None:
        if moment % 3:
            return
        await here.nats.kill()
        shutil.rmtree(here.nats.folder / "jetstream")
        if moment:
            await here.restart("approvals")
        await here.nats.start()

    await survive(here, crash)
