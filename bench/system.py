"""
Toolbus itself: submitted to over the bus, over HTTP one by one and in batches, and one call at a time.

A call counts when its terminal event is committed (told on the bus by the relay, which reads the store;
or answered by HTTP) and the target's journal holds its request. At the end the store itself is counted.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from nats.aio.client import Client

from bench.bus_load import AckedPublisher, Ends, body, flood
from bench.failures import BenchError
from bench.http_client import Answer, HttpClient
from bench.installation import Installation
from bench.lanes import one_by_one, run_lanes
from bench.measures import Flood, Measure, Round, latency, throughput
from bench.postgres import Postgres
from bench.processes import Crew
from bench.profile import profiled
from toolbus_contracts import subjects
from toolbus_contracts.digests import call_id_for_key

SAFE, UNSAFE = "bench_read", "bench_write"
BUS_CALLS = {SAFE: 20_000, UNSAFE: 10_000}
SINGLE_CALLS, BATCH_CALLS, SAMPLES, WARM_UP = 6_000, 10_000, 500, 400
SINGLE_CONNECTIONS, BATCH_CONNECTIONS, BATCH = 64, 4, 100
WAIT_S, ASK_TIMEOUT_S = 30, 10.0
OK, ACCEPTED = 200, 202


def definitions(url: str) -> list[dict[str, Any]]:
    """Definitions of two tools: a GET, which is safe to repeat, and a POST, which nobody vouches for."""
    schema = {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}
    section = {"url": url, "params_schema": schema}
    return [
        {"name": SAFE, "api_call": {"method": "GET", **section}},
        {"name": UNSAFE, "api_call": {"method": "POST", **section, "params_in": {"n": "query"}}},
    ]


def submission(tool: str, key: str) -> dict[str, Any]:
    """The body of one submission; the key makes it idempotent and gives the call its id."""
    return {"tool": tool, "arguments": {"n": key}, "idempotency_key": key}


class System:
    """Toolbus as a contender, on PostgreSQL or on SQLite."""

    steps: Sequence[str] = (
        *("bus safe", "bus unsafe", "http one by one", "http batches"),
        *("bus latency", "ask latency", "http latency"),
    )

    def __init__(self, database: str, profiles: Path | None = None) -> None:
        self.database = database
        self.name = f"Toolbus {database}"
        self._profiles = profiles

    def absent(self) -> str | None:
        """It is always here."""
        return None

    async def run(self, task: Round) -> list[Measure]:
        """Start it with its store, define the tools, take every step, count the store's ends."""
        folder = Path(tempfile.mkdtemp(prefix="toolbus-bench-"))
        try:
            if self.database != "PostgreSQL":
                return await self._started(folder, None, task)
            async with await Postgres.start() as postgres:
                return await self._started(folder, postgres, task)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _started(self, folder: Path, postgres: Postgres | None, task: Round) -> list[Measure]:
        with Crew(folder) as crew:
            installation = await Installation.start(crew, postgres)
            for definition in definitions(task.target.url):
                await installation.define(definition)
            client = await installation.bus()
            steps = await Steps.open(installation, client, task)
            await steps.flood_bus(SAFE, "warm-s-", WARM_UP)
            await steps.flood_bus(UNSAFE, "warm-u-", WARM_UP)
            measures = []
            for number, step in enumerate(self.steps):
                task.tell(step)
                with profiled(self._profiles if number == 0 else None, steps.roots):
                    measures.append(await steps.take(step))
            measures.append(await steps.count_store())
            await client.close()
            return measures


