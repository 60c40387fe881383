"""A fault of ours, or of a library, in the pull loop itself: it is told, and the loop goes on."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from nats.aio.client import Client

from tests.nats_fixtures import until
from tests.pull_fixtures import COMMANDS, SUBMIT, Handled, settled
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.lookups import StreamState
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.bus.streams import declare_durable


class FaultyBus(Bus):
    """A connection in which things break that nobody thought of: so many looks at a stream, or the client itself."""

    broken_looks = 0
    is_broken = False
    times_broken = 0

    async def stream_state(self, name: str) -> StreamState | None:
        """How a stream stands, when it is not broken."""
        if self.broken_looks > 0:
            self.broken_looks -= 1
            raise KeyError("created")
        return await super().stream_state(name)

    @property
    def client(self) -> Client:
        """The client, when it is not broken."""
        if self.is_broken:
            self.times_broken += 1
            raise TypeError("a fault of a library")
        return super().client


@pytest.fixture
async def faulty_bus(nats_server: EmbeddedNats, declared: Bus) -> AsyncIterator[FaultyBus]:
    """The dispatcher's connection, whole as yet."""
    assert declared.is_connected
    bus = FaultyBus(nats_server.url, user="dispatcher", password=nats_server.passwords["dispatcher"])
    await bus.connect()
    yield bus
    bus.is_broken = False
    await bus.close()


async def test_a_fault_while_it_opens(client_bus: Bus, faulty_bus: FaultyBus, handled: Handled) -> None:
    """The loop is not healthy meanwhile, tries again, and reads."""
    faulty_bus.broken_looks = 2
    loop = PullLoop(faulty_bus, COMMANDS, handled, concurrency=4)
    loop.start()
    await until(lambda: faulty_bus.broken_looks == 0)
    await client_bus.publish(SUBMIT, b"x")
    await until(handled.done(b"x"))
    assert loop.is_healthy
    await loop.stop(grace_s=0.1)


async def test_a_fault_while_it_reads(client_bus: Bus, faulty_bus: FaultyBus, handled: Handled) -> None:
    """What it was reading is lost, and that shows; it opens again and goes on."""
    gate = asyncio.Event()

    async def handler(delivery: Delivery) -> None:
        await handled(delivery)
        await gate.wait()

    loop = PullLoop(faulty_bus, COMMANDS, handler, concurrency=1)
    loop.start()
    await client_bus.publish(SUBMIT, b"1")
    await until(handled.done(b"1"))
    faulty_bus.is_broken = True  # what it asks for next, when the handler is done, cannot be asked for
    gate.set()
    await until(lambda: faulty_bus.times_broken > 0 and not loop.is_healthy)
    faulty_bus.is_broken = False
    await client_bus.publish(SUBMIT, b"2")
    await until(handled.done(b"2"))
    await until(lambda: loop.is_healthy)
    await loop.stop(grace_s=0.1)


async def test_a_fault_while_it_keeps_its_messages(
    client_bus: Bus, declared: Bus, faulty_bus: FaultyBus, handled: Handled
) -> None:
    """A handler that runs long still has its message to itself afterwards."""
    short = replace(COMMANDS, ack_wait_s=1.0)
    await declare_durable(declared, short)
    gate = asyncio.Event()

    async def handler(delivery: Delivery) -> None:
        await handled(delivery)
        await gate.wait()

    loop = PullLoop(faulty_bus, short, handler, concurrency=4)
    loop.start()
    await client_bus.publish(SUBMIT, b"x")
    await until(handled.done(b"x"))
    faulty_bus.is_broken = True
    await until(lambda: faulty_bus.times_broken > 0)
    faulty_bus.is_broken = False

    async def was_delivered_again() -> bool:
        state = await declared.api("CONSUMER.INFO.COMMANDS.dispatcher")
        return int(state["num_redelivered"]) > 0

    with pytest.raises(TimeoutError):
        await until(was_delivered_again, within_s=2.5)
    gate.set()
    await until(lambda: settled(declared))
    await loop.stop(grace_s=0.1)


async def test_a_fault_while_it_answers(
    client_bus: Bus, declared: Bus, faulty_bus: FaultyBus, handled: Handled
) -> None:
    """What a handler raised cannot be answered: the message comes again by itself, and its slot is free."""
    short = replace(COMMANDS, ack_wait_s=1.0)
    await declare_durable(declared, short)
    handled.errors[b"x"] = [ValueError("a fault")]

    async def handler(delivery: Delivery) -> None:
        faulty_bus.is_broken = bool(handled.errors)
        await handled(delivery)

    loop = PullLoop(faulty_bus, short, handler, concurrency=1)
    loop.start()
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: faulty_bus.times_broken > 0 and loop.in_flight == 0)
    handled.errors.clear()
    faulty_bus.is_broken = False
    await until(lambda: len(handled.deliveries) > 1)
    await loop.stop(grace_s=0.1)
