"""Dead letters, pure: where they go back to, which call they speak of, and how they are shown."""

import base64
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from tests.unit.dispatcher.making import AGAIN, CANCEL_REQUESTED, DISPATCHED, REQUESTED, STARTED, after
from toolbus_contracts import digests, subjects
from toolbus_contracts.dead import OpenedLetterView
from toolbus_contracts.errors import Conflict, Unreadable
from toolbus_dispatcher.core.dead import (
    Letter,
    Origin,
    attempt_in,
    call_of,
    check_tenant,
    destination,
    is_wanted,
    opened,
    sequence_in,
    view,
)

DIED = datetime(2026, 1, 3, tzinfo=UTC)
CREATED = "2026-01-01T00:00:00.000000001Z"
STORED = "2026-01-02T03:04:05.123456789Z"
SUBMIT = subjects.command("acme", "submit")
CANCEL = subjects.command("acme", "cancel")
WORK = subjects.work("api_call", "acme")
OF_PLACE = digests.call_id_for_message("acme", CREATED, 7, STORED)
ABOUT = {"call_id": "call_1", "tenant": "acme", "attempt": 2}


def letter(stream: str, subject: str, body: Any = None, **changes: Any) -> Letter:
    """A letter with this body: bytes, or what is written as JSON."""
    origin = Origin(subject, stream, 7, STORED, 3, "ValueError: a fault", CREATED, {})._replace(**changes)
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return Letter(5, "acme", "too_many_deliveries", DIED, origin.error, len(data), origin, data)


NOTE = Letter(6, "acme", "refused_by_bus", DIED, "too large", 14, None, b'{"position":7}')


@pytest.mark.parametrize(
    ("stream", "subject", "expected"),
    [
        ("COMMANDS", SUBMIT, "command"),
        ("COMMANDS", CANCEL, "command"),
        ("COMMANDS", subjects.command("acme", "settle"), None),
        ("COMMANDS", subjects.command("other", "submit"), None),
        ("COMMANDS", SUBMIT + ".more", None),
        ("INTERNAL", subjects.OUTCOME, "outcome"),
        ("INTERNAL", SUBMIT, None),
        ("WORK", WORK, "work"),
        ("WORK", subjects.work("mcp", "acme", "eu"), "work"),
        ("WORK", subjects.work("api_call", "other"), None),
        ("WORK", subjects.OUTCOME, None),
        ("EVENTS", subjects.event("acme", "call", "call_1", "call.requested.v1"), None),
        ("", "", None),
    ],
)
def test_a_letter_goes_back_to_where_it_came_from(stream: str, subject: str, expected: str | None) -> None:
    """By its stream and its subject, both of the same tenant as the letter."""
    found = letter(stream, subject)
    assert destination(found) == expected
    assert view(found).is_redrivable == (expected is not None)


@pytest.mark.parametrize("lost", ["stream_created", "headers"])
def test_a_letter_that_does_not_say_which_message_it_was_goes_nowhere(lost: str) -> None:
    """It could become another call than the one that it was."""
    found = letter("COMMANDS", SUBMIT, {"tool": "refund"}, **{lost: None})
    assert destination(found) is None
    assert call_of(found) is None
    assert opened(found).headers == {}


def test_a_note_goes_nowhere() -> None:
    """It is no message."""
    assert destination(NOTE) is None
    assert call_of(NOTE) is None


@pytest.mark.parametrize(
    ("stream", "subject", "body", "call_id"),
    [
        ("COMMANDS", SUBMIT, {"tool": "refund"}, OF_PLACE),
        ("COMMANDS", SUBMIT, {"idempotency_key": None}, OF_PLACE),
        ("COMMANDS", SUBMIT, {"idempotency_key": "k"}, digests.call_id_for_key("acme", "k")),
        ("COMMANDS", SUBMIT, {"idempotency_key": 7}, None),
        ("COMMANDS", SUBMIT, b"{", None),
        ("COMMANDS", SUBMIT, [], None),
        ("COMMANDS", CANCEL, {"call_id": "call_1"}, "call_1"),
        ("COMMANDS", CANCEL, {"call_id": 1}, None),
        ("COMMANDS", CANCEL, {}, None),
        ("INTERNAL", subjects.OUTCOME, ABOUT, "call_1"),
        ("INTERNAL", subjects.OUTCOME, b"\xff", None),
        ("WORK", WORK, ABOUT, "call_1"),
        ("WORK", WORK, [], None),
        ("EVENTS", WORK, ABOUT, None),
    ],
)
def test_a_letter_tells_its_call(stream: str, subject: str, *, body: Any, call_id: str | None) -> None:
    """The one that it names, or that a command becomes by its key or by its place; none when it cannot be read."""
    assert call_of(letter(stream, subject, body)) == call_id
    assert opened(letter(stream, subject, body)).call_id == call_id


