"""
Restate on the same job: one service handler with one durable step that makes the GET.

Two configurations, because they differ threefold: `as documented` (its Python quick start: hypercorn,
24 partitions) and `tuned` for two cores (granian with two workers over HTTP/2, 4 partitions). The
write-ahead log is fsynced in both: the server's default, and asserted.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.environment import ROOT, VENV, restate_server
from bench.failures import BenchError
from bench.http_client import HttpClient
from bench.lanes import one_by_one, run_lanes
from bench.measures import Flood, Measure, Round, latency, throughput
from bench.postgres import NotDurable
from bench.processes import Crew, free_port, until
from bench.target_process import TargetProcess

CALLS = 6_000
SAMPLES = 300
WARM_UP = 400
POLL_S = 0.05
STALL_S = 30.0
OPEN = b'{"query": "SELECT count(*) AS open FROM sys_invocation WHERE status != \'completed\'"}'
ACCEPTED = {200, 201, 202}
DURABLE = ("rocksdb-disable-wal = false", "rocksdb-disable-wal-fsync = false")


@dataclass(frozen=True)
class Configuration:
    """How server and service are run."""

    name: str
    partitions: int
    serve: tuple[str, ...]


AS_DOCUMENTED = Configuration("as documented", 24, ("hypercorn", "--bind", "127.0.0.1:{port}", "restate_app:app"))
TUNED = Configuration(
    "tuned",
    4,
    (
        *("granian", "--interface", "asgi", "--host", "127.0.0.1", "--port", "{port}", "--http", "2"),
        *("--loop", "uvloop", "--workers", "2", "--no-ws", "--log-level", "warning", "restate_app:app"),
    ),
)


@dataclass(frozen=True)
class Ports:
    """Where the server and the service listen."""

    ingress: int
    admin: int
    node: int
    service: int


class Restate:
    """Restate as a contender."""

    steps: Sequence[str] = ("call", "send", "call latency")

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.name = f"Restate {configuration.name}"

    def absent(self) -> str | None:
        """Its server comes by npm, which may be missing."""
        return None if restate_server() is not None else "restate-server is not installed (it needs node and npm)"

    async def run(self, task: Round) -> list[Measure]:
        """Start server and service, flood them with calls and with sends, time single calls."""
        folder = Path(tempfile.mkdtemp(prefix="toolbus-bench-restate-"))
        try:
            with Crew(folder) as crew:
                return await _measured(crew, self.configuration, task)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


async def _start(crew: Crew, configuration: Configuration, target: TargetProcess) -> tuple[Ports, dict[str, int]]:
    ports = Ports(free_port(), free_port(), free_port(), free_port())
    settings = {
        "RESTATE_BASE_DIR": str(crew.folder / "data"),
        "RESTATE_NODE_NAME": "bench",
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_ADVERTISED_HOST": "127.0.0.1",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_PORT": str(ports.node),
        "RESTATE_INGRESS__BIND_PORT": str(ports.ingress),
        "RESTATE_ADMIN__BIND_PORT": str(ports.admin),
        "RESTATE_DEFAULT_NUM_PARTITIONS": str(configuration.partitions),
        "RESTATE_LOG_FILTER": "error",
        "RESTATE_DISABLE_TELEMETRY": "true",
    }
    await _assert_durable(settings)
    server = crew.start("restate-server", [str(restate_server())], env=settings)
    program = [part.format(port=ports.service) for part in configuration.serve]
    program[0] = str(VENV / "bin" / program[0])
    service = crew.start("service", program, env={"BENCH_TARGET": target.url, "PYTHONPATH": str(ROOT / "bench")})
    await server.listening(ports.admin)
    await server.listening(ports.ingress)
    await service.listening(ports.service)
    return ports, {"restate-server": server.process.pid, "service": service.process.pid}


async def _assert_durable(settings: Mapping[str, str]) -> None:
    """
    Its log is written ahead and synced in this configuration.

    Raises:
        NotDurable: it is not.
    """
    asking = await asyncio.create_subprocess_exec(
        str(restate_server()), "--dump-config", env={**os.environ, **settings}, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await asking.communicate()
    missing = [wanted for wanted in DURABLE if wanted not in told.decode().splitlines()]
    if missing:
        raise NotDurable(f"restate-server does not say {missing[0]}")


async def _register(ports: Ports) -> None:
    """Make the service known and wait until calls to it are answered."""
    admin, ingress = await HttpClient.connect(ports.admin), await HttpClient.connect(ports.ingress)
    deployment = orjson.dumps({"uri": f"http://127.0.0.1:{ports.service}"})

    async def registered() -> bool:
        return (await admin.send("POST", "/deployments", deployment)).status in ACCEPTED

    async def answers() -> bool:
        return (await ingress.send("POST", "/Calls/call", b'"ready"')).status in ACCEPTED

    await until(registered, "registration at restate-server")
    await until(answers, "the service behind restate-server")
    admin.close()
    ingress.close()


async def _measured(crew: Crew, configuration: Configuration, task: Round) -> list[Measure]:
    plan, target = task.plan, task.target
    ports, pids = await _start(crew, configuration, target)
    await _register(ports)
    lanes = [await HttpClient.connect(ports.ingress) for _ in range(plan.concurrency)]
    roots = {**pids, "target": target.pid, "load": os.getpid()}

    async def call(lane: HttpClient, key: str) -> None:
        answer = await lane.send("POST", "/Calls/call", orjson.dumps(key))
        if answer.status not in ACCEPTED:
            raise BenchError(f"restate-server answered {answer.status}: {answer.body.decode()[:200]}")

    async def flood_calls(calls: int, prefix: str) -> tuple[float, int]:
        began = time.perf_counter()
        await run_lanes(lanes, [f"{prefix}{number}" for number in range(calls)], call)
        return time.perf_counter() - began, calls

    async def flood_sends(calls: int) -> tuple[float, int]:
        async def send(lane: HttpClient, key: str) -> None:
            await lane.send("POST", "/Calls/call/send", orjson.dumps(key))

        began = time.perf_counter()
        await run_lanes(lanes, [f"s{number}" for number in range(calls)], send)
        return await _until_done(ports.admin, target, calls, began)

    await flood_calls(WARM_UP, "w")
    calls = plan.calls(CALLS)
    task.tell("call")
    called = await throughput(Flood("call", calls, roots), target, lambda: flood_calls(calls, "c"))
    task.tell("send")
    sent = await throughput(Flood("send", calls, roots), target, lambda: flood_sends(calls))
    task.tell("call latency")
    keys = [f"l{number}" for number in range(plan.samples(SAMPLES))]
    single = await latency("call latency", target, lambda: one_by_one(keys, lambda key: call(lanes[0], key)))
    for lane in lanes:
        lane.close()
    return [called, sent, single]


async def _until_done(admin_port: int, target: TargetProcess, calls: int, began: float) -> tuple[float, int]:
    """Wait until all effects were seen (or stall); seconds until then, and invocations that are completed."""
    seen, changed_at = 0, time.monotonic()
    while seen < calls and time.monotonic() - changed_at < STALL_S:
        await asyncio.sleep(POLL_S)
        before, seen = seen, (await target.journal()).keys
        changed_at = time.monotonic() if seen > before else changed_at
    seconds = time.perf_counter() - began
    admin = await HttpClient.connect(admin_port, {"accept": "application/json"})

    async def all_completed() -> bool:
        rows = orjson.loads((await admin.send("POST", "/query", OPEN)).body)["rows"]
        return not rows or rows[0]["open"] == 0

    await until(all_completed, "completion of all invocations", within_s=STALL_S)
    admin.close()
    return seconds, calls
