"""The pull loop on a real server: what is delivered, how often, and that nothing is lost."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from tests.nats_fixtures import ROOT, Connect, until
from toolbus_contracts import subjects
from toolbus_contracts.errors import Conflict, StreamMoved, Unavailable, Unreadable
from toolbus_contracts.subjects import DURABLES, Durable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.pull import Handler, PullLoop
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.bus.streams import declare, declare_durable, verify

SUBMIT = subjects.command("acme", "submit")
COMMANDS = DURABLES["commands"]
StartLoop = Callable[..., PullLoop]


class Handled:
    """A handler that keeps what it was given and raises what it is told to."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.times: list[float] = []
        self.errors: dict[bytes, list[BaseException]] = {}

    async def __call__(self, delivery: Delivery) -> None:
        """Keep the delivery, then raise the next error for its body; the last one stays."""
        self.deliveries.append(delivery)
        self.times.append(asyncio.get_running_loop().time())
        errors = self.errors.get(delivery.data)
        if errors:
            raise errors.pop(0) if len(errors) > 1 else errors[0]

    @property
    def bodies(self) -> list[bytes]:
        """What was handed in, in order."""
        return [delivery.data for delivery in self.deliveries]

    def done(self, *bodies: bytes) -> Callable[[], bool]:
        """A condition: every one of these came."""
        return lambda: set(bodies) <= set(self.bodies)


@pytest.fixture
def handled() -> Handled:
    """A handler that succeeds."""
    return Handled()


@pytest.fixture
async def start_loop(dispatcher_bus: Bus) -> AsyncIterator[StartLoop]:
    """Start loops of the dispatcher; stopped at the end of the test."""
    loops: list[PullLoop] = []

    def started(handler: Handler, *, durable: Durable = COMMANDS, concurrency: int = 16, limit: int = 20) -> PullLoop:
        loop = PullLoop(dispatcher_bus, durable, handler, concurrency=concurrency, max_deliveries=limit)
        loop.start()
        loops.append(loop)
        return loop

    yield started
    for loop in loops:
        await loop.stop(grace_s=0.1)


async def settled(bus: Bus) -> bool:
    """Whether every command was acknowledged or terminated."""
    state = await bus.stream_state("COMMANDS")
    return state is not None and state.messages == 0


async def test_a_message_is_handed_out_with_everything_that_identifies_it(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """A delivery names subject, body, headers, stream, its creation, sequence, time and number of deliveries."""
    start_loop(handled)
    await client_bus.publish(SUBMIT, b"{}", {"traceparent": "00-1-2-01"})
    await until(handled.done(b"{}"))
    (delivery,) = handled.deliveries
    state = await dispatcher_bus.stream_state("COMMANDS")
    assert state is not None
    assert (delivery.subject, dict(delivery.headers)) == (SUBMIT, {"traceparent": "00-1-2-01"})
    assert (delivery.stream, delivery.stream_created) == ("COMMANDS", state.created)
    assert (delivery.sequence, delivery.num_delivered) == (1, 1)
    assert state.created < delivery.stored_at
    await until(lambda: settled(dispatcher_bus))


@pytest.mark.parametrize(
    ("error", "least_delay_s"),
    [(StreamMoved("acme/call/1"), 0.05), (Unavailable("away", 0.3), 0.3), (ValueError("a fault"), 0.5)],
)
async def test_a_failed_message_comes_again_after_a_delay_that_grows(
    *, client_bus: Bus, start_loop: StartLoop, handled: Handled, error: Exception, least_delay_s: float
) -> None:
    """Nothing is delivered again at once, each time it takes longer, and success ends it."""
    handled.errors[b"x"] = [error, error]
    start_loop(handled)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: len(handled.times) >= 2)
    handled.errors.clear()
    await until(lambda: len(handled.times) == 3)
    first, second = (b - a for a, b in zip(handled.times, handled.times[1:], strict=False))
    assert first >= least_delay_s
    assert second >= max(first, 2 * least_delay_s) * 0.9 or isinstance(error, Unavailable)
    assert [delivery.num_delivered for delivery in handled.deliveries] == [1, 2, 3]
    assert len({(one.stream_created, one.sequence, one.stored_at) for one in handled.deliveries}) == 1


