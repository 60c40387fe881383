"""What each NATS user may do, tried on a real server with exactly the users of `subjects.py`."""

import asyncio
import json

import pytest
from nats.js.api import StreamConfig
from nats.js.errors import Error as JetStreamError

from tests.nats_fixtures import Connect, until
from toolbus_contracts import subjects
from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.bus.streams import declare, verify

VIOLATION = "permissions violation"
NOT_FOR_CLIENTS = {
    "work": subjects.work("api_call", "acme"),
    "an outcome": subjects.OUTCOME,
    "an internal message": "toolbus.int.dispatcher.reaction",
    "a start": subjects.START,
    "an event of its tenant": subjects.event("acme", "call", "call_1", "call.succeeded.v1"),
    "an event of another tenant": subjects.event("other", "call", "call_1", "call.succeeded.v1"),
    "a dead letter": subjects.dead("acme", "invalid_json"),
    "a wake-up": subjects.WAKE,
    "another tenant's command": subjects.command("other", "submit"),
    "another tenant's ask": subjects.ask("other", "get"),
    "a command of an unknown noun": "toolbus.cmd.acme.tool.register",
    "an unknown command": subjects.command("acme", "approve"),
    "a payload": subjects.payload_chunk("sha256:00", 0),
    "a key of a key-value store": "$KV.config.key",
    "an object's name": "$O.PAYLOADS.M.name",
    "an ack of the dispatcher": "$JS.ACK.COMMANDS.dispatcher.1.1.1.1.0",
    "creating a stream": "$JS.API.STREAM.CREATE.MINE",
    "deleting a stream": "$JS.API.STREAM.DELETE.COMMANDS",
    "purging a stream": "$JS.API.STREAM.PURGE.EVENTS",
    "listing streams": "$JS.API.STREAM.NAMES",
    "looking at a stream": "$JS.API.STREAM.INFO.EVENTS",
    "reading a stored message": "$JS.API.STREAM.MSG.GET.EVENTS",
    "reading a payload": "$JS.API.DIRECT.GET.PAYLOADS.toolbus.payload.00.0",
    "creating a consumer": "$JS.API.CONSUMER.CREATE.EVENTS.mine.toolbus.evt.>",
    "creating an unnamed consumer": "$JS.API.CONSUMER.CREATE.EVENTS",
    "reading a consumer": "$JS.API.CONSUMER.MSG.NEXT.COMMANDS.dispatcher",
    "deleting a consumer": "$JS.API.CONSUMER.DELETE.COMMANDS.dispatcher",
    "looking at the account": "$JS.API.INFO",
    "a system request": "$SYS.REQ.SERVER.PING",
}
DEAF_TO_CLIENTS = {
    "everybody's inboxes": "_INBOX.>",
    "the dispatcher's inboxes": "_INBOX_dispatcher.>",
    "another client's inboxes": "_INBOX_client_other.>",
    "mapped inboxes": "_R_.>",
    "everything": ">",
    "another tenant's events": "toolbus.evt.other.>",
    "all events": "toolbus.evt.>",
    "its own commands": subjects.command("acme", "submit"),
    "asks": "toolbus.ask.acme.>",
    "work": "toolbus.work.>",
    "starts": "toolbus.intask.*",
    "wake-ups": subjects.WAKE,
    "a key-value store": "$KV.>",
    "an object store": "$O.>",
    "JetStream's advisories": "$JS.EVENT.>",
    "the system": "$SYS.>",
}
NOT_FOR_EXECUTORS = {
    "an event": subjects.event("acme", "call", "call_1", "call.succeeded.v1"),
    "work": subjects.work("api_call", "acme"),
    "a command": subjects.command("acme", "submit"),
    "an ask": subjects.ask("acme", "submit"),
    "a wake-up": subjects.WAKE,
    "another internal message": "toolbus.int.dispatcher.reaction",
    "reading commands": "$JS.API.CONSUMER.MSG.NEXT.COMMANDS.dispatcher",
    "reading outcomes": "$JS.API.CONSUMER.MSG.NEXT.INTERNAL.dispatcher",
    "an ack of the dispatcher": "$JS.ACK.COMMANDS.dispatcher.1.1.1.1.0",
    "creating its consumer on other subjects": "$JS.API.CONSUMER.CREATE.WORK.api_caller.toolbus.work.>",
    "creating its consumer without a filter": "$JS.API.CONSUMER.CREATE.WORK.api_caller",
    "creating another consumer": "$JS.API.CONSUMER.CREATE.WORK.mine.toolbus.work.api_call.*.*",
    "creating a consumer on payloads": "$JS.API.CONSUMER.CREATE.PAYLOADS.mine.toolbus.payload.>",
    "creating a stream": "$JS.API.STREAM.CREATE.WORK",
    "changing a stream": "$JS.API.STREAM.UPDATE.WORK",
    "purging a stream": "$JS.API.STREAM.PURGE.WORK",
    "reading events": "$JS.API.STREAM.MSG.GET.EVENTS",
}
DEAF_TO_EXECUTORS = (
    ">",
    "_INBOX_dispatcher.>",
    "toolbus.ask.>",
    "toolbus.evt.>",
    "toolbus.evt.*.call.*.*",
    "toolbus.evt.*.call.*.requested",
    "toolbus.evt.*.call.*.succeeded",
    "toolbus.intask.*",
)


