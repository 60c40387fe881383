"""
Limits hold where the calls arrive, whoever carries them out; what is held says why.

A rate is read off the starts in the log: when a request arrives at a target that hardly gets any time says nothing of
us. What arrives, and how close to its limit a tool comes, is measured by `tests/e2e/narrow.py` on a quiet machine.
"""

import asyncio
from datetime import datetime
from pathlib import Path

import orjson
import pytest

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until

CONCURRENCY, CALLS, QUEUED = 5, 20, 2000
LOOKS = 20
EXECUTORS = ("api_caller", "api_caller2", "api_caller3")


def most_in_a_second(arrivals: list[float]) -> int:
    """The largest number of arrivals in any second."""
    most = first = 0
    for last, at in enumerate(arrivals):
        while at - arrivals[first] >= 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


def starts(world: World) -> list[float]:
    """When each attempt was permitted to send, in seconds."""
    return [
        datetime.fromisoformat(orjson.loads(event.data)["at"]).timestamp()
        for event in world.ledger.log
        if event.kind == "call.attempt_started.v1"
    ]


async def queue(world: World, tool: str, number: int) -> list[str]:
    """So many calls of this tool are accepted: their ids."""
    ids: list[str] = []
    for start in range(0, number, 500):
        batch = [{"tool": tool, "arguments": {"name": str(n)}} for n in range(start, min(start + 500, number))]
        answer = await world.http.post("/v1/calls/batch", json={"calls": batch})
        ids += [item["call"]["id"] for item in answer.json()["items"]]
    return ids


@pytest.mark.timeout(120)
async def test_a_tool_is_never_called_more_than_its_limits_allow(
    nursery: Nursery, tmp_path: Path, postgres_url: str
) -> None:
    """Five at once and twenty in any second, with three executors and 2,000 queued calls."""
    async with world(nursery, tmp_path, postgres_url, "dispatcher", *EXECUTORS) as made:
        limits = {"concurrency": CONCURRENCY, "rate": {"calls": CALLS, "per_s": 1}}
        await made.define("narrow", "POST", "/slow/100/{name}", limits=limits)
        ids = await queue(made, "narrow", QUEUED)
        await until(lambda: len(made.target.arrivals) >= CALLS)
        await asyncio.sleep(10)
        assert made.target.most_at_once <= CONCURRENCY
        await made.ledger.refresh()
        assert most_in_a_second(starts(made)) <= CALLS
        told = [(await made.call(ids[-1]))["why"] for _ in range(LOOKS)]
        assert all("tool narrow" in why and "wait for the same" in why for why in told)


@pytest.mark.timeout(90)
async def test_what_lay_ready_does_not_arrive_all_at_once(sqlite_world: World) -> None:
    """While its executor was away, no more was let go than may arrive together; a read asks to start, too."""
    world = sqlite_world
    await world.define("narrow", "GET", "/slow/1/{name}", limits={"rate": {"calls": CALLS, "per_s": 1}})
    await world.services["api_caller"].kill()
    ids = await queue(world, "narrow", 100)
    await world.ledger.until_kind(ids[CALLS - 1], "dispatched")
    await asyncio.sleep(3)
    world.services["api_caller"].start()
    await world.ledger.until_ended(ids)
    assert len(world.target.arrivals) == len(ids)
    assert most_in_a_second(starts(world)) <= CALLS
    assert world.ledger.kinds(ids[0]) == ["requested", "dispatched", "attempt_started", "succeeded"]
