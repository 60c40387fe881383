"""ffmpeg: real files become other files, and nothing else is read, written or left running."""

import asyncio
import base64
import io
import json
import math
import struct
import wave
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.ffmpeg import provider
from toolbus_integrations.providers.media_commands import GUARDED, read_command, split_line
from toolbus_integrations.providers.media_filters import check_graph

RATE = 8000


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call, with a folder of its own."""
    folder = tmp_path / "call"
    folder.mkdir()
    return OwnCall(folder)


def _tone(seconds: float) -> str:
    """A tone of 440 Hz as a WAV file, base64."""
    samples = (round(20000 * math.sin(2 * math.pi * 440 * n / RATE)) for n in range(round(RATE * seconds)))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return base64.b64encode(file.getvalue()).decode()


async def _run(call: OwnCall, **arguments: object) -> dict[str, Any]:
    return await perform(provider, "bash_cmd", arguments, call)


async def _picture(call: OwnCall, color: str) -> str:
    """A picture of one color, base64; its folder is emptied again."""
    graph = f"color=c={color}:size=32x16:rate=1:duration=1"
    made = await _run(call, args=["-filter_complex", graph, "-frames:v", "1", "made.png"], file=None)
    (call.folder / "made.png").unlink()
    return str(made["fileoutput"])


async def test_transcodes(call: OwnCall) -> None:
    """A command line as published: a sound becomes another, of half the length, and is what it says it is."""
    made = await _run(call, cmd="ffmpeg -y -i 'the sound.wav' -t 0.5 -c:a flac out.flac", file=_tone(1))
    content = base64.b64decode(made["fileoutput"])
    assert (made["result"], made["mime_type"], content[:4]) == (True, "audio/flac", b"fLaC")
    back = await _run(call, args=["-i", "-", "back.wav"], file=[made["fileoutput"]])
    with wave.open(io.BytesIO(base64.b64decode(back["fileoutput"]))) as sound:
        assert (sound.getframerate(), sound.getnframes()) == (RATE, RATE // 2)


async def test_video(call: OwnCall) -> None:
    """A picture and a sound become a film, scaled."""
    picture = await _picture(call, "red")
    made = await _run(
        call,
        args=[
            *(
                "-loop",
                "1",
                "-framerate",
                "5",
                "-i",
                "still.png",
                "-i",
                "tone.wav",
                "-vf",
                "scale=iw*2:ih*2,format=yuv420p",
            ),
            *("-c:v", "libx264", "-preset", "ultrafast", "-t", "1", "-shortest", "film.mp4"),
        ],
        file=[picture, _tone(1)],
    )
    assert made["mime_type"] == "video/mp4"
    assert base64.b64decode(made["fileoutput"])[4:8] == b"ftyp"


async def test_inputs_by_name(call: OwnCall) -> None:
    """The first name is the first file: which one lies on top says who is who; a name used twice is one file."""
    files = [await _picture(call, "red"), await _picture(call, "blue")]
    graph = "[0][1]overlay=x=W/2[both];[both][2]hstack"
    made = await _run(
        call,
        args=[
            *("-i", "a.png", "-i", "b.png", "-i", "a.png", "-filter_complex", graph),
            *("-f", "rawvideo", "-pix_fmt", "rgb24", "-frames:v", "1", "out.nut"),
        ],
        file=files,
    )
    row = base64.b64decode(made["fileoutput"])[: 64 * 3]
    reds = ["red" if row[at] > 128 else "blue" for at in (0, 20 * 3, 40 * 3)]
    assert reds == ["red", "blue", "red"]


@pytest.mark.parametrize(
    "line",
    [
        "-i /etc/passwd out.wav",
        "-i ../secret.wav out.wav",
        "-i folder/in.wav out.wav",
        "-i http://example.org/in.wav out.wav",
        "-i file:in.wav out.wav",
        "-i concat:a.wav|b.wav out.wav",
        "-i -in.wav out.wav",
        "-i in.wav /tmp/out.wav",
        "-i in.wav ../out.wav",
        "-i in.wav pipe:1",
        "-i in.wav -",
        "-i in.wav rtmp://example.org/live",
        "-i in.wav out.m3u8",
        "-i in.wav out.sh",
        "-i in.wav out%d.png",
        "-i in.wav in.wav",
        "-i in.wav first.wav second.wav",
        "-i in.wav",
        "",
        "out.wav; rm -rf .",
        "-f lavfi -i movie.wav out.wav",
        "-f concat -i in.wav out.wav",
        "-f hls -i in.wav out.wav",
        "-f tee -i in.wav out.wav",
        "-safe 0 -i in.wav out.wav",
        "-protocol_whitelist file,http -i in.wav out.wav",
        "-format_whitelist ALL -i in.wav out.wav",
        "-i in.wav -attach /etc/passwd out.mkv",
        "-dump_attachment out.txt -i in.wav out.wav",
        "-i in.wav -filter_complex_script graph.txt out.wav",
        "-i in.wav -/filter_complex graph.txt out.wav",
        "-i in.wav -passlogfile log -pass 1 out.mp4",
        "-i in.wav -x264-params stats=/tmp/x out.mp4",
        "-i in.wav -progress http://example.org out.wav",
        "-report -i in.wav out.wav",
        "-i in.wav -vstats_file stats out.wav",
        "-i in.wav -hls_segment_filename x out.wav",
        "-i in.wav -vf movie=/etc/passwd out.mp4",
        "-i in.wav -af amovie=in.wav out.mp4",
        "-i in.wav -vf subtitles=x.srt out.mp4",
        "-i in.wav -vf drawtext=textfile=/etc/passwd out.mp4",
        "-n -i in.wav out.wav",
        "-i in.wav -vf",
        "-i 'in.wav out.wav",
    ],
)
async def test_refused(call: OwnCall, line: str) -> None:
    """What names another file than the call's, or an option or format that is not listed, is not run."""
    with pytest.raises(ValidationError):
        await _run(call, cmd=line, file=_tone(0.1))
    assert list(call.folder.iterdir()) == []


