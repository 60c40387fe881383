"""A provider that starts a program and ends without it; it is copied where it can be found."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel

from toolbus import READ, Call, Info, Provider

leaving = Provider("leaving", info=Info(friendly_name="Leaving"))
LONG = "import time; time.sleep(600)"


class Where(BaseModel):
    """The file that the number of the program is written to, and whether the provider goes on by itself."""

    file: str
    stays: bool = False


class Pondered(BaseModel):
    """A text that takes a second to be read."""

    text: Annotated[str, AfterValidator(lambda text: time.sleep(1.0 if text else 0.0) or text)]


class Nothing(BaseModel):
    """Nothing came of it."""


@leaving.method(contract=READ)
async def leave(arguments: Where, setup: None, call: Call) -> Nothing:
    """Start a program, and end this process at once, or wait."""
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", LONG)
    await asyncio.to_thread(Path(arguments.file).write_text, str(program.pid))
    if arguments.stays:
        await asyncio.Event().wait()
    os._exit(3)


@leaving.method(contract=READ)
async def ponder(arguments: Pondered, setup: None, call: Call) -> Nothing:
    """Do nothing, once the text is read."""
    return Nothing()
