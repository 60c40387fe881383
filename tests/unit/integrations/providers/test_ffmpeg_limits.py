"""ffmpeg: what the program may take of the machine, and what is told when it wants more."""

import asyncio
import base64
import io
import sys
import wave
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import ffmpeg

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there can the bounds of a process be read")
ENDLESS = "-stream_loop -1 -i in.wav -af atempo=0.5 -t 900000 out.mp3"


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call, with a folder of its own."""
    folder = tmp_path / "call"
    folder.mkdir()
    return OwnCall(folder)


def silence() -> str:
    """A second of it as a WAV file, base64."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16000))
    return base64.b64encode(file.getvalue()).decode()


async def run(call: OwnCall, line: str) -> dict[str, Any]:
    """What came of the command line."""
    return await perform(ffmpeg.provider, "bash_cmd", {"cmd": line, "file": silence()}, call)


async def test_the_program_has_its_bounds_before_it_begins(call: OwnCall) -> None:
    """Of memory, processor time, open files and what it writes, soft as hard: it cannot raise them; none is forked."""
    running = asyncio.create_task(run(call, ENDLESS))
    async with asyncio.timeout(20):
        while not (call.folder / "out.mp3").exists():
            assert not running.done()
            await asyncio.sleep(0.01)
    (child,) = (one for one in psutil.Process().children() if one.cwd() == str(call.folder))
    bounds = {
        psutil.RLIMIT_AS: ffmpeg.MEMORY_BYTES,
        psutil.RLIMIT_CPU: ffmpeg.CPU_S,
        psutil.RLIMIT_NOFILE: ffmpeg.MAX_OPEN_FILES,
        psutil.RLIMIT_FSIZE: call.max_output_bytes * 3 // 4 - 1024,
        psutil.RLIMIT_CORE: 0,
    }
    assert {which: child.rlimit(which) for which in bounds} == {which: (most, most) for which, most in bounds.items()}
    assert child.children() == []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not child.is_running()


FORKING = """
import os, subprocess, sys, threading
told = []
for way in ("fork", "vfork", "spawn"):
    try:
        if way == "fork":
            if os.fork() == 0:
                os._exit(0)
        elif way == "vfork":
            subprocess.run(["/bin/true"], close_fds=False)
        else:
            os.posix_spawn("/bin/true", ["true"], {})
        told.append("made")
    except PermissionError:
        told.append("refused")
thread = threading.Thread(target=lambda: told.append("thread"))
thread.start()
thread.join()
sys.exit(" ".join(told))
"""


RAW = """
import ctypes, errno, sys
kernel = ctypes.CDLL(None, use_errno=True)
kernel.syscall({number}, 0, 0)
sys.exit(errno.errorcode[ctypes.get_errno()])
"""
# What happens in a process before it becomes the launcher: the kernel has become another.
OTHER_MACHINE = "kernel.personality(8)"
NO_SECCOMP = """
prctl = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
steps = [(32, 0, 0, 0), (21, 0, 3, prctl), (32, 0, 0, 16), (21, 0, 1, 22), (6, 0, 0, 0x50016), (6, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("=HBBI", *step) for step in steps)
held = ctypes.create_string_buffer(code, len(code))
kernel.prctl(38, 1, 0, 0, 0)
kernel.prctl(22, 2, ctypes.c_char_p(struct.pack("@HP", len(steps), ctypes.addressof(held))))
"""


def put_program(call: OwnCall, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A program in Python runs in the place of ffmpeg."""
    program = call.folder / "program"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o700)
    monkeypatch.setattr(ffmpeg, "_program", lambda: str(program))


async def test_a_program_is_one_process(call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever way of starting another it tries is refused; threads are not."""
    put_program(call, monkeypatch, FORKING)
    with pytest.raises(ToolFailed, match=r"^ffmpeg: refused refused refused thread$"):
        await run(call, "-i in.wav out.flac")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        pytest.param(435, "^ffmpeg: ENOSYS$", id="clone3, whose flags nobody sees"),
        pytest.param(0x40000000 | 57, "^ffmpeg was ended by SIGSYS", id="fork, by another of its numbers"),
    ],
)
async def test_no_other_number_makes_a_process(
    call: OwnCall, monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    """What the filter cannot judge is not there, and what it does not know ends the program."""
    put_program(call, monkeypatch, RAW.format(number=number))
    with pytest.raises(ToolFailed, match=told):
        await run(call, "-i in.wav out.flac")


async def test_a_program_has_threads(call: OwnCall) -> None:
    """Encoders that work with several do so."""
    line = "-filter_complex color=c=red:size=640x360,format=yuv420p -c:v libx264 -threads 4 -t 1 out.mp4"
    made = base64.b64decode((await run(call, f"-i in.wav {line}"))["fileoutput"])
    assert b"threads=4 " in made  # what x264 writes of itself into what it makes
    assert made[4:8] == b"ftyp"


@pytest.mark.parametrize(
    ("before", "told"),
    [
        pytest.param(OTHER_MACHINE, "^ffmpeg: no bound on processes is known for (i686|armv8l)$", id="another machine"),
        pytest.param(NO_SECCOMP, "^ffmpeg: the kernel refused a bound: Invalid argument$", id="no seccomp"),
    ],
)
async def test_nothing_runs_without_its_bounds(
    call: OwnCall, monkeypatch: pytest.MonkeyPatch, before: str, told: str
) -> None:
    """Where the kernel cannot see to it that the program stays alone, the call fails and says why."""
    launcher = call.folder / "launcher.py"
    begin = "import ctypes, os, runpy, struct\nkernel = ctypes.CDLL(None)"
    go_on = f"runpy.run_path({str(ffmpeg.LAUNCHER)!r}, run_name='__main__')"
    launcher.write_text(f"{begin}\n{before}\n{go_on}\n")
    monkeypatch.setattr(ffmpeg, "LAUNCHER", launcher)
    with pytest.raises(ToolFailed, match=told):
        await run(call, "-i in.wav out.flac")
    assert not (call.folder / "out.flac").exists()


async def test_a_program_that_wants_more_memory_is_told_no(call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture beyond its bound is not made, and what the program says is told; nobody else's memory is taken."""
    monkeypatch.setattr(ffmpeg, "MEMORY_BYTES", 512 * 1024**2)
    graph = "-filter_complex color=c=red:size=10000x10000,format=rgb48 -frames:v 1"  # 600 MB; larger ones are invalid
    with pytest.raises(ToolFailed, match="Cannot allocate memory"):
        await run(call, f"-i in.wav {graph} out.png")


async def test_a_program_that_works_for_too_long_is_ended(call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the seconds of a processor that it took, however many of them there are."""
    monkeypatch.setattr(ffmpeg, "CPU_S", 1)
    with pytest.raises(ToolFailed, match=r"ffmpeg was ended by SIG(KILL|XCPU)"):
        await asyncio.wait_for(run(call, ENDLESS), 30)


async def test_threads_without_number_end_at_the_bounds(call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes of the program's own memory, so that their number is bounded with it; others start as before."""
    monkeypatch.setattr(ffmpeg, "MEMORY_BYTES", 512 * 1024**2)
    line = "-threads 100000 -filter_complex color=c=red:size=64x64 -c:v libx264 -threads 100000 -t 1 out.mp4"
    with suppress(ToolFailed):
        await run(call, f"-i in.wav {line}")
    assert (await run(call, "-i in.wav out.flac"))["mime_type"] == "audio/flac"