@pytest.mark.parametrize(
    "graph",
    [
        "movie=/etc/passwd",
        "null,movie=x[a];[a]null",
        "[in]scale=2:2[out];movie=x",
        "m\\ovie=x",
        "'movie'=x",
        "movie@scale=x",
        " movie = x",
        "scale=w='iw,2',movie=x",
        "scale=w='iw\\',movie=x",
        "[a']null[b']movie=x",
        "sws_flags=bilinear;movie=x",
        "scale=/w=secret.txt",
        "scale=2:/h=secret.txt",
        "scale='/w=secret.txt'",
        "scale=w=2: /h=secret.txt",
        "scale=w=2\\:/h=secret.txt",
        "null[open",
        "null]x",
        "scale=2]x",
        "sendcmd=f=x",
        "ladspa=file=x",
        "zmq",
    ],
)
def test_graphs_refused(graph: str) -> None:
    """No quoting hides a filter that opens something, nor an option that is read from a file."""
    with pytest.raises(ValueError, match=r"filter"):
        check_graph(graph)


def test_every_input_is_guarded() -> None:
    """Each input, and not only the first, is bound to files and to formats that name no further files."""
    command = read_command(split_line("ffmpeg -ss 1 -i a.wav -i pipe:0 -map 1:a out.wav"))
    assert command.inputs == ("a.wav", "input")
    assert command.arguments == (
        *("-ss", "1", *GUARDED, "-i", "./a.wav", *GUARDED, "-i", "./input", "-map", "1:a", "./out.wav"),
    )
    assert not {"hls", "concat", "dash", "sdp", "imf", "lavfi", "vobsub"} & set(GUARDED[3].split(","))


@pytest.mark.parametrize(
    "content",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{secret}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile {secret}\n",
        "ffconcat version 1.0\nfile secret.wav\n",
    ],
    ids=["playlist", "list", "list of its own folder"],
)
async def test_content_that_names_files(call: OwnCall, tmp_path: Path, content: str) -> None:
    """A file that names further files is not followed, whatever it is called."""
    secret = tmp_path / "secret.wav"
    secret.write_bytes(base64.b64decode(_tone(0.1)))
    (call.folder / "secret.wav").write_bytes(secret.read_bytes())
    told = base64.b64encode(content.format(secret=secret).encode()).decode()
    with pytest.raises(ToolFailed, match="ffmpeg"):
        await _run(call, cmd="-i in.wav out.flac", file=told)


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": "-i a.wav b.wav", "args": ["-i", "a.wav", "b.wav"], "file": ""},
        {"file": ""},
        {"cmd": "-i a.wav b.wav"},
        {"cmd": "-i a.wav b.wav", "file": ["", ""]},
        {"cmd": "-i a.wav b.wav", "file": "not base64!"},
        {"args": ["-i", "a\0.wav", "b.wav"], "file": ""},
    ],
    ids=json.dumps,
)
async def test_contradictions(call: OwnCall, arguments: dict[str, object]) -> None:
    """One command line, and as many files as it reads."""
    with pytest.raises(ValidationError):
        await perform(provider, "bash_cmd", arguments, call)


async def test_failure_in_its_words(call: OwnCall) -> None:
    """A file that is none fails the call with what ffmpeg says."""
    with pytest.raises(ToolFailed, match="Invalid data found"):
        await _run(call, cmd="-i in.wav out.flac", file=base64.b64encode(b"no sound").decode())


async def test_too_large(call: OwnCall) -> None:
    """An output above the bound is not finished."""
    call.max_output_bytes = 100_000
    with pytest.raises(ToolFailed) as failed:
        await _run(call, cmd="-stream_loop -1 -i in.wav -t 600 out.wav", file=_tone(1))
    assert failed.value.code == "response_too_large"
    assert (call.folder / "out.wav").stat().st_size <= call.max_output_bytes


async def _long_run(call: OwnCall) -> tuple[asyncio.Task[dict[str, Any]], psutil.Process]:
    """A call that goes on for long, and the program that does it."""
    running = asyncio.create_task(
        _run(call, cmd="-stream_loop -1 -i in.wav -af atempo=0.5 -t 900000 out.mp3", file=_tone(1))
    )
    async with asyncio.timeout(20):
        while not (call.folder / "out.mp3").exists():
            assert not running.done()
            await asyncio.sleep(0.01)
    (child,) = (one for one in psutil.Process().children() if one.cwd() == str(call.folder))
    return running, child


async def test_killed(call: OwnCall) -> None:
    """A program that somebody else ends is told as such."""
    running, child = await _long_run(call)
    child.kill()
    with pytest.raises(ToolFailed, match="SIGKILL"):
        await running


async def test_time_is_over(call: OwnCall) -> None:
    """When the time of the call is over, nothing of it goes on."""
    here = psutil.Process()
    running, child = await _long_run(call)
    assert (child.nice(), child.environ()) == (here.nice() + 10, {"LC_ALL": "C"})
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not child.is_running()
