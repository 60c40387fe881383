"""A service as a process: an event loop that stops on SIGTERM and SIGINT."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

Run = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


SUPERVISED = "TOOLBUS_SUPERVISED"  # set for a child whose standard input is a pipe that its parent holds open
ORPHANED = 70


def run_until_signalled(run: Run) -> None:
    """Run with an event that is set on the first SIGTERM or SIGINT; the second one ends at once."""
    uvloop.run(_main(run))


def _spare_collections() -> None:
    """
    Look for garbage rarely.

    What lives long (cached states, definitions) is none, and a full look at it holds up every message meanwhile.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def _main(run: Run) -> None:
    _spare_collections()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    if os.environ.get(SUPERVISED):
        loop.add_reader(0, _leave_with_parent)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    await run(stop)


def _leave_with_parent() -> None:
    """End at once when the parent was killed: whoever starts everything again finds the port and the files free."""
    if not os.read(0, 1024):
        os._exit(ORPHANED)
