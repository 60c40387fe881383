"""Redriving on a real bus and a real store: what was decided stays decided once, whatever had happened before."""

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest

from tests.integration.redrives import SUBMIT, Scene, failing, outcome, scene
from tests.pull_fixtures import StartLoop
from toolbus_contracts import subjects
from toolbus_contracts.calls import CancelCall
from toolbus_contracts.digests import call_id_for_key
from toolbus_contracts.errors import Conflict, NotFound, Unavailable, Unreadable
from toolbus_dispatcher.adapters.dead_letters import delivery_of
from toolbus_dispatcher.core.dead import destination, opened
from toolbus_dispatcher.handlers import message_call_id
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery, Place
from toolbus_runtime.bus.listening import Incoming

COMMAND = subjects.command("acme", "submit")
ONE_CALL = ["call.requested.v1", "call.dispatched.v1"]


@pytest.fixture
async def place(dispatcher_bus: Bus, sqlite_url: str, start_loop: StartLoop) -> AsyncIterator[Scene]:
    """Handlers, letters, an empty store."""
    async with scene(dispatcher_bus, sqlite_url, start_loop) as found:
        yield found


@pytest.mark.parametrize("is_decided", [True, False])
@pytest.mark.parametrize("headers", [{}, {"Nats-Msg-Id": "m1", "Toolbus-Idempotency-Key": "order  7"}])
async def test_a_command_is_one_call_however_it_came_to_be_buried(
    place: Scene, client_bus: Bus, *, is_decided: bool, headers: dict[str, str]
) -> None:
    """Decided and buried all the same, or never decided: with a key or without, it is the call that it always was."""
    handler = failing(place.handlers.on_command if is_decided else None)
    letter = await place.bury(handler, client_bus.publish(COMMAND, SUBMIT, headers))
    assert await place.kinds() == (ONE_CALL if is_decided else [])
    full = await place.letters.find("acme", letter.id)
    expected = call_id_for_key("acme", "order  7") if headers else message_call_id("acme", delivery_of(full))
    assert opened(full).call_id == expected
    redriven = await place.redrive(letter)
    assert (redriven.id, redriven.outcome, redriven.call_id) == (letter.id, "decided", expected)
    assert await place.kinds() == ONE_CALL
    assert await place.call_ids() == {expected}
    assert await place.lying() == []
    with pytest.raises(NotFound):
        await place.redrive(letter)


async def test_a_crash_before_the_letter_is_removed_is_harmless(place: Scene, client_bus: Bus) -> None:
    """The letter is left, and redriving it again finds its call decided."""
    letter = await place.bury(failing(), client_bus.publish(COMMAND, SUBMIT))
    place.letters.is_crashing = True
    with pytest.raises(Unavailable):
        await place.redrive(letter)
    assert await place.lying() == [letter.id]
    place.letters.is_crashing = False
    assert (await place.redrive(letter)).outcome == "decided"
    assert (await place.kinds(), await place.lying()) == (ONE_CALL, [])


async def test_two_operators_at_once_make_one_call(place: Scene, client_bus: Bus) -> None:
    """Both are answered, unless one finds the letter gone already."""
    letter = await place.bury(failing(), client_bus.publish(COMMAND, SUBMIT))
    found = await asyncio.gather(*(place.redrive(letter) for _ in range(8)), return_exceptions=True)
    assert not [one for one in found if isinstance(one, BaseException) and not isinstance(one, NotFound)]
    assert (await place.kinds(), await place.lying()) == (ONE_CALL, [])


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        (b"{", "invalid_json", None),
        (b'{"tool": "refund", "argumnets": {}}', "invalid_request", "/argumnets"),
        (b'{"tool": "refund", "arguments": {"a": "\\u0000"}}', "invalid_value", "/arguments/a"),
    ],
)
async def test_what_cannot_be_read_stays(
    *, place: Scene, client_bus: Bus, body: bytes, code: str, path: str | None
) -> None:
    """It is told why, with the path, as often as it is asked; nothing is recorded."""
    letter = await place.bury(place.handlers.on_command, client_bus.publish(COMMAND, body))
    assert letter.reason == code
    for _ in range(2):
        with pytest.raises(Unreadable) as found:
            await place.redrive(letter)
        assert (found.value.code, found.value.status) == (code, 422)
        assert [fault.path for fault in found.value.faults] == ([path] if path else [])
    assert (await place.lying(), await place.kinds()) == ([letter.id], [])


