"""
ffmpeg: converts, cuts and joins media files.

Never a shell: what is allowed of a command line stands in `media_commands.py`, and is handed over word by word. The
program runs in the call's own folder, with an empty environment, at low priority, within bounds of time, memory and
file size, as one process that ends with the call (`media_launcher.py`).
"""

import asyncio
import base64
import json
import mimetypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import BaseModel, Field, WithJsonSchema, model_validator

from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers import media_launcher
from toolbus_integrations.providers.media_commands import Command, read_command, split_line
from toolbus_integrations.providers.vendor import Base64, Closed

TIMEOUT_S: Final = 300.0
CPU_S: Final = 600
MEMORY_BYTES: Final = 3 * 1024**3  # addresses, of which the program itself takes some hundred megabytes
MAX_OPEN_FILES: Final = 64
MAX_TOLD_BYTES: Final = 2000
NICENESS: Final = 10
LAUNCHER: Final = Path(media_launcher.__file__)

provider = Provider(
    "ffmpeg",
    info=Info(friendly_name="FFmpeg", url="https://ffmpeg.org", docs="https://ffmpeg.org/ffmpeg.html"),
    extra="media",
    needs=("imageio_ffmpeg",),
)

Files = Annotated[
    tuple[Base64, ...],
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "contentEncoding": "base64"},
                {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}},
                {"type": "null"},
            ]
        }
    ),
]


class Run(Closed):
    """
    A command line, as one text (`cmd`) or word by word (`args`), and the files that it reads.

    Inputs stand behind `-i`, under any plain name; the first name is that of the first file, and so on. The last word
    names the output; its ending says what is made.
    """

    cmd: str | None = Field(default=None, description="For example: ffmpeg -i in.mov -vf scale=640:-2 out.mp4")
    args: list[str] | None = Field(default=None, description='For example: ["-i", "in.wav", "out.mp3"]')
    file: Files = Field(default=(), description="The input, or a list of inputs, base64.")

    @model_validator(mode="before")
    @classmethod
    def _one_file_is_a_list(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        match given.get("file"):
            case str() as file:
                return {**given, "file": [file]}
            case None:
                return {**given, "file": []}
        return given

    @model_validator(mode="after")
    def _says_what_to_do(self) -> Self:
        if (self.cmd is None) == (self.args is None):
            raise ValueError("give either cmd or args")
        wanted = len(self.command().inputs)
        if wanted != len(self.file):
            raise ValueError(f"the command line reads {wanted} inputs, and {len(self.file)} files are given")
        return self

    def command(self) -> Command:
        """
        What is run.

        Raises:
            ValueError: something is not offered; the message names it.
        """
        return read_command(split_line(self.cmd) if self.cmd is not None else self.args or [])


class Made(BaseModel):
    """The output, base64; a command line that fails fails the call, with what ffmpeg says."""

    fileoutput: str
    result: bool
    mime_type: str | None = None


@provider.method(contract=READ, timeout_s=TIMEOUT_S)
async def bash_cmd(arguments: Run, setup: None, call: Call) -> Made:  # noqa: ARG001 - every method has these
    """Run ffmpeg on the given files: convert, cut, scale, join. A command line of ffmpeg, without a shell."""
    command = arguments.command()
    for name, content in zip(command.inputs, arguments.file, strict=True):
        (call.folder / name).write_bytes(base64.b64decode(content))
    largest = call.max_output_bytes * 3 // 4 - 1024  # it travels in base64, with a few words around it
    await _run(command, call.folder, largest)
    made = call.folder / command.output
    if not made.is_file():
        raise ToolFailed("ffmpeg made no file")
    return Made(
        fileoutput=base64.b64encode(made.read_bytes()).decode(),
        result=True,
        mime_type=mimetypes.guess_type(command.output)[0],
    )


async def _run(command: Command, folder: Path, largest: int) -> None:
    """
    The program has ended well.

    Raises:
        ToolFailed: it has not: a bound was met, or ffmpeg says why.
    """
    bounds = {
        "RLIMIT_CPU": CPU_S,
        "RLIMIT_AS": MEMORY_BYTES,
        "RLIMIT_FSIZE": largest,
        "RLIMIT_NOFILE": MAX_OPEN_FILES,
        "RLIMIT_CORE": 0,
    }
    program = await asyncio.to_thread(_program)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(bounds), str(NICENESS)),
        *(program, "-nostdin", "-y", "-hide_banner", *command.arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={},
        start_new_session=True,
    )
    try:
        told = await _last_words(process)
        ended = await process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if ended == -signal.SIGXFSZ or (ended and "File too large" in told):
        raise ToolFailed(f"the output has more than {largest} bytes", code="response_too_large")
    if ended < 0:
        raise ToolFailed(f"ffmpeg was ended by {signal.Signals(-ended).name}: {told}")
    if ended:
        raise ToolFailed(f"ffmpeg: {told}")


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """The end of what it says: reasons come last, and it may say a lot."""
    told = b""
    while process.stderr is not None and (part := await process.stderr.read(65536)):
        told = (told + part)[-MAX_TOLD_BYTES:]
    return told.decode(errors="replace").strip()


def _program() -> str:
    from imageio_ffmpeg import get_ffmpeg_exe

    return str(get_ffmpeg_exe())
