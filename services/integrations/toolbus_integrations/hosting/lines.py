"""What a process writes for people, handed on line by line, and not faster than anybody could want to read it."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Final

LINES_AT_ONCE: Final = 100
PAUSE_S: Final = 0.1  # behind so many lines: whoever writes faster waits, and fills neither our log nor our time


async def pass_lines(lines: asyncio.StreamReader, on_line: Callable[[str], None]) -> None:
    """Every line was handed on, one that is too long in parts; the process writes no more."""
    for count in itertools.count(1):
        try:
            line = await lines.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            line = await lines.readexactly(error.consumed)
        except asyncio.IncompleteReadError as error:
            line = error.partial
        if not line:
            return
        on_line(line.decode("utf-8", "replace").rstrip())
        if count % LINES_AT_ONCE == 0:
            await asyncio.sleep(PAUSE_S)
