"""The pull loop when the server was rolled back: a place in the stream that is given out twice holds two messages."""

import asyncio
import shutil

from tests.nats_fixtures import until
from tests.pull_fixtures import COMMANDS, SUBMIT
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.bus.server import EmbeddedNats


async def test_a_new_message_at_an_old_place_is_handled(
    nats_server: EmbeddedNats, client_bus: Bus, dispatcher_bus: Bus
) -> None:
    """While the handler of the old message still runs, another message gets its sequence: both are handled."""
    streams = nats_server.folder / "jetstream"
    await nats_server.stop()
    shutil.copytree(streams, nats_server.folder / "copy")
    await nats_server.start()
    await until(lambda: client_bus.is_connected and dispatcher_bus.is_connected)

    handled: list[bytes] = []
    may_end = asyncio.Event()

    async def handle(delivery: Delivery) -> None:
        handled.append(delivery.data)
        if delivery.data == b"old":
            await may_end.wait()

    async def is_taken() -> bool:
        try:
            return (await client_bus.publish(SUBMIT, b"new")).sequence == 1
        except Unavailable:
            return False

    loop = PullLoop(dispatcher_bus, COMMANDS, handle, concurrency=4)
    loop.start()
    await client_bus.publish(SUBMIT, b"old")
    await until(lambda: handled == [b"old"])
    await nats_server.kill()
    shutil.rmtree(streams)
    shutil.copytree(nats_server.folder / "copy", streams)
    await nats_server.start()
    await until(is_taken)
    try:
        await until(lambda: b"new" in handled)
    finally:
        may_end.set()
        await loop.stop()
