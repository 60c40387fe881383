"""What is written on a dead letter is read off it again, whatever the message was."""

from collections.abc import Mapping

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from toolbus_contracts.errors import Unreadable
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.delivery import SECOND_NS, Delivery, Place, nanoseconds_of
from toolbus_runtime.bus.listening import Incoming
from toolbus_runtime.bus.lookups import read_headers
from toolbus_runtime.bus.replies import encoded_headers

SUBJECT = "toolbus.cmd.acme.call.submit"
CREATED = "2026-01-02T03:04:05.123456789Z"
LAST_SECOND = 253_402_300_799  # of the year 9999
HEADERS = st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=5)


def delivery(headers: Mapping[str, str] | None = None, stored_ns: int = 7, body: bytes = b"{}") -> Delivery:
    """The third delivery of a command."""
    place = Place("COMMANDS", 3, 42, 5, stored_ns)
    return Delivery(Incoming(SUBJECT, body, headers or {}, "$JS.ACK"), place, CREATED)


def laid(found: Delivery, error: BaseException) -> dict[str, str]:
    """The headers of its letter, as they are read from the stream."""
    return read_headers(encoded_headers(epitaph.write(found, error)))


@given(headers=HEADERS, stored_ns=st.integers(0, LAST_SECOND * SECOND_NS), body=st.binary(max_size=9))
def test_a_message_is_handled_again_as_itself(headers: dict[str, str], stored_ns: int, body: bytes) -> None:
    """Subject, body, every header to the last blank, and all that its identity is made of."""
    died = delivery(headers, stored_ns, body)
    told = epitaph.read(laid(died, ValueError("a fault")))
    assert told is not None
    again = epitaph.delivery_of(told, body)
    for name in ("subject", "data", "headers", "stream", "stream_created", "sequence", "stored_at", "num_delivered"):
        assert getattr(again, name) == getattr(died, name)
    assert told.error == "ValueError: a fault"


@given(raw=st.lists(st.binary(max_size=12) | st.sampled_from([b"\r\n", b":", b" ", b"\xa0", b"a: b"])).map(b"".join))
def test_headers_are_read_as_a_subscriber_reads_them(raw: bytes) -> None:
    """To the byte: an idempotency key that is read in two ways would be two calls."""
    assert read_headers(b"NATS/1.0\r\n" + raw) == Client._parse_header_lines(raw)


@pytest.mark.parametrize("text", ["1 error\n  call_id\r\n\tis missing", "x" * 100_000, "\ud800 ü"])
def test_an_error_is_one_line_that_fits(text: str) -> None:
    """Whatever a library says keeps no message from its burial."""
    told = laid(delivery(), ValueError(text))["Toolbus-Error"]
    assert told.startswith("ValueError: ")
    assert len(told) <= epitaph.MAX_ERROR_TEXT
    assert told.split() == told.split(" ")


def test_the_messages_own_headers_give_no_orders_and_take_no_name_of_ours() -> None:
    """A schedule would be carried out, an expectation fail the burial, and our names tell of another message."""
    own = {"Nats-Schedule": "@every 1s", "Nats-Expected-Stream": "X", "Toolbus-Stream": "WORK", "toolbus-sequence": "1"}
    told = laid(delivery(own), ValueError("a fault"))
    assert {name for name in told if not name.startswith("Toolbus-")} == set()
    assert (told["Toolbus-Stream"], told["Toolbus-Sequence"]) == ("COMMANDS", "42")
    assert orjson.loads(told["Toolbus-Headers"]) == own


def test_too_many_headers_are_left_out() -> None:
    """The server takes 64 KiB: a letter that it refused would keep its message coming for ever."""
    for size, is_kept in ((epitaph.MAX_HEADER_BYTES - 100, True), (60_000, False)):
        told = laid(delivery({"X-Long": "x" * size}), ValueError("e" * 5000))
        assert sum(len(name) + len(value) + 4 for name, value in told.items()) < 65_000
        found = epitaph.read(told)
        assert found is not None
        assert (found.headers is not None) == is_kept
        if not is_kept:
            with pytest.raises(ValueError, match="does not tell"):
                epitaph.delivery_of(found, b"")


@pytest.mark.parametrize(
    "changes",
    [
        {"Toolbus-Sequence": "-1"},
        {"Toolbus-Sequence": "²"},
        {"Toolbus-Sequence": "1" * 19},
        {"Toolbus-Deliveries": ""},
        {"Toolbus-Stored-At": "2026-01-02T00:00:00Z"},
        {"Toolbus-Stored-At": "2026-02-31T00:00:00.000000000Z"},
        {"Toolbus-Stored-At": "٢026-01-02T00:00:00.000000000Z"},
        {"Toolbus-Stored-At": "1" * 5000},
    ],
)
def test_what_is_no_epitaph_is_a_note(changes: dict[str, str]) -> None:
    """A letter that does not say which message it was."""
    assert epitaph.read({**laid(delivery(), ValueError("a fault")), **changes}) is None


def test_nothing_is_a_note_too() -> None:
    """As the relay lays it down."""
    assert epitaph.read({"Toolbus-Error": "too large"}) is None


@pytest.mark.parametrize("headers", ["", "{", "[]", '{"a": 1}', "null"])
def test_headers_that_cannot_be_read_are_none(headers: str) -> None:
    """The letter is shown, and not handled again."""
    found = epitaph.read({**laid(delivery(), ValueError("a fault")), "Toolbus-Headers": headers})
    assert found is not None
    assert found.headers is None


@pytest.mark.parametrize("stored_ns", [0, 1, SECOND_NS - 1, 1_767_322_800_123_456_789])
def test_times_are_read_to_the_nanosecond(stored_ns: int) -> None:
    """They are part of a call's identity."""
    assert nanoseconds_of(delivery(stored_ns=stored_ns).stored_at) == stored_ns


def test_a_stored_message_that_was_sent_here_is_refused() -> None:
    """JetStream reads it out for whoever names a command's subject as the inbox: nobody asked for it as a command."""
    delivery().refuse_reflected()
    with pytest.raises(Unreadable, match="a stored message of EVENTS"):
        delivery({"Nats-Stream": "EVENTS"}).refuse_reflected()