async def test_a_refusal_leaves_the_letter(place: Scene, client_bus: Bus) -> None:
    """A key that belongs to another request by now is told, and nothing is decided."""
    headers = {"Toolbus-Idempotency-Key": "k"}
    letter = await place.bury(failing(), client_bus.publish(COMMAND, SUBMIT, headers))
    other = Delivery(
        Incoming(COMMAND, SUBMIT.replace(b"ch_1", b"ch_2"), headers, ""), Place("COMMANDS", 1, 9, 1, 1), ""
    )
    await place.handlers.on_command(other)
    with pytest.raises(Conflict) as found:
        await place.redrive(letter)
    assert found.value.code == "idempotency_key_reused"
    assert (await place.lying(), await place.kinds()) == ([letter.id], ONE_CALL)


async def test_a_stored_message_that_was_sent_to_a_command_stays_dead(place: Scene) -> None:
    """The loop refused it before any handler saw it; no letter leads around that."""
    body, headers = SUBMIT, {"Nats-Stream": "EVENTS", "Nats-Sequence": "1"}
    await place.bus.publish(subjects.dead("acme", "invalid_value"), body, laid(COMMAND, headers))
    with pytest.raises(Unreadable, match="a stored message of EVENTS"):
        await place.redrive("dead_1")
    assert (await place.lying(), await place.kinds()) == (["dead_1"], [])


async def test_an_outcome_that_is_redriven_twice_is_one_end(place: Scene, executor_bus: Bus) -> None:
    """Recorded before its burial, by a first redrive that crashed, by a second: the call ends once."""
    call = await place.dispatched()
    publish = executor_bus.publish(subjects.OUTCOME, outcome(call))
    letter = await place.bury(failing(place.handlers.on_outcome), publish, durable="outcomes")
    assert destination(letter) == "outcome"
    place.letters.is_crashing = True
    with pytest.raises(Unavailable):
        await place.redrive(letter)
    place.letters.is_crashing = False
    redriven = await place.redrive(letter)
    assert (redriven.outcome, redriven.call_id) == ("recorded", call.id)
    assert await place.kinds() == [*ONE_CALL, "call.succeeded.v1"]
    assert await place.lying() == []


async def test_an_outcome_that_never_came_through_ends_the_call(place: Scene, executor_bus: Bus) -> None:
    """What the executor found out is not lost."""
    call = await place.dispatched()
    letter = await place.bury(failing(), executor_bus.publish(subjects.OUTCOME, outcome(call)), durable="outcomes")
    assert (await place.call(call.id)).status == "dispatched"
    await place.redrive(letter)
    assert (await place.call(call.id)).output == {"ok": True}


async def test_work_is_sent_again_while_its_attempt_is_still_to_be_made(place: Scene) -> None:
    """From the store, as it was sent the first time; an executor asks *start* as always."""
    call = await place.dispatched()
    body = orjson.dumps({"call_id": call.id, "tenant": "acme", "attempt": 1, "definition": "unreadable"})
    await place.bus.publish(subjects.dead("acme", "invalid_request"), body, laid(WORK, {}, "WORK"))
    redriven = await place.redrive("dead_1")
    assert (redriven.outcome, redriven.call_id) == ("sent", call.id)
    sent = await place.bus.last_message("WORK", "toolbus.work.>")
    assert sent is not None
    item = orjson.loads(sent.data)
    assert (sent.subject, item["call_id"], item["attempt"], item["needs_start"]) == (WORK, call.id, 1, True)
    assert item["definition"]["api_call"]["url"] == "https://pay.example/refunds"
    assert await place.lying() == []


