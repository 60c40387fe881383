"""Many workers on many waiting calls: each call is done once, and a worker that dies delays its own alone."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e import functions
from tests.e2e.harness import World, world
from tests.e2e.nursery import REPOSITORY, Nursery
from tests.nats_fixtures import until

CALLS, WORKERS = 5_000, 50
HELD, VISIBILITY_S = 20, 15.0


@pytest.fixture
async def here(nursery: Nursery, tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """An installation on each database, with a function `draft`."""
    async with world(nursery, tmp_path, database_url, "dispatcher", "approvals") as made:
        await made.until_ready("approvals")
        await functions.define(made)
        yield made


async def closed_by_function(here: World) -> Counter[str]:
    """How often the log says of each call that its client's answer was taken."""
    await here.ledger.refresh()
    closed = [event for event in here.ledger.log if event.kind == "wait.closed.v1"]
    return Counter(event.data.split('"call_id":"')[1].partition('"')[0] for event in closed)


@pytest.mark.timeout(400)
async def test_fifty_workers_do_each_of_five_thousand_calls_once(here: World) -> None:
    """Nothing is worked on twice, nothing is left, and the log holds one answer and one end for each."""
    call_ids = await functions.stand(here, CALLS)
    done: Counter[str] = Counter()
    workers = [await functions.desk(here) for _ in range(WORKERS)]
    async with asyncio.TaskGroup() as group:
        for http in workers:
            group.create_task(functions.work(http, done, lambda: len(done) == CALLS))
    assert done == Counter(call_ids)
    await here.ledger.until_ended(call_ids)
    assert {here.ledger.end_of(call_id) for call_id in call_ids} == {"succeeded"}
    assert await closed_by_function(here) == done
    await here.ledger.assert_whole()


@asynccontextmanager
async def holding(
    here: World, limit: int, visibility_s: float
) -> AsyncIterator[tuple[asyncio.subprocess.Process, set[str]]]:
    """A worker in a process of its own, and what it holds."""
    port = here.ports["approvals"]
    environment = {
        **os.environ,
        "TOOLBUS_URL": f"http://127.0.0.1:{port}",
        "TOOLBUS_API_KEY": here.keys["default"],
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.e2e.holding_worker", "draft", str(limit), str(visibility_s)),
        stdout=asyncio.subprocess.PIPE,
        cwd=REPOSITORY,
        env=environment,
    )
    assert process.stdout is not None
    held: set[str] = set()
    while line := (await process.stdout.readline()).decode().strip():
        held.add(line)
    try:
        yield process, held
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.timeout(180)
async def test_a_worker_that_is_killed_delays_only_what_it_held(here: World) -> None:
    """The others go on without its calls at once, and have them when its time is over."""
    call_ids = await functions.stand(here, 100)
    http = await functions.desk(here)

    async def are_open() -> bool:
        answer = await http.get("/v1/waits", params={"status": "open", "limit": 500})
        return len(answer.json()["items"]) == len(call_ids)

    await until(are_open)
    done: Counter[str] = Counter()
    async with holding(here, HELD, VISIBILITY_S) as (process, held):
        assert held == set(call_ids[:HELD])
        process.kill()
        await process.wait()
    others = set(call_ids) - held
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(functions.work(http, done, lambda: len(done) == len(others)))
    assert done == Counter(others)  # what is held is passed over, and hinders nobody
    again = await functions.leased(http, HELD, visibility_s=60)
    assert [(call["call_id"], call["attempt"]) for call in again] == [(call_id, 2) for call_id in call_ids[:HELD]]
    for call in again:
        done[call["call_id"]] += 1
        assert (await functions.complete(http, call["call_id"], {"output": 1})).is_success
    assert done == Counter(call_ids)
    await here.ledger.until_ended(call_ids)
    assert await closed_by_function(here) == done
