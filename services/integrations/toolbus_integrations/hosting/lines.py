"""What a process writes for people, handed on line by line, and not faster than anybody could want to read it."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from toolbus_runtime.secrets.known import KNOWN

LINES_AT_ONCE: Final = 100
PAUSE_S: Final = 0.1  # behind so many lines: whoever writes faster waits, and fills neither our log nor our time
LAST_LINES: Final = 1000  # of a process that has ended; what lies behind them is counted
PIECE_BYTES: Final = 64 * 1024
CUT: Final = "\u2026"  # behind a line that is not told to its end


class Search(Protocol):
    """Takes secrets out of what a program said."""

    def __call__(self, said: bytes, /, *, is_broken: bool) -> str:
        """The text without them; of what broke off, without the end, where a part of one may stand."""


async def pass_lines(
    lines: asyncio.StreamReader,
    on_line: Callable[[str], None],
    over: asyncio.Event,
    *,
    search: Search = KNOWN.in_said,
) -> None:
    """
    Every line was handed on without secrets, of one that is too long its beginning; the process writes no more.

    `over` is set once it ends: nothing is waited for then, since its end is not told before all of its lines are read.
    How many were not handed on stands in the last line.
    """
    left, left_out = LAST_LINES, 0
    is_rest = False  # of a line whose beginning was handed on: half a secret, searched alone, would not be found
    for count in itertools.count(1):
        piece = await _next(lines) if left else await lines.read(PIECE_BYTES)
        if not piece:
            break
        is_broken = not piece.endswith(b"\n")
        if left and not is_rest:
            said = search(piece, is_broken=is_broken)
            on_line(said + CUT if is_broken else said.rstrip())
        if not left:
            left_out += piece.count(b"\n")
        is_rest = is_broken
        if over.is_set():
            left = max(0, left - 1)
        elif count % LINES_AT_ONCE == 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), PAUSE_S)
    if left_out:
        on_line(f"{CUT} {left_out} more lines")


async def _next(lines: asyncio.StreamReader) -> bytes:
    """The next line, or a part of one that is too long; nothing at the end."""
    try:
        return await lines.readuntil(b"\n")
    except asyncio.LimitOverrunError as error:
        return await lines.readexactly(error.consumed)
    except asyncio.IncompleteReadError as error:
        return error.partial
