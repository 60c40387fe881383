"""The pull loop when a durable, a stream, the server or the process goes away: nothing is lost."""

import asyncio
import shutil

import pytest

from tests.nats_fixtures import ROOT, Connect, until
from tests.pull_fixtures import COMMANDS, SUBMIT, Handled, StartLoop, settled
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.bus.streams import verify


async def test_a_deleted_consumer_is_made_again_with_health_red_meanwhile(
    *, declared: Bus, client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled, connect: Connect
) -> None:
    """The loop notices the loss by itself, is unhealthy, declares its durable again, and misses nothing."""
    loop = start_loop(handled)
    await until(lambda: loop.is_healthy)
    await client_bus.publish(SUBMIT, b"before")
    await until(handled.done(b"before"))
    await (await connect(ROOT)).api("CONSUMER.DELETE.COMMANDS.dispatcher")
    await until(lambda: not loop.is_healthy)
    await client_bus.publish(SUBMIT, b"after")
    await until(handled.done(b"after"))
    assert loop.is_healthy
    assert await verify(declared) == []


async def test_a_deleted_stream_is_made_again_with_health_red_meanwhile(
    *, declared: Bus, client_bus: Bus, start_loop: StartLoop, handled: Handled, connect: Connect
) -> None:
    """A re-created stream gives out the same sequence; its creation time tells the messages apart."""
    loop = start_loop(handled)
    await client_bus.publish(SUBMIT, b"before")
    await until(handled.done(b"before"))
    await (await connect(ROOT)).api("STREAM.DELETE.COMMANDS")
    await until(lambda: not loop.is_healthy)
    await until(lambda: loop.is_healthy)
    await client_bus.publish(SUBMIT, b"after")
    await until(handled.done(b"after"))
    before, after = handled.deliveries
    assert (before.sequence, after.sequence) == (1, 1)
    assert before.stream_created < after.stream_created
    assert await verify(declared) == []


async def test_a_killed_server_loses_nothing(
    *, client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled, nats_server: EmbeddedNats
) -> None:
    """After kill -9 and a restart every message that was acknowledged to the client is handled."""
    loop = start_loop(handled)
    await until(lambda: loop.is_healthy)
    await client_bus.publish(SUBMIT, b"0")
    await until(handled.done(b"0"))
    await nats_server.kill()
    await until(lambda: not loop.is_healthy)
    with pytest.raises(Unavailable):
        await client_bus.publish(SUBMIT, b"while away")
    await nats_server.start()
    await until(lambda: loop.is_healthy and client_bus.is_connected)
    await client_bus.publish(SUBMIT, b"1")
    await until(handled.done(b"0", b"1"))
    await until(lambda: settled(dispatcher_bus))


async def test_a_server_that_lost_its_folder_is_declared_again(
    *, declared: Bus, client_bus: Bus, start_loop: StartLoop, handled: Handled, nats_server: EmbeddedNats
) -> None:
    """With the JetStream folder gone, the loop makes its stream and durable again and goes on."""
    loop = start_loop(handled)
    await until(lambda: loop.is_healthy)
    await nats_server.kill()
    await until(lambda: not loop.is_healthy)
    shutil.rmtree(nats_server.folder / "jetstream")
    await nats_server.start()
    await until(lambda: loop.is_healthy and client_bus.is_connected)
    await client_bus.publish(SUBMIT, b"after")
    await until(handled.done(b"after"))


async def test_a_killed_server_in_the_middle_of_work_doubles_no_running_handler(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, nats_server: EmbeddedNats
) -> None:
    """A handler that ran while the server was away ends its message with the new server."""
    gate = asyncio.Event()
    starts: list[int] = []

    async def handler(delivery: Delivery) -> None:
        starts.append(delivery.sequence)
        await gate.wait()

    loop = start_loop(handler)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: bool(starts))
    await nats_server.kill()
    await nats_server.start()
    await until(lambda: loop.is_healthy)
    gate.set()
    await until(lambda: settled(dispatcher_bus))
    assert starts == [1]


async def test_stopping_lets_handlers_end_and_takes_nothing_new(
    client_bus: Bus, dispatcher_bus: Bus, declared: Bus
) -> None:
    """After `stop` the running handlers have ended and are acknowledged; the rest waits for others."""
    gate = asyncio.Event()
    ended: list[bytes] = []

    async def handler(delivery: Delivery) -> None:
        await gate.wait()
        ended.append(delivery.data)

    loop = PullLoop(dispatcher_bus, COMMANDS, handler, concurrency=2)
    loop.start()
    for number in range(5):
        await client_bus.publish(SUBMIT, b"%d" % number)
    await until(lambda: loop.in_flight == 2)
    stopping = asyncio.create_task(loop.stop(grace_s=10))
    gate.set()
    await stopping
    assert sorted(ended) == [b"0", b"1"]
    state = await declared.stream_state("COMMANDS")
    assert state is not None
    assert state.messages == 3


async def test_a_handler_that_outlives_the_grace_time_gives_its_message_back(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """A handler that does not end is cancelled, and its message comes to another process soon."""
    started = asyncio.Event()

    async def handler(delivery: Delivery) -> None:
        started.set()
        await asyncio.Event().wait()

    loop = PullLoop(dispatcher_bus, COMMANDS, handler, concurrency=2)
    loop.start()
    await client_bus.publish(SUBMIT, b"x")
    await started.wait()
    await loop.stop(grace_s=0.05)
    start_loop(handled)
    await until(handled.done(b"x"), within_s=5)
    assert handled.deliveries[0].num_delivered == 2
    await until(lambda: settled(dispatcher_bus))
