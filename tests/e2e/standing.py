"""
What calls cost that stand still: `python -m tests.e2e.standing [--waits N] [--seconds S]`.

The whole system on PostgreSQL is measured when it is empty, and again with so many open approvals: the CPU time of
all its processes and of both servers by /proc, and the memory of its processes and of NATS (PSS: what is shared
counts once). Calls stand still for days: what their beginning took is given back before it is measured, which in NATS
takes five minutes. The exit code is 1 when a bar does not hold.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
from sqlalchemy import text

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until
from toolbus_runtime.confining import TRACEABLE
from toolbus_runtime.store.database import make_engine
from toolbus_runtime.testing import PostgresServer

SERVICES = ("approvals", "dispatcher", "api_caller")
BATCH, SENDERS = 500, 4
CALM_S = 30.0  # what was begun before is over by then: commits, projections, garbage, checkpoints of the database
SETTLED_S = 360.0  # NATS drops what it remembers of subjects after two minutes, and its runtime gives it back by and by
PATIENCE_S = 1800.0
TOOL = "refund"
BAR_CPU_S, BAR_MIB = 1.0, 150.0  # in 60 s; over the empty system
MIB = 1024 * 1024


class Cost(NamedTuple):
    """Seconds of CPU, and bytes at the end, by process."""

    cpu_s: dict[str, float]
    memory: dict[str, int]


class Installed(NamedTuple):
    """The processes of one installation by name; those of PostgreSQL come and go with their connections."""

    ours: Mapping[str, psutil.Process]
    postgres: psutil.Process

    def cpu_s(self) -> dict[str, float]:
        """Seconds that each has used so far."""
        found = {name: _used_s([process]) for name, process in self.ours.items()}
        return found | {"postgres": _used_s([self.postgres, *self.postgres.children(recursive=True)])}

    def memory(self) -> dict[str, int]:
        """Bytes of each: what it shares with others counts in proportion. The database's own is not ours to bound."""
        return {name: process.memory_full_info().pss for name, process in self.ours.items()}


def _used_s(processes: Iterable[psutil.Process]) -> float:
    """User and system seconds of these, and of their children that are over."""
    return sum(sum(process.cpu_times()[:4]) for process in processes)


def installed(made: World, server: PostgresServer) -> Installed:
    """What runs of this installation."""
    ours = {name: psutil.Process(made.services[name].pid) for name in SERVICES}
    ours["nats"] = psutil.Process(int((made.folder / "nats" / "nats.pid").read_text()))
    (postgres,) = (
        process for process in psutil.Process().children() if str(server.directory) in " ".join(process.cmdline())
    )
    return Installed(ours, postgres)


async def measured(found: Installed, seconds: float, *, calm_s: float) -> Cost:
    """What it costs when nobody asks for anything, after a while of calm."""
    await asyncio.sleep(calm_s)
    before, began_s = found.cpu_s(), time.monotonic()
    await asyncio.sleep(seconds)
    after, took_s = found.cpu_s(), time.monotonic() - began_s
    return Cost({name: (after[name] - before[name]) * 60 / took_s for name in after}, found.memory())


async def stand(http: httpx.AsyncClient, number: int) -> None:
    """So many calls wait for an approval."""
    starts = iter(range(0, number, BATCH))

    async def send() -> None:
        for start in starts:
            calls = [{"tool": TOOL, "arguments": {"name": f"n{n}"}} for n in range(start, start + BATCH)]
            answer = await http.post("/v1/calls/batch", json={"calls": calls})
            answer.raise_for_status()
            refused = [item for item in answer.json()["items"] if item["status"] != httpx.codes.ACCEPTED]
            if refused:
                raise RuntimeError(str(refused[0]))

    await asyncio.gather(*(send() for _ in range(SENDERS)))


async def until_open(made: World, number: int) -> None:
    """The read table of waits shows that so many are open."""
    engine = make_engine(made.database_url)

    async def are_open() -> bool:
        await asyncio.sleep(1.0)  # to count is work for the database
        async with engine.connect() as connection:
            found = await connection.execute(text("SELECT count(*) FROM waits WHERE closed_at IS NULL"))
            return bool(found.scalar_one() == number)

    await until(are_open, within_s=PATIENCE_S)
    await engine.dispose()


def tell(name: str, cost: Cost) -> None:
    """One line: all of it, then each process."""
    cpu = "  ".join(f"{who} {seconds:.2f}" for who, seconds in cost.cpu_s.items())
    memory = "  ".join(f"{who} {size / MIB:.0f}" for who, size in cost.memory.items())
    print(f"{name}: {sum(cost.cpu_s.values()):.2f} s of CPU in 60 s ({cpu})", flush=True)
    print(f"{name}: {sum(cost.memory.values()) / MIB:.0f} MiB ({memory})", flush=True)


async def compared(made: World, server: PostgresServer, number: int, seconds: float) -> bool:
    """Whether the bars hold."""
    await made.define(TOOL, "POST", contract={"effect": "dangerous", "idempotency": "none"})
    await stand(made.http, BATCH)  # what is loaded once is there; these few stay open
    found = installed(made, server)
    empty = await measured(found, seconds, calm_s=CALM_S)
    tell("next to none", empty)
    began_s = time.monotonic()
    await stand(made.http, number - BATCH)
    await until_open(made, number)
    print(f"{number} waits open after {time.monotonic() - began_s:.0f} s", flush=True)
    full = await measured(found, seconds, calm_s=SETTLED_S)
    tell(f"{number} open waits", full)
    cpu_s = sum(full.cpu_s.values())
    more = {name: (full.memory[name] - empty.memory[name]) / MIB for name in full.memory}
    more_mib = sum(more.values())
    over_s = cpu_s - sum(empty.cpu_s.values())
    print(f"{cpu_s:.2f} s of CPU in 60 s, {over_s:.2f} s of it for the waits; the bar is {BAR_CPU_S:g}")
    print(f"{more_mib:.0f} MiB more, {more['nats']:.0f} of it in NATS; the bar is {BAR_MIB:g}")
    return cpu_s <= BAR_CPU_S and more_mib < BAR_MIB


async def main(number: int, seconds: float) -> int:
    """Measure on PostgreSQL; the exit code."""
    server = PostgresServer()
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder, Nursery({TRACEABLE: "1"}) as nursery:
            async with world(nursery, Path(folder), await server.fresh_database(), *SERVICES) as made:
                holds = await compared(made, server, number, seconds)
    finally:
        server.stop()
    return 0 if holds else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--waits", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.waits, options.seconds)))