async def test_a_refused_message_is_done(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """A refusal was recorded by the handler: the message does not come again and is not buried."""
    handled.errors[b"x"] = [Conflict("call_ended", "it ended")]
    start_loop(handled)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: settled(dispatcher_bus))
    assert len(handled.deliveries) == 1
    assert await dispatcher_bus.last_message("DEAD", ">") is None


async def test_an_unreadable_message_is_buried_and_its_neighbours_are_unharmed(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """What cannot be read lies in DEAD with its bytes and origin; what came with it is handled once."""
    handled.errors[b"\xff"] = [Unreadable("not_utf8", "not UTF-8")]
    for body in (b"1", b"\xff", b"2"):
        await client_bus.publish(SUBMIT, body, {"Nats-Msg-Id": body.hex(), "traceparent": "00-1-2-01"})
    start_loop(handled)
    await until(lambda: settled(dispatcher_bus))
    assert Counter(handled.bodies) == {b"1": 1, b"2": 1, b"\xff": 1}
    found = await dispatcher_bus.last_message("DEAD", "toolbus.dead.acme.not_utf8")
    assert found is not None
    assert found.data == b"\xff"
    stored_at = handled.deliveries[handled.bodies.index(b"\xff")].stored_at
    assert found.headers == {
        "traceparent": "00-1-2-01",
        "Toolbus-Subject": SUBMIT,
        "Toolbus-Stream": "COMMANDS",
        "Toolbus-Sequence": "2",
        "Toolbus-Stored-At": stored_at,
        "Toolbus-Deliveries": "1",
        "Toolbus-Error": "Unreadable: not UTF-8",
    }


async def test_a_message_that_fails_again_and_again_is_buried(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """A fault of ours is tried a bounded number of times, then lies in DEAD."""
    handled.errors[b"x"] = [ValueError("a fault")]
    start_loop(handled, limit=2)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: settled(dispatcher_bus))
    found = await dispatcher_bus.last_message("DEAD", "toolbus.dead.acme.too_many_deliveries")
    assert found is not None
    assert (found.data, found.headers["Toolbus-Deliveries"]) == (b"x", "2")


async def test_a_dependency_that_is_away_buries_nothing(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """However often a message meets an absent dependency, it stays a message."""
    handled.errors[b"x"] = [Unavailable("away", 0.01)]
    start_loop(handled, limit=1)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: len(handled.deliveries) >= 3)
    handled.errors.clear()
    await until(lambda: settled(dispatcher_bus))
    assert await dispatcher_bus.last_message("DEAD", ">") is None


async def test_a_burial_that_fails_loses_nothing(
    *, client_bus: Bus, dispatcher_bus: Bus, declared: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """While DEAD takes nothing, an unreadable message keeps coming; then it is buried."""
    answer = await declared.api("STREAM.INFO.DEAD")
    await declared.api("STREAM.UPDATE.DEAD", {**answer["config"], "max_msg_size": 10})
    handled.errors[b"x"] = [Unreadable("invalid_json", "not JSON")]
    start_loop(handled)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: len(handled.deliveries) >= 2)
    assert not await settled(dispatcher_bus)
    await declare(declared)
    await until(lambda: settled(dispatcher_bus))
    assert await dispatcher_bus.last_message("DEAD", "toolbus.dead.acme.invalid_json") is not None


async def test_what_was_read_out_of_a_stream_is_no_message(
    *, client_bus: Bus, dispatcher_bus: Bus, executor_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """Whoever reads a stored message and names one of our subjects as its inbox forges nothing."""
    await executor_bus.put_payload("sha256:00", b"forged")
    read = f"$JS.API.DIRECT.GET.PAYLOADS.{subjects.payload_chunk('sha256:00', 0)}"
    await executor_bus.client.publish(read, b"", SUBMIT)
    start_loop(handled)
    await client_bus.publish(SUBMIT, b"true")
    await until(handled.done(b"true"))
    await until(lambda: settled(dispatcher_bus))
    assert handled.bodies == [b"true"]
    found = await dispatcher_bus.last_message("DEAD", "toolbus.dead.acme.invalid_value")
    assert found is not None
    assert found.data == b"forged"


async def test_no_more_is_fetched_than_there_are_slots(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop
) -> None:
    """At most `concurrency` messages are in the process; the rest stay with the server for others."""
    gate = asyncio.Event()
    most = 0

    async def handler(delivery: Delivery) -> None:
        nonlocal most
        most = max(most, loop.in_flight)
        await gate.wait()

    loop = start_loop(handler, concurrency=4)
    for number in range(20):
        await client_bus.publish(SUBMIT, b"%d" % number)
    await until(lambda: loop.in_flight == 4)

    async def waits_with_the_server() -> bool:
        found = await dispatcher_bus.consumer_state("COMMANDS", "dispatcher")
        return found is not None and (found.num_pending, found.num_ack_pending) == (16, 4)

    await until(waits_with_the_server)
    gate.set()
    await until(lambda: loop.in_flight == 0)
    assert most == 4


async def test_a_long_handler_keeps_its_message(
    declared: Bus, client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop
) -> None:
    """A handler that runs for several times `ack_wait` is not delivered its message again."""
    short = replace(COMMANDS, ack_wait_s=0.5)
    await declare_durable(declared, short)
    seen: list[int] = []
    gate = asyncio.Event()

    async def handler(delivery: Delivery) -> None:
        seen.append(delivery.num_delivered)
        await gate.wait()

    start_loop(handler, durable=short)
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: bool(seen))
    with pytest.raises(TimeoutError):
        await until(lambda: len(seen) > 1, within_s=2.0)
    gate.set()
    await until(lambda: settled(dispatcher_bus))
    assert seen == [1]


async def test_one_message_is_never_handled_twice_at_a_time(
    declared: Bus, client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop
) -> None:
    """A message delivered again while its handler runs (the server was not told in time) joins that handler."""
    running = most = starts = 0
    gate = asyncio.Event()

    async def handler(delivery: Delivery) -> None:
        nonlocal running, most, starts
        running, starts = running + 1, starts + 1
        most = max(most, running)
        await gate.wait()
        running -= 1

    loop = start_loop(handler)
    await until(lambda: loop.is_healthy)
    await declare_durable(declared, replace(COMMANDS, ack_wait_s=0.2))  # the loop does not know of it
    await client_bus.publish(SUBMIT, b"x")
    await until(lambda: starts == 1)

    async def delivered_again() -> bool:
        state = await dispatcher_bus.api("CONSUMER.INFO.COMMANDS.dispatcher")
        return int(state["num_redelivered"]) > 0

    await until(delivered_again)
    gate.set()
    await until(lambda: settled(dispatcher_bus))
    assert (starts, most) == (1, 1)


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


async def test_two_replicas_share_the_messages(client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop) -> None:
    """Two loops on one durable handle every message once between them, and both get some."""
    first, second = Handled(), Handled()
    start_loop(first, concurrency=4)
    start_loop(second, concurrency=4)
    for number in range(100):
        await client_bus.publish(SUBMIT, b"%d" % number)
    await until(lambda: settled(dispatcher_bus))
    assert Counter(first.bodies + second.bodies) == {b"%d" % number: 1 for number in range(100)}
    assert first.bodies
    assert second.bodies


async def test_many_messages_wait_for_a_batch_at_the_same_time(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop
) -> None:
    """Handlers that await one future are all in flight together, and all are acknowledged when it is done."""
    batch: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def handler(delivery: Delivery) -> None:
        await batch

    loop = start_loop(handler, concurrency=300)
    for number in range(300):
        await client_bus.publish_soon(SUBMIT, b"%d" % number)
    await until(lambda: loop.in_flight == 300)
    batch.set_result(None)
    await until(lambda: settled(dispatcher_bus))
