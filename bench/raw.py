"""
The raw limit: the hops of a call with bare nats-py and aiohttp, without a store and without any rule.

publisher → COMMANDS → dispatcher → WORK → executor → target → OUTCOMES → dispatcher → EVENTS, each
stream on disk and each publish acknowledged, in as many processes as the real system has.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StorageType, StreamConfig

from bench.bus_load import AckedPublisher, Ends, flood
from bench.lanes import one_by_one
from bench.measures import Flood, Measure, Round, latency, throughput
from bench.processes import Child, Crew, free_port
from bench.raw_roles import COMMANDS, EVENTS, STREAMS, WORK_QUEUES

READERS = {"COMMANDS": "dispatcher", "OUTCOMES": "dispatcher", "WORK": "executor"}
CALLS = 20_000
SAMPLES = 500
WARM_UP = 400
MAX_ACK_PENDING = 4096


def nats_server() -> str:
    """The server's program, from the environment that runs the bench."""
    return str(Path(sys.executable).parent / "nats-server")


async def declare(client: Client) -> None:
    """Declare the streams and the consumers of the two roles."""
    jetstream = client.jetstream()
    for name, subject in STREAMS.items():
        retention = RetentionPolicy.WORK_QUEUE if name in WORK_QUEUES else RetentionPolicy.LIMITS
        config = StreamConfig(name, subjects=[f"{subject}.>"], retention=retention, storage=StorageType.FILE)
        await jetstream.add_stream(config)
    for name, role in READERS.items():
        consumer = ConsumerConfig(durable_name=role, ack_policy=AckPolicy.EXPLICIT, max_ack_pending=MAX_ACK_PENDING)
        await jetstream.add_consumer(name, consumer)


class Raw:
    """The bare hops as a contender."""

    name = "raw limit"
    steps: Sequence[str] = ("bus", "bus latency")

    def absent(self) -> str | None:
        """It needs nothing that the bench itself does not need."""
        return None

    async def run(self, task: Round) -> list[Measure]:
        """Start server and roles, flood them, time single calls."""
        folder = Path(tempfile.mkdtemp(prefix="toolbus-bench-raw-"))
        try:
            with Crew(folder) as crew:
                return await self._measured(crew, task)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _measured(self, crew: Crew, task: Round) -> list[Measure]:
        port = free_port()
        store = str(crew.folder / "jetstream")
        server = crew.start("nats-server", [nats_server(), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", store])
        await server.listening(port)
        url = f"nats://127.0.0.1:{port}"
        client = await nats.connect(url)
        await declare(client)
        roles = [
            crew.start(role, [sys.executable, "-m", "bench.raw_roles", role, url, task.target.url])
            for role in ("dispatcher", "executor")
        ]
        measures = await _steps(client, task, [server, *roles])
        await client.close()
        return measures


async def _steps(client: Client, task: Round, children: Sequence[Child]) -> list[Measure]:
    plan, target = task.plan, task.target
    publisher = await AckedPublisher.open(client)
    ends = Ends(token=-1)
    await ends.listen(client, f"{EVENTS}.*")
    roots = {**{child.name: child.process.pid for child in children}, "target": target.pid, "load": os.getpid()}

    async def send(prefix: str, calls: int) -> tuple[float, int]:
        messages = [(f"{COMMANDS}.{prefix}{number}", b'{"n":"%d"}' % number) for number in range(calls)]
        return await flood(publisher, ends, messages, plan.concurrency)

    async def one(number: int) -> None:
        ended = ends.expect(f"l{number}")
        await publisher.publish(f"{COMMANDS}.l{number}", b'{"n":"%d"}' % number)
        await ended

    await send("w", WARM_UP)
    task.tell("bus")
    calls = plan.calls(CALLS)
    flooded = await throughput(Flood("bus", calls, roots), target, lambda: send("f", calls))
    task.tell("bus latency")
    single = await latency("bus latency", target, lambda: one_by_one(range(plan.samples(SAMPLES)), one))
    return [flooded, single]