def test_a_key_in_a_header_counts() -> None:
    """As it did when the message came."""
    found = letter("COMMANDS", SUBMIT, {"tool": "refund"}, headers={"Toolbus-Idempotency-Key": "a  b"})
    assert call_of(found) == digests.call_id_for_key("acme", "a  b")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], "/call_id"),
        ({**ABOUT, "call_id": None}, "/call_id"),
        ({"call_id": "call_1", "tenant": "acme"}, "/attempt"),
        ({**ABOUT, "attempt": "2"}, "/attempt"),
    ],
)
def test_work_that_names_no_attempt_is_unreadable(body: Any, path: str) -> None:
    """With the path."""
    with pytest.raises(Unreadable) as found:
        attempt_in(letter("WORK", WORK, body))
    assert [fault.path for fault in found.value.faults] == [path]


def test_work_tells_its_attempt() -> None:
    """Whatever else it holds."""
    assert attempt_in(letter("WORK", WORK, {**ABOUT, "definition": 1})) == ("call_1", 2)
    with pytest.raises(Unreadable):
        attempt_in(letter("WORK", WORK, b"{"))


@pytest.mark.parametrize("tenant", ["other", "", None, 1, ["acme"]])
def test_a_message_of_another_tenant_is_refused(tenant: Any) -> None:
    """Wherever it lies."""
    check_tenant(NOTE, "acme")
    with pytest.raises(Conflict, match="another tenant"):
        check_tenant(NOTE, tenant)
    with pytest.raises(Conflict, match="another tenant"):
        attempt_in(letter("WORK", WORK, {**ABOUT, "tenant": tenant}))


def test_an_attempt_is_wanted_until_it_has_begun() -> None:
    """Given to the executors, the same attempt, and no start on record."""
    given = after(REQUESTED, DISPATCHED)
    assert is_wanted(given, 1)
    assert not is_wanted(given, 2)
    assert not is_wanted(after(REQUESTED, DISPATCHED, AGAIN), 1)
    assert is_wanted(after(REQUESTED, DISPATCHED, AGAIN), 2)
    assert not is_wanted(after(REQUESTED, DISPATCHED, STARTED), 1)
    assert not is_wanted(after(REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED), 1)


@pytest.mark.parametrize(("letter_id", "sequence"), [("dead_1", 1), ("dead_10", 10), ("dead_" + "9" * 18, 10**18 - 1)])
def test_an_id_names_a_place(letter_id: str, sequence: int) -> None:
    """And no other id names it."""
    assert sequence_in(letter_id) == sequence


@pytest.mark.parametrize(
    "text", ["", "dead_", "dead_0", "dead_01", "dead_-1", "dead_1 ", "1", "dead_²", "dead_" + "1" * 19]
)
def test_other_texts_name_none(text: str) -> None:
    """Not even one that could be read as a number."""
    assert sequence_in(text) is None


def test_a_letter_is_shown_with_what_is_known() -> None:
    """Its origin, or nulls where it has none."""
    assert view(letter("COMMANDS", SUBMIT, {})).model_dump(mode="json") == {
        "id": "dead_5",
        "reason": "too_many_deliveries",
        "subject": SUBMIT,
        "stream": "COMMANDS",
        "sequence": 7,
        "stored_at": "2026-01-02T03:04:05.123456Z",
        "died_at": "2026-01-03T00:00:00Z",
        "deliveries": 3,
        "error": "ValueError: a fault",
        "bytes": 2,
        "is_redrivable": True,
    }
    note = view(NOTE)
    assert (note.subject, note.stream, note.sequence, note.stored_at, note.deliveries) == (None,) * 5
    assert (note.id, note.error, note.bytes, note.is_redrivable) == ("dead_6", "too large", 14, False)


@pytest.mark.parametrize("data", [b"\xff\x00", b"{", b'{"a": 1, "a": 2}', b'"\\ud800"', b"1e999", b""])
def test_what_is_no_strict_json_is_shown_as_bytes(data: bytes) -> None:
    """It can be looked at, and what it was stays exact."""
    found = opened(letter("COMMANDS", SUBMIT, data))
    assert (found.body, base64.b64decode(found.content or "")) == (None, data)


def test_json_is_shown_as_json() -> None:
    """With the headers that came along, in a form that can be sent and read again."""
    found = opened(letter("COMMANDS", SUBMIT, {"tool": "refund", "ü": [1, None]}, headers={"traceparent": "00-1"}))
    assert (found.body, found.content) == ({"tool": "refund", "ü": [1, None]}, None)
    assert found.headers == {"traceparent": "00-1"}
    assert OpenedLetterView.model_validate_json(found.model_dump_json()) == found
    assert (opened(NOTE).body, opened(NOTE).headers, opened(NOTE).call_id) == ({"position": 7}, {}, None)
    null = opened(letter("COMMANDS", SUBMIT, b"null"))
    assert (null.body, null.content) == (None, None)
