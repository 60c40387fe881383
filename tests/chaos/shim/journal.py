"""
What power loss takes back: the journal that the library keeps beside the live folder, read and applied.

The journal holds, for every file written since it began, the length that is on disk and the old content of the blocks
that were overwritten and not synced. Its layout is that of `journal.h`.
"""

import ctypes
import os
import shutil
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

JOURNAL_SUFFIX = ".unsynced"
BLOCK_BYTES = 4096
SLOTS = 8192
SLOT = struct.Struct("=QqqqII88x")
HEAD_BYTES = 4096
BITS_BYTES = 32768
TABLE_BYTES = HEAD_BYTES + SLOTS * (SLOT.size + BITS_BYTES)
DEATH_TIMEOUT_S = 10.0  # a process that was killed may live a moment longer than its parent
AT_FDCWD, AT_SYMLINK_NOFOLLOW, STATX_BTIME = -100, 0x100, 0x800


class StillRunning(Exception):
    """Processes that write below the live folder are alive; kill them first."""


@dataclass(frozen=True)
class Lost:
    """What a power loss took: files that are not what they were, blocks (of 4 KiB) put back, bytes cut off."""

    files: int = 0
    blocks: int = 0
    bytes: int = 0


class Entry(NamedTuple):
    """What the journal knows of one file."""

    number: int
    born: tuple[int, int]
    durable_bytes: int
    blocks: tuple[int, ...]


def begin(live: Path) -> None:
    """All that is below `live` counts as on disk from now on; no process that writes there may run."""
    journal = _journal(live)
    shutil.rmtree(journal, ignore_errors=True)
    journal.mkdir()
    journal.chmod(0o777)  # PostgreSQL writes as a user of its own when we are root
    table = journal / "table"
    with table.open("wb") as file:
        file.truncate(TABLE_BYTES)
    table.chmod(0o666)


def power_loss(live: Path, *, torn: Random | None = None, timeout_s: float = DEATH_TIMEOUT_S) -> Lost:
    """
    Everything below `live` is as it was on disk, and a new journal has begun; the processes were killed before.

    Without `torn` nothing survives that was not synced. With it each unsynced block of 4 KiB reached the disk or not,
    as chance will have it, like on a disk that was busy writing.

    Raises:
        StillRunning: processes of the live folder still run `timeout_s` later.
    """
    journal = _journal(live)
    _await_deaths(journal / "table", timeout_s)
    entries = dict(_entries(journal / "table"))
    files = blocks = cut = 0
    for path in live.rglob("*"):
        found = path.lstat()
        entry = entries.get(found.st_ino)
        if entry is None or not stat.S_ISREG(found.st_mode) or _born(path) != entry.born:
            continue
        restored, shortened = _restore(path, entry, journal / str(entry.number), torn)
        files += bool(restored or shortened)
        blocks += restored
        cut += shortened
    begin(live)
    return Lost(files, blocks, cut)


def _journal(live: Path) -> Path:
    folder = live.resolve()
    return folder.with_name(folder.name + JOURNAL_SUFFIX)


def _restore(path: Path, entry: Entry, before: Path, torn: Random | None) -> tuple[int, int]:
    size = path.stat().st_size
    if torn is not None and size < entry.durable_bytes and torn.random() < 0.5:
        return 0, 0  # the file had been made shorter, and that reached the disk
    blocks = [number for number in entry.blocks if torn is None or torn.random() < 0.5]
    keep = entry.durable_bytes if torn is None else torn.randint(entry.durable_bytes, max(size, entry.durable_bytes))
    if not blocks and keep == size:
        return 0, 0
    with path.open("r+b") as file:
        if blocks:
            with before.open("rb") as old:
                for number in blocks:
                    old.seek(number * BLOCK_BYTES)
                    file.seek(number * BLOCK_BYTES)
                    file.write(old.read(BLOCK_BYTES).ljust(BLOCK_BYTES, b"\0"))
        file.truncate(keep)
    return len(blocks), max(size - keep, 0)


def _entries(table: Path) -> Iterator[tuple[int, Entry]]:
    """By inode."""
    with table.open("rb") as file:
        file.seek(HEAD_BYTES)
        slots = file.read(SLOTS * SLOT.size)
        for number, (inode, seconds, nanoseconds, size, low, high) in enumerate(SLOT.iter_unpack(slots)):
            if inode:
                first = low // 8
                file.seek(HEAD_BYTES + SLOTS * SLOT.size + number * BITS_BYTES + first)
                bits = file.read(max(0, (high + 7) // 8 - first))
                blocks = tuple(
                    (first + place) * 8 + bit
                    for place, byte in enumerate(bits)
                    if byte
                    for bit in range(8)
                    if byte >> bit & 1
                )
                yield inode, Entry(number, (seconds, nanoseconds), size, blocks)


def _born(path: Path) -> tuple[int, int]:
    """
    When the file was made (s, ns): the number of an inode is given again when its file is gone.

    Source: statx(2); Python has no call for it before 3.15.
    """
    answer = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statx(AT_FDCWD, os.fsencode(path), AT_SYMLINK_NOFOLLOW, STATX_BTIME, answer) != 0:
        raise OSError(ctypes.get_errno(), "statx", str(path))
    mask: int = struct.unpack_from("=I", answer)[0]
    seconds, nanoseconds = struct.unpack_from("=qI", answer, 80)
    return (seconds, nanoseconds) if mask & STATX_BTIME else (0, 0)


def _await_deaths(table: Path, timeout_s: float) -> None:
    """Wait until no process holds the table."""
    deadline = time.monotonic() + timeout_s
    while holders := [maps.parent.name for maps in Path("/proc").glob("[0-9]*/maps") if _holds(maps, table)]:
        if time.monotonic() > deadline:
            raise StillRunning(f"processes {', '.join(holders)} have {table.parent} open")
        time.sleep(0.005)


def _holds(maps: Path, table: Path) -> bool:
    try:
        return str(table) in maps.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it ended while we looked, or is another user's
        return False
