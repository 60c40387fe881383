"""A dispatcher as a whole: half of it never goes on alone, and being ready costs nothing when it is known."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.ports import free_port
from toolbus_dispatcher.app import Dispatcher
from toolbus_dispatcher.readiness import probes
from toolbus_dispatcher.settings import DispatcherSettings
from toolbus_runtime.http.server import listen


class Broken:
    """A part that ends by itself."""

    async def run(self) -> None:
        """End, by a fault of ours."""
        raise ValueError("a fault of ours")


async def test_a_part_that_ends_by_itself_ends_the_dispatcher(sqlite_url: str) -> None:
    """Whoever runs it sees why, and starts it again; it does not answer HTTP with dead parts behind it."""
    dispatcher = Dispatcher(DispatcherSettings(database_url=sqlite_url, nats_url=f"nats://127.0.0.1:{free_port()}"))
    dispatcher.watch = cast("Any", Broken())
    stop = asyncio.Event()
    async with asyncio.timeout(20):
        with pytest.raises(ValueError, match="a fault of ours"):
            await dispatcher.run(stop, listen("127.0.0.1", 0))
    assert stop.is_set()


async def test_a_schema_that_was_seen_is_not_looked_for_again(sqlite_url: str) -> None:
    """Anybody may ask whether we are ready: that must cost neither a connection nor a lock each time."""
    parts = SimpleNamespace(settings=SimpleNamespace(database_url=sqlite_url), bus=None, store=None)
    check = probes(cast("Any", parts))["migrations"]
    assert (await check()).ok
    await asyncio.to_thread(Path(sqlite_url.partition("///")[2]).unlink)
    assert (await check()).ok
