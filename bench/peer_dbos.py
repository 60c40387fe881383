"""
DBOS on the same job: one workflow with one step that makes the GET, on a PostgreSQL of its own.

Best sensible configuration found: async workflows in two application processes (one is bound by one
core), 200 submitters in all. `direct` starts workflows in the process that accepted them, `queue`
goes through a DBOS queue that both processes serve. The submitters run inside the application, so
DBOS pays for no hop of a client.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from bench.environment import PYTHON, ROOT
from bench.measures import Flood, Measure, Round, latency, throughput
from bench.postgres import Postgres
from bench.processes import Child, Crew

APPLICATIONS = 2
CALLS = {"direct": 2_000, "queue": 1_000}
SAMPLES = 200
WARM_UP = 100
POLL_S = 0.05
STALL_S = 60.0
DONE = "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS' AND starts_with(workflow_uuid, $1)"


class Dbos:
    """DBOS as a contender."""

    name = "DBOS"
    steps: Sequence[str] = ("direct", "queue", "direct latency", "queue latency")

    def absent(self) -> str | None:
        """Its environment may be missing."""
        return None if PYTHON.is_file() else "the peers' environment is not installed"

    async def run(self, task: Round) -> list[Measure]:
        """Start PostgreSQL and the applications, flood them both ways, time single calls."""
        folder = Path(tempfile.mkdtemp(prefix="toolbus-bench-dbos-"))
        try:
            async with await Postgres.start() as postgres:
                with Crew(folder) as crew:
                    return await _measured(crew, postgres, task)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


async def _measured(crew: Crew, postgres: Postgres, task: Round) -> list[Measure]:
    plan, target = task.plan, task.target
    program = [str(PYTHON), str(ROOT / "bench" / "dbos_app.py")]
    applications = []
    for number in range(APPLICATIONS):  # one after the other: the first one migrates the database
        name = f"application {number + 1}"
        child = crew.start(name, [*program, name, postgres.url, target.url], talks=True)
        await child.answer()
        applications.append(child)
    submitters = Submitters(postgres, applications, plan.concurrency)
    roots = {
        "postgres": postgres.pid,
        **{child.name: child.process.pid for child in applications},
        "target": target.pid,
        "load": os.getpid(),
    }
    measures = []
    for mode, full in CALLS.items():
        await submitters.flood(mode, f"warm-{mode}-", WARM_UP)
        task.tell(mode)
        calls = plan.calls(full) // APPLICATIONS * APPLICATIONS

        async def work(mode: str = mode, calls: int = calls) -> tuple[float, int]:
            return await submitters.flood(mode, f"flood-{mode}-", calls)

        measures.append(await throughput(Flood(mode, calls, roots), target, work))
    for mode in CALLS:
        task.tell(f"{mode} latency")
        order = {"do": "latency", "mode": mode, "prefix": f"single-{mode}-", "calls": plan.samples(SAMPLES)}

        async def samples(order: dict[str, object] = order) -> list[float]:
            taken: list[float] = (await applications[0].ask(order))["samples_ms"]
            return taken

        measures.append(await latency(f"{mode} latency", target, samples))
    return measures


@dataclass
class Submitters:
    """The submitters inside all applications, so many at a time over all of them."""

    postgres: Postgres
    applications: Sequence[Child]
    concurrency: int

    async def flood(self, mode: str, prefix: str, calls: int) -> tuple[float, int]:
        """Let every application submit its share; seconds until all results are recorded, and how many are."""
        share = len(self.applications)
        order = {"do": "flood", "mode": mode, "calls": calls // share, "concurrency": self.concurrency // share}
        connection = await asyncpg.connect(self.postgres.url)
        began = time.perf_counter()
        try:
            await asyncio.gather(
                *(child.ask({**order, "prefix": f"{prefix}{n}-"}) for n, child in enumerate(self.applications))
            )
            done, seen_at = await connection.fetchval(DONE, prefix), time.monotonic()
            while done < calls and time.monotonic() - seen_at < STALL_S:
                await asyncio.sleep(POLL_S)
                before, done = done, await connection.fetchval(DONE, prefix)
                seen_at = time.monotonic() if done > before else seen_at
            return time.perf_counter() - began, done
        finally:
            await connection.close()
