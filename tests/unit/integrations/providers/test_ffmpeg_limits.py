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


async def test_a_program_that_wants_more_memory_is_told_no(call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of gigabytes is not made, and what the program says of it is told; nobody else's memory is taken."""
    monkeypatch.setattr(ffmpeg, "MEMORY_BYTES", 1024**3)
    graph = "-filter_complex color=c=red:size=16000x16000,format=rgb48 -frames:v 1"
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