@dataclass
class Steps:
    """The steps of one run on one installation."""

    installation: Installation
    client: Client
    task: Round
    publisher: AckedPublisher
    ends: Ends
    roots: dict[str, int]
    submitted: int = 0

    @classmethod
    async def open(cls, installation: Installation, client: Client, task: Round) -> "Steps":
        """Listen to the ends of calls, and learn the pids."""
        tenant, ends = installation.tenant, Ends(token=4)
        told = [f"toolbus.evt.{tenant}.call.*.{end}" for end in ("succeeded", "failed", "refused", "in_doubt")]
        await ends.listen(client, *told)
        roots = {**installation.roots(), "target": task.target.pid, "load": os.getpid()}
        return cls(installation, client, task, await AckedPublisher.open(client), ends, roots)

    async def take(self, step: str) -> Measure:
        """Take one step by its name."""
        match step.split():
            case ["bus", "safe" | "unsafe" as contract]:
                tool = SAFE if contract == "safe" else UNSAFE
                calls = self.task.plan.calls(BUS_CALLS[tool])
                return await self._throughput(step, calls, lambda: self.flood_bus(tool, f"{contract}-", calls))
            case ["http", "one", "by", "one"]:
                calls = self.task.plan.calls(SINGLE_CALLS)
                return await self._throughput(step, calls, lambda: self._http_singles(calls))
            case ["http", "batches"]:
                calls = self.task.plan.calls(BATCH_CALLS) // BATCH * BATCH
                return await self._throughput(step, calls, lambda: self._http_batches(calls))
            case ["bus", "latency"]:
                return await self._latency(step, self._one_on_bus)
            case ["ask", "latency"]:
                return await self._latency(step, self._one_asked)
            case ["http", "latency"]:
                connection = await self.installation.http()
                return await self._latency(step, lambda key: self._single(connection, key))
            case _:
                raise ValueError(step)

    async def _throughput(self, step: str, calls: int, work: Callable[[], Any]) -> Measure:
        return await throughput(Flood(step, calls, self.roots), self.task.target, work)

    async def _latency(self, step: str, one: Callable[[str], Any]) -> Measure:
        keys = [f"{step.replace(' ', '-')}-{number}" for number in range(self.task.plan.samples(SAMPLES))]
        self.submitted += len(keys)
        return await latency(step, self.task.target, lambda: one_by_one(keys, one))

    async def flood_bus(self, tool: str, prefix: str, calls: int) -> tuple[float, int]:
        """Publish so many commands, 200 awaiting their ack at a time, and wait for their ends."""
        subject = subjects.command(self.installation.tenant, "submit")
        messages = [(subject, body(submission(tool, f"{prefix}{number}"))) for number in range(calls)]
        self.submitted += calls
        return await flood(self.publisher, self.ends, messages, self.task.plan.concurrency)

    async def _http_singles(self, calls: int) -> tuple[float, int]:
        lanes = [await self.installation.http() for _ in range(SINGLE_CONNECTIONS)]
        self.submitted += calls
        began = time.perf_counter()
        await run_lanes(lanes, [f"single-{number}" for number in range(calls)], self._single)
        seconds = time.perf_counter() - began
        for lane in lanes:
            lane.close()
        return seconds, calls

    async def _single(self, lane: HttpClient, key: str) -> None:
        answer = await lane.send("POST", f"/v1/calls?wait_s={WAIT_S}", body(submission(SAFE, key)))
        if answer.status != OK or orjson.loads(answer.body)["status"] != "succeeded":
            raise _refused(answer)

    async def _http_batches(self, calls: int) -> tuple[float, int]:
        lanes = [await self.installation.http() for _ in range(BATCH_CONNECTIONS)]
        keys = [f"batch-{number}" for number in range(calls)]
        batches = [
            body({"calls": [submission(SAFE, key) for key in keys[first : first + BATCH]]})
            for first in range(0, calls, BATCH)
        ]
        self.submitted += calls

        async def send(lane: HttpClient, batch: bytes) -> None:
            answer = await lane.send("POST", "/v1/calls/batch", batch)
            if answer.status != ACCEPTED:
                raise _refused(answer)

        self.ends.forget()
        began = time.perf_counter()
        await run_lanes(lanes, batches, send)
        recorded = await self.ends.count(calls)
        for lane in lanes:
            lane.close()
        return self.ends.last_at - began, recorded

    async def _one_on_bus(self, key: str) -> None:
        ended = self.ends.expect(call_id_for_key(self.installation.tenant, key))
        subject = subjects.command(self.installation.tenant, "submit")
        await self.publisher.publish(subject, body(submission(SAFE, key)))
        await ended

    async def _one_asked(self, key: str) -> None:
        ended = self.ends.expect(call_id_for_key(self.installation.tenant, key))
        subject = subjects.ask(self.installation.tenant, "submit")
        await self.client.request(subject, body(submission(SAFE, key)), timeout=ASK_TIMEOUT_S)
        await ended

    async def count_store(self) -> Measure:
        """Every call of the run must be in the store as succeeded, once."""
        recorded = await self.installation.recorded_ends()
        return Measure(
            "store",
            self.submitted,
            lost=max(self.submitted - recorded, 0),
            doubled=max(recorded - self.submitted, 0),
            notes={"ready_s": self.installation.ready_s},
        )


def _refused(answer: Answer) -> BenchError:
    return BenchError(f"a submission was answered with {answer.status}: {answer.body.decode()[:300]}")
