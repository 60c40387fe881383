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
YOUNG = 4_000  # objects
HARDLY_EVER = 100_000  # looks at the young


def run_until_signalled(run: Run, *, holds_much: bool = False) -> None:
    """
    Run with an event that is set on the first SIGTERM or SIGINT; the second one ends at once.

    `holds_much`: it keeps very much for long, states of calls above all, and looks for garbage when it is calm
    (`tidying`).
    """
    hide_unless_traceable()  # it holds keys, and runs what others wrote in processes of the same user
    uvloop.run(_main(run, holds_much=holds_much))


def spare_collections(*, holds_much: bool) -> None:
    """
    Look for garbage as seldom as that does no harm.

    Nearly everything goes without the collector: of 1,400,000 objects of a flood it found 800. A look holds up every
    message meanwhile, a millisecond per 4,000 objects that live. So the young are looked through 4,000 at a time. What
    lives on is looked through again after 80,000 more, and everything after 400,000, where little lives. Where very
    much does, each look more at it took 2 % of the CPU of a call, and a look at everything half a second: there it
    comes hardly ever.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *((HARDLY_EVER, 1) if holds_much else (20, 5)))


async def _main(run: Run, *, holds_much: bool) -> None:
    spare_collections(holds_much=holds_much)
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
