"""Processes of a contender: started with a log, waited for, measured in CPU time, and stopped by pid."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from bench.failures import BenchError

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
STOP_AFTER_S = 10.0
LOG_TAIL_CHARS = 2000
SWITCHES = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONDEVMODE", "PYTHONASYNCIODEBUG", "PYTHONWARNINGS"}


class NotReady(BenchError):
    """A process did not come up, or ended too early; the message holds the end of its log."""


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def until(condition: Callable[[], Awaitable[bool]], what: str, *, within_s: float = 30.0) -> None:
    """
    Wait until the condition holds.

    Raises:
        NotReady: it did not within the time given.
    """
    deadline = time.monotonic() + within_s
    while not await condition():
        if time.monotonic() > deadline:
            raise NotReady(f"{what}: not within {within_s:g} s")
        await asyncio.sleep(0.02)


async def accepts(port: int) -> bool:
    """Tell whether something listens on this port of the loopback."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@dataclass
class Child:
    """A process that we started; `name` is what the tables call it."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    async def listening(self, port: int, *, within_s: float = 30.0) -> None:
        """
        Wait until it listens on the port.

        Raises:
            NotReady: it ended, or the time passed.
        """

        async def ready() -> bool:
            if self.process.poll() is not None:
                raise NotReady(f"{self.name} ended with {self.process.returncode}: {self.tail()}")
            return await accepts(port)

        await until(ready, f"{self.name} on port {port}", within_s=within_s)

    async def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """
        Give a process that talks one order, as a line of JSON, and wait for its answer.

        Raises:
            NotReady: it ended instead.
        """
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """
        The next line of a process that talks.

        Raises:
            NotReady: it ended instead.
        """
        assert self.process.stdout is not None
        line = await asyncio.to_thread(self.process.stdout.readline)
        if not line:
            raise NotReady(f"{self.name} ended: {self.tail()}")
        told: dict[str, Any] = json.loads(line)
        return told

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-LOG_TAIL_CHARS:]

    def stop(self) -> None:
        """Ask it to end, with its children; kill it when it does not."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_AFTER_S)
        except subprocess.TimeoutExpired:
            for left in (*_children(self.process.pid), self.process.pid):
                _kill(left)
            self.process.wait(STOP_AFTER_S)


def _children(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself meanwhile


@dataclass
class Crew:
    """The processes of one contender; leaving the context stops them in reverse order."""

    folder: Path
    children: list[Child] = field(default_factory=list)

    def start(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str] | None = None, talks: bool = False
    ) -> Child:
        """Start a process whose output goes to `<folder>/<name>.log`; one that `talks` answers orders instead."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as sink:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else sink,
                stderr=sink,
                env={**_environment(), **(env or {})},
            )
        child = Child(name, process, log)
        self.children.append(child)
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for child in reversed(self.children):
            child.stop()


def _environment() -> dict[str, str]:
    """Ours without Python's debugging switches: with bytecode caches, as an installation has them."""
    return {name: value for name, value in os.environ.items() if name not in SWITCHES}


Roots = Mapping[str, int]  # what the tables call a process → its pid; children count with their nearest root


def cpu_times(roots: Roots) -> dict[str, float]:
    """CPU seconds used so far under each name: the process, its living descendants, and those that were reaped."""
    names = {pid: name for name, pid in roots.items()}
    processes = _scan()
    found = dict.fromkeys(roots, 0.0)
    for pid, (_, used_s) in processes.items():
        nearest: int | None = pid
        while nearest in processes and nearest not in names:
            nearest = processes[nearest][0]
        if nearest in names:
            found[names[nearest]] += used_s
    return found


def _scan() -> dict[int, tuple[int, float]]:
    """
    Every process: its parent, and user and system seconds of itself and of its reaped children.

    Source: proc(5), `/proc/pid/stat`, fields 4 and 14 to 17.
    """
    found: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended between the listing and the reading
            found[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])) * TICK_S)
    return found
