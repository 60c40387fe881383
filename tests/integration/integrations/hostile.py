"""A provider that goes around its host: it writes to the service itself, and looks at what it was given."""

import asyncio
import ctypes
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, Field, field_validator

from toolbus import READ, WRITE, Call, Info, Provider, ToolFailed

CHANNEL, NOTICES, STDERR = (*map(int, sys.argv[2:4]), 2) if sys.argv[3:4] else (0, 0, 2)
PR_GET_DUMPABLE = 3


class Bytes(BaseModel):
    """What to write, in hexadecimal digits, and where."""

    written: str = ""
    to: str = "channel"


class Told(BaseModel):
    """What came of it."""

    text: str = ""
    names: list[str] = []


class Touchy(BaseModel):
    """Its check breaks, or says what no text can hold."""

    word: str = ""

    @field_validator("word")
    @classmethod
    def _breaks(cls, value: str) -> str:
        if value == "break":
            raise KeyError(value)
        raise ValueError("half of it \x00")


def descriptor(name: str) -> int:
    """What the host reads and writes."""
    return {"channel": CHANNEL, "notices": NOTICES, "stderr": STDERR}[name]


hostile = Provider("hostile", info=Info(friendly_name="Hostile"))


@hostile.method(contract=READ)
async def well(arguments: Bytes, setup: None, call: Call) -> Told:
    """Do as one should."""
    return Told(text="well")


@hostile.method(contract=READ)
async def hang(arguments: Bytes, setup: None, call: Call) -> Told:
    """Never end."""
    await asyncio.Event().wait()
    return Told()


@hostile.method(contract=WRITE)
async def write(arguments: Bytes, setup: None, call: Call) -> Told:
    """Write it once, and do as one should."""
    os.write(descriptor(arguments.to), bytes.fromhex(arguments.written))
    return Told(text="written")


@hostile.method(contract=WRITE)
async def flood(arguments: Bytes, setup: None, call: Call) -> Told:
    """Write it without end, and do as one should meanwhile."""
    threading.Thread(target=_flood, args=(arguments,), daemon=True).start()
    return Told(text="flooding")


def _flood(arguments: Bytes) -> None:
    body = bytes.fromhex(arguments.written)
    while True:
        try:
            os.write(descriptor(arguments.to), body)
        except BlockingIOError:
            continue


@hostile.method(contract=READ)
async def touch(arguments: Touchy, setup: None, call: Call) -> Told:
    """Take what its check lets pass, which is nothing."""
    return Told()


@hostile.method(contract=READ)
async def mumble(arguments: Bytes, setup: None, call: Call) -> Told:
    """Fail with words that nobody can store, and wait for a time that is none."""
    raise ToolFailed("half \ud800 of it \x00", retry_after_s=float("nan") if not arguments.written else "soon")  # type: ignore[arg-type]


@hostile.method(contract=READ)
async def look(arguments: Bytes, setup: None, call: Call) -> Told:
    """Tell what the process may become, who may look into it, and what it holds open."""
    return await asyncio.to_thread(_look)


def _look() -> Told:
    status = Path("/proc/self/status").read_text()
    rights = next(line for line in status.splitlines() if line.startswith("NoNewPrivs"))
    dumpable = ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)
    opened = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that the look itself took
            opened.append(str(link.readlink()))
    return Told(text=f"{rights.split()[1]} {dumpable}", names=opened)


class Exact(BaseModel):
    """A number that no reader of JSON keeps."""

    number: int = Field(0, ge=-(2**63), le=2**63)


exact = Provider("exact", info=Info(friendly_name="Exact"))


@exact.method(contract=READ)
async def count(arguments: Exact, setup: None, call: Call) -> Told:
    """Count."""
    return Told()
