"""The pull loop on a real server: what is delivered, how often, and what becomes of what fails."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from tests.nats_fixtures import until
from tests.pull_fixtures import COMMANDS, SUBMIT, Handled, StartLoop, settled
from toolbus_contracts import subjects
from toolbus_contracts.errors import Conflict, StreamMoved, Unavailable, Unreadable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.streams import declare, declare_durable


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
    died = handled.deliveries[handled.bodies.index(b"\xff")]
    assert found.headers == {
        "Toolbus-Subject": SUBMIT,
        "Toolbus-Stream": "COMMANDS",
        "Toolbus-Stream-Created": died.stream_created,
        "Toolbus-Sequence": "2",
        "Toolbus-Stored-At": died.stored_at,
        "Toolbus-Deliveries": "1",
        "Toolbus-Error": "Unreadable: not UTF-8",
        "Toolbus-Headers": '{"Nats-Msg-Id":"ff","traceparent":"00-1-2-01"}',
    }


async def test_a_reason_of_many_lines_is_buried_as_one(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """A header holds one line: what a library says in three lines keeps no message from its burial."""
    handled.errors[b"x"] = [Unreadable("invalid_request", "1 error\n  call_id\r\n\tis missing")]
    await client_bus.publish(SUBMIT, b"x")
    start_loop(handled)
    await until(lambda: settled(dispatcher_bus))
    found = await dispatcher_bus.last_message("DEAD", "toolbus.dead.acme.invalid_request")
    assert found is not None
    assert found.headers["Toolbus-Error"] == "Unreadable: 1 error call_id is missing"


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
