"""The faults of the machine, each shown on files and clocks: what they break, and what they must leave alone."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.chaos import shim
from tests.chaos.shim.child import Child

pytestmark = pytest.mark.skipif(not shim.is_available(), reason=shim.why_unavailable() or "available")

DEADLINE_S = 20.0
OLD, NEW = b"o" * 10_000, b"n" * 10_000


@pytest.fixture(scope="module")
def library() -> Iterator[Path]:
    """The library, in a folder that PostgreSQL's user may read."""
    folder = Path(tempfile.mkdtemp(prefix="toolbus-shim-"))
    folder.chmod(0o755)
    yield shim.library(folder)
    shutil.rmtree(folder)


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """An empty folder that can lose its power."""
    folder = tmp_path / "live"
    folder.mkdir()
    return folder


@pytest.fixture
def started() -> Iterator[list[Child]]:
    """Children that are killed when the test ends."""
    children: list[Child] = []
    yield children
    for child in children:
        child.kill()


def run(library: Path, live: Path, *programs: str) -> None:
    """Run programs one after another, with the live folder as working directory."""
    for program in programs:
        subprocess.run(
            [sys.executable, "-c", f"import os, shutil\n{program}"],
            check=True,
            cwd=live,
            env={**os.environ, **shim.environment(library, live=live)},
        )


OPEN = "fd = os.open('file', os.O_RDWR | os.O_CREAT)\n"
UNSYNCED = {
    "append": f"{OPEN}os.lseek(fd, 0, 2); os.write(fd, {NEW!r})",
    "overwrite": f"{OPEN}os.pwrite(fd, {NEW!r}, 0)",
    "overwrite in the middle": f"{OPEN}os.pwrite(fd, {NEW[:100]!r}, 5000)",
    "write only": f"fd = os.open('file', os.O_WRONLY); os.writev(fd, [{NEW[:50]!r}, {NEW[:50]!r}])",
    "pwritev2": f"{OPEN}os.pwritev(fd, [{NEW!r}], 3000, 0)",
    "append mode": f"open('file', 'ab').write({NEW!r})",
    "truncate": f"{OPEN}os.ftruncate(fd, 10)",
    "truncate by path": "os.truncate('file', 10)",
    "truncate, then write more": f"{OPEN}os.ftruncate(fd, 0); os.write(fd, {NEW!r} * 3)",
    "truncate when opening": f"open('file', 'wb').write({NEW!r})",
    "allocate": f"{OPEN}os.posix_fallocate(fd, 0, 100_000)",
    "copy into": "open('other', 'wb').write(b'n' * 9_000); shutil.copyfile('other', 'file')",
    "copy a range": f"open('other', 'wb').write(b'n' * 9_000); {OPEN}"
    "os.copy_file_range(os.open('other', os.O_RDONLY), fd, 9_000, 0, 0)",
    "in two processes": f"{OPEN}os.fork(); os.pwrite(fd, {NEW!r}, 0)",
    "synced before it was written": f"{OPEN}os.fsync(fd); os.pwrite(fd, {NEW!r}, 0)",
    "after a sync of another file": f"{OPEN}os.pwrite(fd, {NEW!r}, 0); os.fsync(os.open('b', os.O_RDWR | os.O_CREAT))",
}
SYNCED = {
    "fsync": f"{OPEN}os.pwrite(fd, {NEW!r}, 0); os.fsync(fd)",
    "fdatasync": f"{OPEN}os.pwrite(fd, {NEW!r}, 0); os.fdatasync(fd)",
    "another descriptor": f"{OPEN}os.pwrite(fd, {NEW!r}, 0); os.fsync(os.open('file', os.O_RDONLY))",
    "O_DSYNC": f"fd = os.open('file', os.O_WRONLY | os.O_DSYNC); os.write(fd, {NEW!r})",
    "O_SYNC": f"fd = os.open('file', os.O_WRONLY | os.O_SYNC); os.write(fd, {NEW!r})",
    "RWF_DSYNC": f"{OPEN}os.pwritev(fd, [{NEW!r}], 0, os.RWF_DSYNC)",
    "renamed": f"{OPEN}os.pwrite(fd, {NEW!r}, 0); os.rename('file', 'x'); os.fsync(fd); os.rename('x', 'file')",
    "replaced": f"open('new', 'wb').write({NEW!r}); os.fsync(os.open('new', os.O_RDONLY)); os.replace('new', 'file')",
}


@pytest.mark.parametrize("program", UNSYNCED.values(), ids=UNSYNCED.keys())
def test_what_was_not_synced_is_lost(library: Path, live: Path, program: str) -> None:
    """However a file was written, without a sync it is as it was before."""
    (live / "file").write_bytes(OLD)
    shim.begin(live)
    run(library, live, program)
    assert (live / "file").read_bytes() != OLD
    assert shim.power_loss(live).files > 0
    assert (live / "file").read_bytes() == OLD


@pytest.mark.parametrize("program", SYNCED.values(), ids=SYNCED.keys())
def test_what_was_synced_stays(library: Path, live: Path, program: str) -> None:
    """However a file was synced, all that was written before stays."""
    (live / "file").write_bytes(OLD)
    shim.begin(live)
    run(library, live, program)
    assert shim.power_loss(live) == shim.Lost()
    assert (live / "file").read_bytes() == NEW


