"""Limits hold where the calls arrive, whoever carries them out; what is held says why."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until

CONCURRENCY, CALLS, QUEUED = 5, 20, 2000
EXECUTORS = ("api_caller", "api_caller2", "api_caller3")


def most_in_a_second(arrivals: list[float]) -> int:
    """The largest number of arrivals in any second."""
    most = first = 0
    for last, at in enumerate(arrivals):
        while at - arrivals[first] >= 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


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
    """Five at once and twenty in any second, with three executors and 2,000 queued calls; and hardly less than that."""
    async with world(nursery, tmp_path, postgres_url, "dispatcher", *EXECUTORS) as made:
        limits = {"concurrency": CONCURRENCY, "rate": {"calls": CALLS, "per_s": 1}}
        await made.define("narrow", "POST", "/slow/100/{name}", limits=limits)
        ids = await queue(made, "narrow", QUEUED)
        await until(lambda: len(made.target.arrivals) >= CALLS)
        began, seen = time.monotonic(), len(made.target.arrivals)
        await asyncio.sleep(15)
        calls_per_s = (len(made.target.arrivals) - seen) / (time.monotonic() - began)
        assert made.target.most_at_once <= CONCURRENCY
        assert most_in_a_second(made.target.arrivals) <= CALLS
        assert calls_per_s >= 0.9 * CALLS
        why = (await made.call(ids[-1]))["why"]
        assert "tool narrow" in why
        assert "wait for the same" in why
