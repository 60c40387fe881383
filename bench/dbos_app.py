"""
The DBOS application of the comparison; runs in the environment of the peers, never in ours.

`python dbos_app.py NAME DATABASE_URL TARGET_URL`: launches DBOS, says `{"ready": NAME}`, then obeys one JSON
order per line and answers each with one line. `{"do": "flood", "mode": "direct" | "queue", "prefix",
"calls", "concurrency"}` is answered when all results are recorded (direct) or all calls accepted (queue:
any process may run them); `{"do": "latency", …}` gives `{"samples_ms"}`.
"""

import asyncio
import json
import sys
import time
from typing import Any

import aiohttp
import uvloop
from dbos import DBOS, SetWorkflowID  # type: ignore[import-not-found]

QUEUE = "calls"
POOL_SIZE = 40
POLL_S = 0.005  # how often a waiter looks for a result that it cannot await in this process
QUEUE_POLL_S = 0.05
CONCURRENCY = 100  # of each process
Order = dict[str, Any]


class Http:
    """The one client of this process."""

    session: aiohttp.ClientSession
    target: str


@DBOS.step()  # type: ignore[untyped-decorator]
async def get(key: str) -> object:
    """Make the effect; DBOS records what it gives."""
    async with Http.session.get(f"{Http.target}?n={key}") as response:
        return await response.json()


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def call(key: str) -> object:
    """Run the one step; DBOS records the result."""
    return await get(key)


async def accept(mode: str, key: str) -> Any:  # noqa: ANN401 - typed in an environment that checks do not see
    """Accept one call durably; the handle of its workflow."""
    with SetWorkflowID(key):
        if mode == "queue":
            return await DBOS.enqueue_workflow_async(QUEUE, call, key)
        return await DBOS.start_workflow_async(call, key)


async def flood(order: Order) -> Order:
    """Keep so many submitters busy; a direct one waits for the result, one of a queue only for acceptance."""
    keys = iter([f"{order['prefix']}{number}" for number in range(order["calls"])])

    async def lane() -> None:
        for key in keys:
            handle = await accept(order["mode"], key)
            if order["mode"] == "direct":
                await handle.get_result()

    await asyncio.gather(*(lane() for _ in range(order["concurrency"])))
    return {"accepted": order["calls"]}


async def latency(order: Order) -> Order:
    """Make one call at a time and time each."""
    samples = []
    for number in range(order["calls"]):
        began = time.perf_counter()
        handle = await accept(order["mode"], f"{order['prefix']}{number}")
        await handle.get_result(polling_interval_sec=POLL_S)
        samples.append((time.perf_counter() - began) * 1e3)
    return {"samples_ms": samples}


async def main(name: str, database: str, target: str) -> None:
    """Launch and obey orders until the input ends."""
    DBOS(
        config={
            "name": "bench",
            "system_database_url": database,
            "sys_db_pool_size": POOL_SIZE,
            "executor_id": name,
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    await DBOS.register_queue_async(QUEUE, polling_interval_sec=QUEUE_POLL_S, worker_concurrency=CONCURRENCY)
    Http.target = target
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as Http.session:
        print(json.dumps({"ready": name}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            answer = await (flood(order) if order["do"] == "flood" else latency(order))
            print(json.dumps(answer), flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:4]))
