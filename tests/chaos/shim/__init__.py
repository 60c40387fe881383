"""
Faults of the machine for processes that are started with `environment`: power loss, a full disk, jumps of the clock.

A library that is loaded before libc (`LD_PRELOAD`) stands between a program and the system. It sees what goes
through libc: CPython, SQLite, PostgreSQL. A static Go program (nats-server) is not reached.

    begin(live)                      everything below `live` is on disk
    Popen(…, env={**os.environ, **environment(library(build_folder), live=live)})
    …                                kill -9 of every process
    power_loss(live)                 what was not synced is gone; start the processes again
"""

import sys
from pathlib import Path

from tests.chaos.shim.building import ShimNotBuilt, compiler, library
from tests.chaos.shim.journal import JOURNAL_SUFFIX, Lost, StillRunning, begin, power_loss
from toolbus_runtime.confining import TRACEABLE

__all__ = [
    "JOURNAL_SUFFIX",
    "Lost",
    "ShimNotBuilt",
    "StillRunning",
    "begin",
    "environment",
    "fill_disk",
    "free_disk",
    "is_available",
    "is_loaded",
    "jump",
    "library",
    "power_loss",
    "why_unavailable",
]


def why_unavailable() -> str:
    """Why these faults cannot be made on this machine, for the reason of a skipped test; empty if they can."""
    if sys.platform != "linux":
        return f"LD_PRELOAD and /proc are needed, this is {sys.platform}"
    return "" if compiler() else "no C compiler (cc) here"


def is_available() -> bool:
    """Whether the library can be built and loaded here."""
    return not why_unavailable()


def environment(
    built: Path, *, live: Path | None = None, disk_full: Path | None = None, clock: Path | None = None
) -> dict[str, str]:
    """
    The variables that put a process, and all it starts, under the faults that are named.

    Args:
        built: the library; the process' user must be able to read it, or the loader goes on without it
            (see `is_loaded`).
        live: the folder whose unsynced writes can be lost and whose disk can be full; `begin` comes first.
        disk_full: the flag of `fill_disk`.
        clock: the file of `jump`.

    Raises:
        ValueError: `disk_full` without `live`, or a path that the variables cannot carry.
    """
    variables = {"LD_PRELOAD": str(built.resolve()), TRACEABLE: "1"}  # `is_loaded` looks into services too
    if any(sign in variables["LD_PRELOAD"] for sign in " :"):
        raise ValueError(f"the loader splits {built} at blanks and colons")
    if live is not None:
        folder = live.resolve()
        if "=" in str(folder):
            raise ValueError(f"{folder} holds the sign that parts two folders")
        variables["CHAOS_DURABLE"] = f"{folder}={folder}{JOURNAL_SUFFIX}"
    if disk_full is not None:
        if live is None:
            raise ValueError("a disk is full for the files below `live` only")
        variables["CHAOS_DISK_FULL"] = str(disk_full.absolute())
    if clock is not None:
        variables["CHAOS_CLOCK"] = str(clock.absolute())
    return variables


def is_loaded(built: Path, pid: int) -> bool:
    """Whether a running process has the library in it; worth asserting, for the loader only warns when it has not."""
    return str(built.resolve()) in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


def fill_disk(flag: Path, *, every_write: bool = False) -> None:
    """
    From now on writes that make a file longer fail with ENOSPC, and with `every_write` all others, too.

    The latter is how a disk behaves that copies on write; programs notice it at once, where otherwise they may go on
    for a while in space they had reserved.
    """
    flag.write_text("every" if every_write else "", encoding="utf-8")


def free_disk(flag: Path) -> None:
    """There is room on the disk again."""
    flag.unlink(missing_ok=True)


def jump(clock_file: Path, seconds: float) -> None:
    """
    The wall clock of the processes is `seconds` off the true one (not: off what it was), 50 ms from now at the latest.

    Monotonic clocks go on as they were; 0 puts the clock right.
    """
    fresh = clock_file.with_name(f"{clock_file.name}.new")
    fresh.write_text(repr(float(seconds)), encoding="utf-8")
    fresh.chmod(0o644)
    fresh.replace(clock_file)  # in one step: half a number is another number