@pytest.mark.parametrize("subject", NOT_FOR_CLIENTS.values(), ids=NOT_FOR_CLIENTS)
async def test_the_server_refuses_what_a_client_may_not_publish(client_bus: Bus, subject: str) -> None:
    """A client's publication outside its commands and asks is refused by the server itself."""
    with pytest.raises(BusRefused, match=VIOLATION):
        await client_bus.publish(subject, b"{}")


@pytest.mark.parametrize("subject", DEAF_TO_CLIENTS.values(), ids=DEAF_TO_CLIENTS)
async def test_the_server_refuses_what_a_client_may_not_hear(client_bus: Bus, subject: str) -> None:
    """A client hears its tenant's events and its own inboxes, and nobody else's."""
    with pytest.raises(BusRefused, match=VIOLATION):
        await client_bus.subscribe(subject, lambda _: None)


@pytest.mark.parametrize("subject", NOT_FOR_EXECUTORS.values(), ids=NOT_FOR_EXECUTORS)
async def test_the_server_refuses_what_an_executor_may_not_publish(executor_bus: Bus, subject: str) -> None:
    """An executor tells outcomes and asks for starts; it forges neither events nor work nor commands."""
    with pytest.raises(BusRefused, match=VIOLATION):
        await executor_bus.publish(subject, b"{}")


@pytest.mark.parametrize("subject", DEAF_TO_EXECUTORS)
async def test_the_server_refuses_what_an_executor_may_not_hear(executor_bus: Bus, subject: str) -> None:
    """An executor hears its own inboxes, and which calls are to be stopped."""
    with pytest.raises(BusRefused, match=VIOLATION):
        await executor_bus.subscribe(subject, lambda _: None)


async def test_an_executor_hears_which_calls_are_to_be_stopped(executor_bus: Bus, dispatcher_bus: Bus) -> None:
    """Ends that nobody asked an executor for, and wishes to stop, of every tenant."""
    heard: list[str] = []
    for subject in subjects.STOPPED:
        await executor_bus.subscribe(subject, lambda message: heard.append(message.subject))
    kinds = ("call.cancelled.v1", "call.expired.v1", "call.cancel_requested.v1")
    told = [subjects.event(tenant, "call", "call_1", kind) for tenant in ("acme", "other") for kind in kinds]
    for subject in told:
        await dispatcher_bus.publish(subject, b"{}")
    await until(lambda: heard == told)


async def test_a_client_has_no_key_value_or_object_store(client_bus: Bus) -> None:
    """nats-py's own KV and object store interfaces get nowhere with a client's credentials."""
    stores = client_bus.client.jetstream(timeout=0.3)
    with pytest.raises((JetStreamError, TimeoutError)):
        await stores.key_value("config")
    with pytest.raises((JetStreamError, TimeoutError)):
        await stores.object_store("PAYLOADS")
    with pytest.raises((JetStreamError, TimeoutError)):
        await stores.add_stream(StreamConfig(name="MINE", subjects=["toolbus.cmd.acme.call.submit"]))


