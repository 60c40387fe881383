"""An executor as a process: it begins when the bus is there, takes work, and ends with its work done."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

import structlog

from toolbus_contracts.errors import Unavailable
from toolbus_runtime.bus.pull import PullLoop

log = structlog.get_logger(__name__)
RETRY_S = 0.5


async def take_work(
    loops: Sequence[PullLoop], begin: Sequence[Callable[[], Awaitable[None]]], stop: asyncio.Event, *, grace_s: float
) -> None:
    """
    Work is taken from `begin` on until `stop` is set; what is in flight has had its grace time on return.

    Waits as long as the bus is away.
    """
    for step in begin:
        await insist(step, stop)
    if stop.is_set():
        return
    for loop in loops:
        loop.start()
    await stop.wait()
    await asyncio.gather(*(loop.stop(grace_s) for loop in loops))


async def insist(step: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    """The step is done, however long the bus is away; it was given up when `stop` is set."""
    stopping = asyncio.ensure_future(stop.wait())
    while not stop.is_set():
        doing = asyncio.ensure_future(step())
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        doing.cancel()
        try:
            await doing
        except Unavailable as error:
            log.warning("bus.waiting", reason=error.message)
            await asyncio.sleep(RETRY_S)
        except asyncio.CancelledError:
            if not stop.is_set():
                raise
        else:
            break
    stopping.cancel()


def release() -> str:
    """The version of the installed distribution, `0` when it runs from source."""
    try:
        return version("toolbus")
    except PackageNotFoundError:
        return "0"


def user_agent() -> str:
    """How executors name themselves to those whom they ask."""
    return f"toolbus/{release()}"


def executor_name(service: str) -> str:
    """Who this process is, in the record of a start."""
    return f"{service}@{socket.gethostname()}:{os.getpid()}"
