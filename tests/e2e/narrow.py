"""
How close a limited tool comes to its limit: `python -m tests.e2e.narrow [--seconds S]`.

Five calls at once, twenty in any second, three executors, 2,000 queued calls. The exit code is 1 when the target saw
more than that, or less than nine tenths of it.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.e2e.test_limits import CALLS, CONCURRENCY, EXECUTORS, QUEUED, most_in_a_second, queue
from tests.nats_fixtures import until
from toolbus_runtime.testing import PostgresServer

SHARE = 0.9


async def measured(made: World, seconds: float) -> bool:
    """Whether the limit was kept, and nearly used up."""
    limits = {"concurrency": CONCURRENCY, "rate": {"calls": CALLS, "per_s": 1}}
    await made.define("narrow", "POST", "/slow/100/{name}", limits=limits)
    await queue(made, "narrow", QUEUED)
    await until(lambda: len(made.target.arrivals) >= CALLS)
    began, seen = time.monotonic(), len(made.target.arrivals)
    await asyncio.sleep(seconds)
    calls_per_s = (len(made.target.arrivals) - seen) / (time.monotonic() - began)
    at_once, in_a_second = made.target.most_at_once, most_in_a_second(made.target.arrivals)
    print(
        f"{calls_per_s:.1f} calls/s; at most {at_once} of {CONCURRENCY} at once, {in_a_second} of {CALLS} in a second"
    )
    return at_once <= CONCURRENCY and in_a_second <= CALLS and calls_per_s >= SHARE * CALLS


async def main(seconds: float) -> int:
    """Measure on PostgreSQL; the exit code."""
    server = PostgresServer()
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder, Nursery() as nursery:
            async with world(nursery, Path(folder), await server.fresh_database(), "dispatcher", *EXECUTORS) as made:
                return 0 if await measured(made, seconds) else 1
    finally:
        server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    sys.exit(asyncio.run(main(parser.parse_args().seconds)))
