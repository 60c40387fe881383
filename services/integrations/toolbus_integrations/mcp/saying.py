"""What a server as a process writes for people: lines of our log, at the pace of those of a provider's process."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, NamedTuple

import anyio
import structlog

from toolbus_contracts.executing.redaction import Redactor
from toolbus_integrations.hosting.lines import CUT, pass_lines
from toolbus_runtime.secrets.known import in_said

log = structlog.get_logger(__name__)
MAX_LINE_BYTES: Final = 64 * 1024  # of a longer line the beginning is read
MAX_SAID_CHARS: Final = 1_000
LAST_S: Final = 2.0  # a program that the server left behind may hold the pipe for ever


class Ear(NamedTuple):
    """`pipe` is where the server writes; whoever has started it closes it here. `over` is set once it is to end."""

    pipe: int
    over: asyncio.Event


@asynccontextmanager
async def listening(name: str, redactor: Redactor) -> AsyncIterator[Ear]:
    """
    Inside, what the server writes goes to our log; its last words are there afterwards, and nothing is read any more.

    Raises:
        OSError: there is no pipe to be had.
    """
    ours, theirs = os.pipe()
    ear = Ear(theirs, asyncio.Event())
    lines = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(ours, "rb", 0))

    def on_line(said: str) -> None:
        text = said if len(said) <= MAX_SAID_CHARS else said[:MAX_SAID_CHARS] + CUT
        log.info("mcp.server_said", server=name, text=text)

    reading = loop.create_task(pass_lines(lines, on_line, ear.over, search=partial(in_said, lambda: redactor)))
    try:
        yield ear
    finally:
        ear.over.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({reading}, timeout=LAST_S)
        reading.cancel()
        pipe.close()