@pytest.mark.parametrize(
    "headers",
    [
        {"Nats-Schedule": "@at 2040-01-01T00:00:00Z", "Nats-Schedule-Target": "toolbus.cmd.other.call.submit"},
        {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": "toolbus.cmd.acme.call.submit"},
    ],
)
async def test_a_command_with_a_schedule_is_refused(client_bus: Bus, declared: Bus, headers: dict[str, str]) -> None:
    """A schedule header on a command would deliver to any subject of the stream: the stream takes none."""
    with pytest.raises(BusRefused, match="schedules is disabled"):
        await client_bus.publish(subjects.command("acme", "submit"), b"{}", headers)
    state = await declared.stream_state("COMMANDS")
    assert state is not None
    assert state.last_sequence == 0


@pytest.mark.parametrize(
    "reply",
    ["toolbus.evt.other.call.call_1.succeeded", "$JS.API.STREAM.PURGE.EVENTS", subjects.OUTCOME],
)
async def test_a_reply_subject_carries_nothing_into_a_stream(dispatcher_bus: Bus, client_bus: Bus, reply: str) -> None:
    """What the server or a service answers to a client's message stays in the client's own account."""
    heard: list[Incoming] = []

    async def answer(incoming: Incoming) -> None:
        heard.append(incoming)
        await dispatcher_bus.respond(incoming, b'{"seq": 1}')

    await dispatcher_bus.subscribe("toolbus.ask.>", answer)
    kept = await dispatcher_bus.publish(subjects.event("other", "call", "call_0", "call.requested.v1"), b"kept")
    await client_bus.client.publish(subjects.command("acme", "submit"), b"{}", reply)
    await client_bus.client.publish(subjects.ask("acme", "get"), b"{}", reply)
    await client_bus.flush()
    await until(lambda: bool(heard))
    await dispatcher_bus.flush()
    assert heard[0].reply.startswith("_R_.")
    for name, messages in (("EVENTS", 1), ("INTERNAL", 0)):
        state = await dispatcher_bus.stream_state(name)
        assert state is not None
        assert state.messages == messages
    assert kept.sequence == 1


async def test_a_service_answers_inboxes_only(dispatcher_bus: Bus) -> None:
    """`respond` does not publish for somebody who named a subject that is no inbox."""
    with pytest.raises(BusRefused, match="no inbox"):
        await dispatcher_bus.respond(Incoming("toolbus.intask.start", b"", {}, subjects.OUTCOME), b"{}")


async def test_a_client_can_do_its_job(client_bus: Bus, dispatcher_bus: Bus) -> None:
    """A client submits, cancels, asks and is answered, and hears the events of its tenant."""
    events: list[Incoming] = []
    await client_bus.subscribe("toolbus.evt.acme.>", events.append)

    async def answer(incoming: Incoming) -> None:
        await dispatcher_bus.respond(incoming, incoming.data.upper())

    await dispatcher_bus.subscribe("toolbus.ask.>", answer)
    for verb in subjects.CALL_COMMANDS:
        ack = await client_bus.publish(subjects.command("acme", verb), b"{}", {"traceparent": "00-1-2-01"})
        assert ack.stream == "COMMANDS"
    assert (await client_bus.request(subjects.ask("acme", "get"), b"call_1", timeout_s=5)).data == b"CALL_1"
    await dispatcher_bus.publish(subjects.event("other", "call", "call_1", "call.requested.v1"), b"theirs")
    await dispatcher_bus.publish(subjects.event("acme", "call", "call_1", "call.requested.v1"), b"ours")
    await until(lambda: bool(events))
    assert [incoming.data for incoming in events] == [b"ours"]


async def test_an_executor_can_do_its_job(executor_bus: Bus, dispatcher_bus: Bus) -> None:
    """An executor asks for a start, tells an outcome, buries, and moves payloads both ways."""

    async def go(incoming: Incoming) -> None:
        await dispatcher_bus.respond(incoming, b"go")

    await dispatcher_bus.subscribe("toolbus.intask.*", go)
    assert (await executor_bus.request(subjects.START, b"{}", timeout_s=5)).data == b"go"
    assert (await executor_bus.publish(subjects.OUTCOME, b"{}")).stream == "INTERNAL"
    assert (await executor_bus.publish(subjects.dead("acme", "invalid_json"), b"{")).stream == "DEAD"
    assert await executor_bus.consumer_state("WORK", "api_caller") is not None


async def test_the_dispatcher_can_do_its_job(dispatcher_bus: Bus) -> None:
    """The dispatcher relays, sets timers, wakes, and looks at every stream and consumer it needs."""
    heard: list[Incoming] = []
    await dispatcher_bus.subscribe(subjects.WAKE, heard.append)
    await dispatcher_bus.notify(subjects.WAKE)
    first = await (await dispatcher_bus.publish_soon(subjects.work("api_call", "acme"), b"1"))
    assert (first.stream, first.sequence) == ("WORK", 1)
    event = subjects.event("acme", "call", "call_1", "call.requested.v1")
    assert (await dispatcher_bus.publish(event, b"{}")).stream == "EVENTS"
    assert (await dispatcher_bus.publish("toolbus.int.dispatcher.reaction", b"{}")).stream == "INTERNAL"
    last = await dispatcher_bus.last_message("EVENTS", "toolbus.evt.>")
    assert last is not None
    assert (last.subject, last.data, last.sequence) == (event, b"{}", 1)
    assert (await dispatcher_bus.consumer_state("WORK", "api_caller")) is not None
    await until(lambda: bool(heard))


async def test_a_command_that_is_too_large_is_refused(client_bus: Bus) -> None:
    """A command over one mebibyte is refused by the stream, one over the server's limit by the client."""
    for size in (1024 * 1024 + 1, 3 * 1024 * 1024):
        with pytest.raises(BusRefused, match="maximum"):
            await client_bus.publish(subjects.command("acme", "submit"), b"x" * size)


async def test_a_wrong_password_is_an_error_at_once(nats_server: EmbeddedNats) -> None:
    """Connecting with a wrong password fails without trying for ever."""
    with pytest.raises(Unavailable, match=r"(?i)authorization"):
        await Bus(nats_server.url, user="dispatcher", password="wrong").connect(timeout_s=5)


async def test_declaring_twice_changes_nothing(declared: Bus) -> None:
    """After declaring, nothing differs, and declaring again does nothing."""
    assert await verify(declared) == []
    assert await declare(declared) == []


async def test_a_changed_stream_is_told_and_mended(declared: Bus) -> None:
    """`verify` names what differs in words, `declare` puts it right."""
    answer = await declared.api("STREAM.INFO.EVENTS")
    await declared.api("STREAM.UPDATE.EVENTS", {**answer["config"], "max_msg_size": 5})
    assert await verify(declared) == ["EVENTS.max_msg_size is 5, declared 1048576"]
    assert await declare(declared) == ["EVENTS"]
    assert await verify(declared) == []


async def test_nobody_purges_or_deletes_what_is_protected(declared: Bus, connect: Connect) -> None:
    """Even with every permission, commands and events cannot be purged through the bus."""
    answer = await declared.api("STREAM.INFO.COMMANDS")
    assert (answer["config"]["deny_purge"], answer["config"]["deny_delete"]) == (True, True)
    dispatcher = await connect("dispatcher")
    with pytest.raises(BusRefused, match=VIOLATION):
        await dispatcher.api("STREAM.PURGE.EVENTS")
    with pytest.raises(BusRefused, match=VIOLATION):
        await dispatcher.api("STREAM.UPDATE.EVENTS", answer["config"])


async def test_the_configuration_is_for_its_owner_alone(nats_server: EmbeddedNats) -> None:
    """`nats.conf` holds passwords: nobody else may read it, and it is what the server was started with."""
    path = nats_server.folder / "nats.conf"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.dumps(nats_server.passwords["dispatcher"]) in await asyncio.to_thread(path.read_text)
