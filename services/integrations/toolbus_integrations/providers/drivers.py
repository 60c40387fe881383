"""
The program that speaks with browsers: one for all calls that go on at the same time, and none when there are none.

It takes a hundred megabytes and a third of a second of a processor to begin.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from playwright.async_api import Playwright


@dataclass
class _Shared:
    """The driver of a loop, and how many use it; the lock is held by whoever starts it."""

    users: int = 0
    running: "Playwright | None" = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


@asynccontextmanager
async def driver() -> AsyncIterator["Playwright"]:
    """The driver runs; it ends with the last context that uses it."""
    # A large library: in a thread, so that other calls go on while it is read.
    library = await asyncio.to_thread(import_module, "playwright.async_api")
    shared = _by_loop.setdefault(asyncio.get_running_loop(), _Shared())
    shared.users += 1
    try:
        async with shared.lock:
            if shared.running is None:
                shared.running = await library.async_playwright().start()
            running = shared.running
        yield running
    finally:
        shared.users -= 1
        if shared.users == 0 and shared.running is not None:
            ending, shared.running = shared.running, None
            await ending.stop()
