"""The connection on a real server: acks, losses, payloads, and what nats-py must not do to us."""

import asyncio
import hashlib

import pytest

from tests.nats_fixtures import ROOT, Connect, until
from toolbus_contracts import subjects
from toolbus_contracts.errors import BusRefused, ToolbusError, Unavailable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming
from toolbus_runtime.bus.server import EmbeddedNats

EVENT = subjects.event("acme", "call", "call_1", "call.requested.v1")
SUBMIT = subjects.command("acme", "submit")


def digest_of(body: bytes) -> str:
    """The digest that names a payload."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


async def test_messages_published_soon_keep_their_order(dispatcher_bus: Bus) -> None:
    """Acks come back with gapless sequences in the order of publication."""
    futures = [await dispatcher_bus.publish_soon(EVENT, b"%d" % number) for number in range(500)]
    assert [(await future).sequence for future in futures] == list(range(1, 501))


async def test_publishing_waits_while_the_window_is_full(declared: Bus, nats_server: EmbeddedNats) -> None:
    """More messages than the window holds all arrive; no more than the window are open at a time."""
    password = nats_server.passwords["dispatcher"]
    bus = Bus(nats_server.url, user="dispatcher", password=password, window=8)
    await bus.connect()
    futures = []
    for number in range(100):
        futures.append(await bus.publish_soon(EVENT, b"%d" % number))
        assert sum(not future.done() for future in futures) <= 8
    assert (await futures[-1]).sequence == 100
    await bus.close()


async def test_a_message_sent_twice_is_told_to_be_a_duplicate(dispatcher_bus: Bus) -> None:
    """Within the window of the stream, the same message id is stored once, and the ack says so."""
    first = await dispatcher_bus.publish(EVENT, b"1", {"Nats-Msg-Id": "event.1.1"})
    again = await dispatcher_bus.publish(EVENT, b"1", {"Nats-Msg-Id": "event.1.1"})
    assert (first.is_duplicate, again.is_duplicate, again.sequence) == (False, True, first.sequence)


async def test_a_lost_connection_fails_what_is_open_and_refuses_what_is_new(
    dispatcher_bus: Bus, nats_server: EmbeddedNats
) -> None:
    """Nothing that was not acknowledged is believed to be stored, and nothing is sent at a later time unasked."""
    reconnected = asyncio.Event()

    async def note() -> None:
        reconnected.set()
        raise ValueError("a fault of somebody's callback")

    dispatcher_bus.on_reconnect(note)
    open_request = asyncio.create_task(dispatcher_bus.request(subjects.WAKE, b"", timeout_s=30))
    heard = asyncio.Event()
    await dispatcher_bus.subscribe(subjects.WAKE, lambda _: heard.set())
    await until(lambda: heard.is_set() or open_request.done())
    await nats_server.kill()
    await until(lambda: not dispatcher_bus.is_connected)
    with pytest.raises(Unavailable):
        await open_request
    with pytest.raises(Unavailable):
        await dispatcher_bus.publish(EVENT, b"while away")
    await dispatcher_bus.notify(subjects.WAKE)
    await nats_server.start()
    await reconnected.wait()
    assert (await dispatcher_bus.publish(EVENT, b"back")).sequence == 1
    reconnected.clear()
    await nats_server.kill()
    await nats_server.start()
    await reconnected.wait()
    assert (await dispatcher_bus.publish(EVENT, b"back again")).sequence == 2


async def test_nobody_there_is_unavailable_at_once(client_bus: Bus) -> None:
    """An ask that nobody serves is answered without waiting for the time-out."""
    with pytest.raises(Unavailable):
        async with asyncio.timeout(5):
            await client_bus.request(subjects.ask("acme", "get"), b"", timeout_s=60)


async def test_no_answer_in_time_is_unavailable(client_bus: Bus, dispatcher_bus: Bus) -> None:
    """A served ask that is not answered fails after its own time-out."""
    await dispatcher_bus.subscribe("toolbus.ask.>", lambda _: None)
    with pytest.raises(Unavailable, match=r"within 0\.05 s"):
        await client_bus.request(subjects.ask("acme", "get"), b"", timeout_s=0.05)


async def test_a_full_work_queue_takes_nothing_and_loses_nothing(client_bus: Bus, declared: Bus) -> None:
    """What was accepted stays; the next message is told to come later."""
    answer = await declared.api("STREAM.INFO.COMMANDS")
    await declared.api("STREAM.UPDATE.COMMANDS", {**answer["config"], "max_bytes": 2000})
    outcomes = await asyncio.gather(
        *[client_bus.publish(SUBMIT, b"x" * 100) for _ in range(100)], return_exceptions=True
    )
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert {str(failure) for failure in failures} == {"maximum bytes exceeded"}
    assert all(isinstance(failure, Unavailable) for failure in failures)
    state = await declared.stream_state("COMMANDS")
    assert state is not None
    assert state.messages == 100 - len(failures) > 5


async def test_a_missing_stream_is_unavailable_and_none(dispatcher_bus: Bus, connect: Connect) -> None:
    """Publishing to a stream that is gone can be tried again; looking at it finds nothing."""
    await (await connect(ROOT)).api("STREAM.DELETE.EVENTS")
    with pytest.raises(Unavailable):
        await dispatcher_bus.publish(EVENT, b"{}")
    assert await dispatcher_bus.stream_state("EVENTS") is None
    assert await dispatcher_bus.last_message("EVENTS", ">") is None


async def test_stored_messages_are_found_by_subject_and_sequence(dispatcher_bus: Bus) -> None:
    """Headers and bytes come back as they were sent, the time as the server stored it."""
    await dispatcher_bus.publish(EVENT, b"\x00\xff", {"Toolbus-Kind": "call.requested.v1"})
    other = subjects.event("other", "call", "call_1", "call.requested.v1")
    await dispatcher_bus.publish(other, b"2")
    found = await dispatcher_bus.last_message("EVENTS", "toolbus.evt.acme.>")
    assert found is not None
    assert (found.data, found.sequence, dict(found.headers)) == (b"\x00\xff", 1, {"Toolbus-Kind": "call.requested.v1"})
    following = await dispatcher_bus.next_message("EVENTS", ">", 2)
    assert following is not None
    assert (following.subject, following.sequence) == (other, 2)
    assert await dispatcher_bus.next_message("EVENTS", ">", 3) is None


@pytest.mark.parametrize("size", [0, 1, 512 * 1024, 512 * 1024 + 1, 50 * 1024 * 1024])
async def test_a_payload_comes_back_whole(executor_bus: Bus, dispatcher_bus: Bus, size: int) -> None:
    """Bodies of every size up to 50 MiB are read by their digest, also after being written twice."""
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    await executor_bus.put_payload(digest_of(body), body)
    if size < 1024 * 1024:
        await executor_bus.put_payload(digest_of(body), body)
    assert await dispatcher_bus.get_payload(digest_of(body)) == body


async def test_a_payload_that_is_not_whole_is_none(executor_bus: Bus, connect: Connect) -> None:
    """Missing, partly lost and wrong bodies are never handed out."""
    body = b"x" * (600 * 1024)
    assert await executor_bus.get_payload(digest_of(body)) is None
    await executor_bus.put_payload(digest_of(body), body)
    lost = subjects.payload_chunk(digest_of(body), 1)
    await (await connect(ROOT)).api("STREAM.PURGE.PAYLOADS", {"filter": lost})
    assert await executor_bus.get_payload(digest_of(body)) is None
    await executor_bus.put_payload(digest_of(b"right"), b"wrong")
    assert await executor_bus.get_payload(digest_of(b"right")) is None


async def test_a_payload_over_the_limit_is_refused(executor_bus: Bus) -> None:
    """51 MiB are refused before anything is sent."""
    with pytest.raises(BusRefused):
        await executor_bus.put_payload("sha256:00", bytes(51 * 1024 * 1024))


async def test_a_listener_that_raises_harms_nobody(dispatcher_bus: Bus) -> None:
    """Neither an exception in the listener nor one in its task stops the next message."""
    heard: list[bytes] = []

    def raising(incoming: Incoming) -> None:
        heard.append(incoming.data)
        raise ValueError("a fault")

    async def raising_later(incoming: Incoming) -> None:
        raising(incoming)

    await dispatcher_bus.subscribe(subjects.WAKE, raising)
    await dispatcher_bus.subscribe(subjects.WAKE, raising_later)
    await dispatcher_bus.notify(subjects.WAKE, b"1")
    await dispatcher_bus.notify(subjects.WAKE, b"2")
    await until(lambda: sorted(heard) == [b"1", b"1", b"2", b"2"])


async def test_a_closed_listener_has_ended_its_tasks(dispatcher_bus: Bus) -> None:
    """After `close` nothing is heard, and what had started has ended."""
    gate, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: Incoming) -> None:
        gate.set()
        await asyncio.wait_for(asyncio.Event().wait(), 0.05)

    async def listener(incoming: Incoming) -> None:
        try:
            await slow(incoming)
        except TimeoutError:
            ended.set()

    listening = await dispatcher_bus.subscribe(subjects.WAKE, listener)
    await dispatcher_bus.notify(subjects.WAKE)
    await gate.wait()
    await listening.close()
    assert ended.is_set()


async def test_a_cancelled_flush_leaves_the_connection_alive(dispatcher_bus: Bus) -> None:
    """nats-py's read loop ends when the future of its own flush is cancelled: ours is not."""
    for _ in range(20):
        task = asyncio.create_task(dispatcher_bus.flush())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert (await dispatcher_bus.publish(EVENT, b"{}")).sequence == 1


async def test_an_unreachable_server_is_unavailable_in_time() -> None:
    """Connecting where nobody listens ends with the time-out that was given, and leaves nothing open."""
    bus = Bus("nats://127.0.0.1:1", user="dispatcher", password="x")
    with pytest.raises(Unavailable, match="no connection"):
        await bus.connect(timeout_s=0.3)
    with pytest.raises(ToolbusError):
        await bus.publish(EVENT, b"{}")