@pytest.mark.parametrize("attempt", [1, 2])
async def test_work_that_nobody_wants_any_more_is_dropped(place: Scene, attempt: int) -> None:
    """Its call has ended, or is at another attempt: nothing is sent, and the letter is gone."""
    call = await place.dispatched()
    if attempt == 1:
        cancel = CancelCall(call_id=call.id).model_dump_json().encode()
        await place.handlers.on_command(
            Delivery(Incoming(subjects.command("acme", "cancel"), cancel, {}, ""), Place("COMMANDS", 1, 9, 1, 1), "")
        )
    body = orjson.dumps({"call_id": call.id, "tenant": "acme", "attempt": attempt})
    await place.bus.publish(subjects.dead("acme", "too_many_deliveries"), body, laid(WORK, {}, "WORK"))
    assert (await place.redrive("dead_1")).outcome == "dropped"
    assert await place.bus.last_message("WORK", "toolbus.work.>") is None
    assert await place.lying() == []


WORK = subjects.work("api_call", "acme")


def laid(subject: str, headers: dict[str, str], stream: str = "COMMANDS") -> dict[str, str]:
    """The headers of a letter that somebody who may bury messages lays."""
    died = Delivery(Incoming(subject, b"", headers, ""), Place(stream, 1, 1, 1, 1), "2026-01-02T00:00:00.000000000Z")
    return epitaph.write(died, ValueError("made up"))


@pytest.mark.parametrize(
    ("subject", "stream", "body"),
    [
        (subjects.command("other", "submit"), "COMMANDS", SUBMIT),
        (subjects.command("acme", "settle"), "COMMANDS", SUBMIT),
        ("toolbus.ask.acme.call.submit", "COMMANDS", SUBMIT),
        (subjects.OUTCOME, "COMMANDS", SUBMIT),
        (COMMAND, "INTERNAL", SUBMIT),
        ("toolbus.int.dispatcher.reaction", "INTERNAL", b'{"tenant": "acme"}'),
        (subjects.work("api_call", "other"), "WORK", b"{}"),
        (COMMAND, "EVENTS", SUBMIT),
        ("", "", b""),
    ],
)
async def test_what_is_no_message_of_the_tenant_is_not_redrivable(
    place: Scene, subject: str, stream: str, *, body: bytes
) -> None:
    """Whoever may bury a message could have written it: it leads into no other tenant and to no other handler."""
    await place.bus.publish(subjects.dead("acme", "invalid_json"), body, laid(subject, {}, stream))
    await stays(place)


async def test_an_outcome_or_work_for_another_tenant_is_not_redrivable(place: Scene) -> None:
    """Its subject names none, or its own; what it says inside is looked at."""
    call = await place.dispatched()
    for subject, stream in ((subjects.OUTCOME, "INTERNAL"), (WORK, "WORK")):
        body = (
            outcome(call, tenant="other")
            if stream == "INTERNAL"
            else orjson.dumps({"call_id": call.id, "tenant": "other", "attempt": 1})
        )
        ack = await place.bus.publish(subjects.dead("acme", "internal"), body, laid(subject, {}, stream))
        await stays(place, f"dead_{ack.sequence}")


@pytest.mark.parametrize("reason", ["refused_by_bus", "internal"])
async def test_a_note_is_not_redrivable(place: Scene, reason: str) -> None:
    """There is no message to handle: the event lies in the store, and is read there."""
    await place.bus.publish(subjects.dead("acme", reason), b'{"position": 7}', {"Toolbus-Error": "too large"})
    await stays(place)


async def stays(place: Scene, letter_id: str = "dead_1") -> None:
    """It is refused, and left where it is."""
    letter = await place.letters.find("acme", letter_id)
    with pytest.raises(Conflict) as found:
        await place.redrive(letter)
    assert (found.value.code, found.value.status) == ("not_redrivable", 409)
    assert letter_id in await place.lying()
