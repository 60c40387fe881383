"""Dead letters on a real server: whom they belong to, and that no message is too odd to be buried."""

import pytest

from tests.nats_fixtures import Connect, until
from tests.pull_fixtures import SUBMIT, Handled, StartLoop, settled
from toolbus_contracts import subjects
from toolbus_contracts.errors import BusRefused, Unreadable
from toolbus_contracts.subjects import DURABLES
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.lookups import StoredMessage

OUTCOMES = DURABLES["outcomes"]


async def buried(bus: Bus, subject: str) -> StoredMessage:
    """The newest letter on the subject, as soon as there is one."""
    found: list[StoredMessage] = []

    async def is_there() -> bool:
        letter = await bus.last_message("DEAD", subject)
        found.extend([letter] if letter else [])
        return letter is not None

    await until(is_there)
    return found[-1]


@pytest.mark.parametrize(
    ("body", "owner"),
    [
        (b'{"tenant": "other", "call_id": "call_1"}', "other"),
        (b'{"tenant": "a.b > c"}', "a_b___c"),
        (b'{"tenant": 1}', "_"),
        (b'["other"]', "_"),
        (b"\xff", "_"),
    ],
)
async def test_an_outcome_is_buried_with_the_tenant_that_it_names(
    *, executor_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled, body: bytes, owner: str
) -> None:
    """Its subject names none; one that names nobody is nobody's, under a name that no tenant can have."""
    handled.errors[body] = [Unreadable("invalid_request", "no outcome")]
    start_loop(handled, durable=OUTCOMES)
    await executor_bus.publish(subjects.OUTCOME, body)
    letter = await buried(dispatcher_bus, "toolbus.dead.>")
    assert (letter.subject, letter.data) == (subjects.dead(owner, "invalid_request"), body)


@pytest.mark.parametrize("size", [40_000, 65_450])
async def test_a_message_with_many_headers_is_buried(
    *, client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled, size: int
) -> None:
    """The server takes 64 KiB of them: what goes along with the letter leaves room for what is told of it."""
    handled.errors[b"x"] = [Unreadable("invalid_json", "not JSON")]
    await client_bus.publish(SUBMIT, b"x", {"X-Long": "x" * size})
    start_loop(handled)
    letter = await buried(dispatcher_bus, subjects.dead("acme", "invalid_json"))
    await until(lambda: settled(dispatcher_bus))
    told = epitaph.read(letter.headers)
    assert told is not None
    assert told.headers == ({"X-Long": "x" * size} if size < epitaph.MAX_HEADER_BYTES else None)


async def test_a_letter_tells_the_delivery_again(
    client_bus: Bus, dispatcher_bus: Bus, start_loop: StartLoop, handled: Handled
) -> None:
    """What the handler was given is what the letter gives: two blanks in a key, and an order to the server."""
    headers = {"Toolbus-Idempotency-Key": "order  7", "Nats-Msg-Id": "m 1", "traceparent": "00-1-2-01"}
    handled.errors[b"x"] = [ValueError("a fault")]
    await client_bus.publish(SUBMIT, b"x", headers)
    start_loop(handled, limit=1)
    letter = await buried(dispatcher_bus, subjects.dead("acme", "too_many_deliveries"))
    told = epitaph.read(letter.headers)
    assert told is not None
    again, (died,) = epitaph.delivery_of(told, letter.data), handled.deliveries
    for name in ("subject", "data", "headers", "stream", "stream_created", "sequence", "stored_at", "num_delivered"):
        assert getattr(again, name) == getattr(died, name)
    assert died.headers == headers


async def test_the_dispatcher_removes_letters_and_nothing_else(dispatcher_bus: Bus) -> None:
    """It reads and removes what lies in DEAD; twice is once; no other stream loses a message through it."""
    subject = subjects.dead("acme", "invalid_json")
    ack = await dispatcher_bus.publish(subject, b"{")
    found = await dispatcher_bus.message_at("DEAD", ack.sequence)
    assert found is not None
    assert (found.subject, found.data) == (subject, b"{")
    assert await dispatcher_bus.count_by_subject("DEAD", subjects.dead("acme", "*")) == {subject: 1}
    for _ in range(2):
        await dispatcher_bus.delete_message("DEAD", ack.sequence)
        assert await dispatcher_bus.message_at("DEAD", ack.sequence) is None
    assert await dispatcher_bus.count_by_subject("DEAD", subjects.dead("acme", "*")) == {}
    forbidden = [f"STREAM.MSG.DELETE.{name}" for name in ("COMMANDS", "EVENTS", "INTERNAL", "WORK", "TIMERS")]
    for verb in (*forbidden, "STREAM.PURGE.DEAD", "STREAM.UPDATE.DEAD", "STREAM.DELETE.DEAD", "CONSUMER.CREATE.DEAD"):
        with pytest.raises(BusRefused, match="permissions violation"):
            await dispatcher_bus.api(verb, {"seq": 1})


@pytest.mark.parametrize("verb", ["STREAM.MSG.GET.DEAD", "STREAM.MSG.DELETE.DEAD", "STREAM.INFO.DEAD"])
async def test_nobody_else_looks_into_letters(client_bus: Bus, executor_bus: Bus, verb: str) -> None:
    """Clients read theirs over HTTP; executors lay letters down and never see one again."""
    for bus in (client_bus, executor_bus):
        with pytest.raises(BusRefused, match="permissions violation"):
            await bus.api(verb, {"seq": 1})


async def test_a_message_that_cannot_be_removed_is_an_error(dispatcher_bus: Bus) -> None:
    """It is still there, and whoever wanted it away hears so."""
    ack = await dispatcher_bus.publish(subjects.work("api_call", "acme"), b"{}")
    with pytest.raises(BusRefused, match="permissions violation"):
        await dispatcher_bus.delete_message("WORK", ack.sequence)
    assert await dispatcher_bus.message_at("WORK", ack.sequence) is not None


async def test_a_stream_that_is_not_there_holds_nothing(connect: Connect) -> None:
    """Looking into a stream that was lost is no error: it is declared again by whoever leads."""
    bus = await connect("dispatcher")
    assert await bus.count_by_subject("DEAD", "toolbus.dead.nobody.*") == {}
    assert await bus.message_at("DEAD", 1) is None
    await bus.delete_message("DEAD", 1)
