"""A service as a process: an event loop that stops on SIGTERM and SIGINT."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from toolbus_runtime.confining import hide_unless_traceable

Run = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


SUPERVISED = "TOOLBUS_SUPERVISED"  # set for a child whose standard input is a pipe that its parent holds open
ORPHANED = 70


def run_until_signalled(run: Run) -> None:
    """Run with an event that is set on the first SIGTERM or SIGINT; the second one ends at once."""
    hide_unless_traceable()  # it holds keys, and runs what others wrote in processes of the same user
    uvloop.run(_main(run))


def _spare_collections() -> None:
    """
    Look for garbage in small portions.

    What lives long (cached states, calls that wait, definitions) is none, and nearly all else goes without the
    collector. A look holds up every message meanwhile: a millisecond per 1,000 objects that live, or two when others
    want the processor. So the young are looked through 2,000 at a time, the older ones when they are 10,000, and
    everything hardly ever.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000, 5, 50_000)


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
