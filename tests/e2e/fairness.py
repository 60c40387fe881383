"""
How much a tenant with a long queue delays another: `python -m tests.e2e.fairness [--queued N] [--samples N]`.

One tenant calls one by one and is measured alone; then another one queues its calls and it is measured again, with
the same executors and the same target, which takes 100 ms. The exit code is 1 when its p99 doubled.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from toolbus_runtime.testing import PostgresServer

MS, BATCH, SENDERS = 100, 500, 4
PACE_S = 0.1
HEAVY, LIGHT = "default", "second"
BAR = 2.0


async def sampled(http: httpx.AsyncClient, samples: int) -> list[float]:
    """Seconds from submission to outcome of so many calls, begun at an even pace, sorted."""

    async def one(n: int) -> float:
        await asyncio.sleep(n * PACE_S)
        began_s = time.monotonic()
        body = {"tool": "work", "arguments": {"name": str(n)}}
        answer = await http.post("/v1/calls", json=body, params={"wait_s": 60})
        if answer.status_code != httpx.codes.OK:
            raise RuntimeError(answer.text)
        return time.monotonic() - began_s

    return sorted(await asyncio.gather(*(one(n) for n in range(samples))))


async def queue(http: httpx.AsyncClient, number: int) -> None:
    """So many calls are accepted."""
    starts = iter(range(0, number, BATCH))

    async def send() -> None:
        for start in starts:
            calls = [{"tool": "work", "arguments": {"name": str(n)}} for n in range(start, start + BATCH)]
            answer = await http.post("/v1/calls/batch", json={"calls": calls})
            answer.raise_for_status()

    await asyncio.gather(*(send() for _ in range(SENDERS)))


def told(name: str, found: list[float]) -> float:
    """Say p50 and p99 in milliseconds; the p99 in seconds."""
    p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
    print(f"{name:<32} p50 {p50 * 1000:7.1f} ms   p99 {p99 * 1000:7.1f} ms   {len(found)} calls", flush=True)
    return p99


async def measured(made: World, queued: int, samples: int) -> float:
    """The light tenant's p99 beside the heavy one, as a multiple of its p99 alone."""
    await made.define("work", "GET", f"/slow/{MS}/{{name}}")
    heavy, light = await made.client(HEAVY), await made.client(LIGHT)
    await sampled(light, 50)
    alone = told("alone", await sampled(light, samples))
    began_s = time.monotonic()
    await queue(heavy, queued)
    print(f"{queued} calls of another tenant accepted in {time.monotonic() - began_s:.0f} s", flush=True)
    began_s, seen = time.monotonic(), len(made.target.arrivals)
    beside = told("beside the queue", await sampled(light, samples))
    calls_per_s = (len(made.target.arrivals) - seen) / (time.monotonic() - began_s)
    page = (await heavy.get("/v1/calls", params={"status": "requested", "limit": 1})).json()
    print(f"{calls_per_s:.0f} calls/s in all meanwhile; one that waits: {page['items'][0]['why']}")
    return beside / alone


async def main(queued: int, samples: int) -> int:
    """Measure on PostgreSQL; the exit code."""
    server = PostgresServer()
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder, Nursery() as nursery:
            async with world(nursery, Path(folder), await server.fresh_database()) as made:
                ratio = await measured(made, queued, samples)
    finally:
        server.stop()
    print(f"p99 beside the queue is {ratio:.2f} times that alone; the bar is {BAR:g}")
    return 0 if ratio < BAR else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--queued", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=300)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.queued, options.samples)))