def test_a_sync_holds_for_what_other_processes_wrote(library: Path, live: Path) -> None:
    """As PostgreSQL's checkpointer syncs what backends wrote, and only what they wrote before."""
    shim.begin(live)
    run(library, live, f"{OPEN}os.write(fd, {OLD!r})", f"{OPEN}os.fsync(fd)", f"{OPEN}os.pwrite(fd, {NEW!r}, 0)")
    lost = shim.power_loss(live)
    assert (live / "file").read_bytes() == OLD
    assert lost == shim.Lost(files=1, blocks=3)


def test_a_new_file_keeps_its_name_and_loses_its_content(library: Path, live: Path) -> None:
    """Names are on disk at once; that goes for files in folders that are new, too."""
    shim.begin(live)
    run(library, live, "os.mkdir('a'); open('a/new', 'w').write('text'); os.rename('a', 'b')")
    assert shim.power_loss(live) == shim.Lost(files=1, bytes=4)
    assert (live / "b" / "new").read_bytes() == b""


def test_a_file_is_not_taken_for_one_that_had_its_inode(library: Path, live: Path) -> None:
    """The journal of a removed file touches none that came after it, even unseen and with the same number."""
    (live / "file").write_bytes(OLD)
    shim.begin(live)
    inode = (live / "file").stat().st_ino
    run(library, live, f"{OPEN}os.pwrite(fd, {NEW!r}, 0); os.unlink('file')")
    for number in range(100):
        (live / f"later{number}").write_bytes(NEW)
    if inode not in {path.stat().st_ino for path in live.iterdir()}:
        pytest.skip("this file system gave the number to nobody again")
    assert shim.power_loss(live) == shim.Lost()


def test_the_same_chance_tears_the_same_blocks(library: Path, live: Path) -> None:
    """With `torn` some unsynced blocks are new and some old, each as a whole, decided by the seed alone."""
    torn: list[bytes] = []
    for _ in range(2):
        (live / "file").write_bytes(b"o" * 40 * 4096)
        shim.begin(live)
        run(library, live, f"{OPEN}os.pwrite(fd, b'n' * 40 * 4096, 0)")
        shim.power_loss(live, torn=Random(7))
        torn.append((live / "file").read_bytes())
    blocks = {torn[0][start : start + 4096] for start in range(0, len(torn[0]), 4096)}
    assert blocks == {b"o" * 4096, b"n" * 4096}
    assert torn[0] == torn[1]


def test_files_elsewhere_are_left_alone(library: Path, live: Path, tmp_path: Path) -> None:
    """What lies beside the folder is not journalled."""
    shim.begin(live)
    run(library, live, "open('../elsewhere', 'w').write('kept')")
    assert shim.power_loss(live) == shim.Lost()
    assert (tmp_path / "elsewhere").read_text() == "kept"


def test_power_loss_waits_for_the_dead(library: Path, live: Path, started: list[Child]) -> None:
    """A process that could still write is named."""
    shim.begin(live)
    started.append(Child(shim.environment(library, live=live)))
    with pytest.raises(shim.StillRunning, match=str(started[0].process.pid)):
        shim.power_loss(live, timeout_s=0.0)


def test_a_full_disk_takes_what_does_not_extend_unless_told(
    library: Path, live: Path, tmp_path: Path, started: list[Child]
) -> None:
    """Writing inside a file works on a full disk; `every_write` refuses that, too."""
    flag = tmp_path / "full"
    (live / "file").write_bytes(OLD)
    shim.begin(live)
    child = Child(shim.environment(library, live=live, disk_full=flag))
    started.append(child)
    child.tell(f"globals().update(fd=os.open({str(live / 'file')!r}, os.O_RDWR))")
    shim.fill_disk(flag)
    assert child.tell("os.pwrite(fd, b'n', 0)") == "1"
    for refused in ("os.pwrite(fd, b'nn', 9_999)", "os.posix_fallocate(fd, 0, 20_000)"):
        assert child.tell(refused) == "OSError [Errno 28] No space left on device"
    shim.fill_disk(flag, every_write=True)
    assert child.tell("os.pwrite(fd, b'n', 0)") == "OSError [Errno 28] No space left on device"
    shim.free_disk(flag)
    assert child.tell("os.pwrite(fd, b'nn', 9_999)") == "2"


@pytest.mark.parametrize("seconds", [3600.25, -86400.5, 0.0])
def test_the_wall_clock_jumps_and_no_other(library: Path, tmp_path: Path, started: list[Child], seconds: float) -> None:
    """All that tells the time of day is off by what was said; what measures spans is not."""
    clock = tmp_path / "clock"
    child = Child(shim.environment(library, clock=clock))
    started.append(child)
    for offset in (0.0, seconds):
        if offset:
            shim.jump(clock, offset)
        deadline = time.monotonic() + DEADLINE_S
        while abs(float(child.tell("time.time()")) - time.time() - offset) > 5:
            assert time.monotonic() < deadline, "the clock did not jump"
        for clock_of_day in ("datetime.datetime.now().timestamp()", "time.mktime(time.localtime())"):
            assert abs(float(child.tell(clock_of_day)) - time.time() - offset) < 5
        # On Linux the monotonic clock is one for all processes.
        assert abs(float(child.tell("time.monotonic()")) - time.monotonic()) < 5
