"""Bodies are unpacked within their bound, redirects leave credentials behind, starts fit our clock."""

import gzip
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.api_caller.making import READ, UNSAFE, item, request
from toolbus_api_caller.core.reading import AnswerReader
from toolbus_api_caller.core.redirects import next_request
from toolbus_api_caller.core.response import HttpAnswer
from toolbus_contracts.calls import StartAnswer
from toolbus_contracts.errors import Unavailable, Unreadable
from toolbus_contracts.executing.decompression import Identity, Inflate, decoder_for
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.payloads import digests_in, filled_in, payload_value, reference
from toolbus_contracts.executing.permits import Permit, is_late, needs_start, permit

TEXT = b"hello, hello, hello " * 50
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def raw_deflate(data: bytes) -> bytes:
    """Deflate without its wrapper, as some servers send it."""
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def read(pieces: list[bytes], encoding: str | None, *, limit: int = 10_000, status: int = 200) -> HttpAnswer:
    """The answer that a reader makes of these pieces."""
    reader = AnswerReader(limit)
    reader.begin(status, () if encoding is None else ((b"Content-Encoding", encoding.encode()),))
    for piece in pieces:
        if not reader.take(piece):
            break
    return reader.answer()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        (None, TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZIP", gzip.compress(TEXT[:100], mtime=0) + gzip.compress(TEXT[100:], mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
    ],
)
@pytest.mark.parametrize("size", [2, 7, 10_000])
def test_bodies_are_unpacked_in_any_pieces(encoding: str | None, data: bytes, size: int) -> None:
    """However the pieces fall, the body is the same."""
    found = read([data[at : at + size] for at in range(0, len(data), size)], encoding)
    assert (found.body, found.flaw, found.is_too_large) == (TEXT, None, False)


def test_a_bomb_is_stopped_at_the_bound() -> None:
    """Reading stops just past the bound, however much a piece would unpack to."""
    bomb = gzip.compress(b"\x00" * 50_000_000)
    found = read([bomb], "gzip", limit=1000)
    assert (len(found.body), found.is_too_large) == (1000, True)
    assert read([b"x" * 1001], None, limit=1000).is_too_large
    assert not read([b"x" * 500, b"x" * 500], None, limit=1000).is_too_large


def test_nothing_more_is_unpacked_without_room() -> None:
    """A small piece that unpacks to much waits, held packed, until there is room; then nothing of it is missing."""
    body = b"\x00" * 1_000_000 + TEXT
    for wire in (gzip.compress(body), gzip.compress(body[:500_000]) + gzip.compress(body[500_000:])):
        reader = AnswerReader(2_000_000, free_bytes=1000)
        reader.begin(200, ((b"content-encoding", b"gzip"),))
        assert reader.take(wire)
        assert (reader.needs_room, reader.held_bytes, reader.most_bytes) == (True, len(wire) + 1001, 4_000_000)
        assert reader.widen()
        found = reader.answer()
        assert (found.body == body, found.flaw) == (True, None)


def test_a_plain_body_that_waited_for_room_goes_on() -> None:
    """It is held as it came, so that nothing of it is left to unpack."""
    reader = AnswerReader(2_000_000, free_bytes=1000)
    reader.begin(200, ())
    assert reader.take(b"x" * 5000)
    assert (reader.needs_room, reader.widen(), reader.needs_room) == (True, True, False)
    assert reader.take(TEXT)
    assert reader.answer().body == b"x" * 5000 + TEXT


@pytest.mark.parametrize(
    ("header", "most"), [(b"700", 700), (b"5000", 2000), (b"x", 2000), (b"-1", 2000), (b"9" * 400, 2000), (None, 2000)]
)
def test_a_plain_body_says_how_long_it_is(header: bytes | None, most: int) -> None:
    """By its length, never more than is read; when it does not say, as much as is read at most."""
    reader = AnswerReader(2000, free_bytes=10)
    reader.begin(200, () if header is None else ((b"Content-Length", header),))
    assert not reader.needs_room
    reader.take(b"x" * 11)
    assert (reader.needs_room, reader.most_bytes) == (True, most)


def test_many_empty_members_are_stopped_too() -> None:
    """Wire bytes are bounded even when they unpack to nothing."""
    assert read([gzip.compress(b"")] * 5000, "gzip", limit=10).is_too_large


def test_bodies_behind_an_error_are_short() -> None:
    """Of a status that is no success at most 64 KiB are read."""
    assert len(read([b"x" * 100_000], None, limit=10**6, status=500).body) == 64 * 1024


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("br", b"\x0b\x02"),
        ("gzip, gzip", b"x"),
        ("gzip", b"not gzip at all"),
        ("gzip", gzip.compress(TEXT, mtime=0)[:-9]),
    ],
)
def test_what_cannot_be_unpacked_is_kept_as_it_came(encoding: str, data: bytes) -> None:
    """The flaw is told, the bytes are those of the wire."""
    found = read([data[:5], data[5:]], encoding)
    assert found.body == data
    assert found.flaw


def test_no_body_is_complete() -> None:
    """An answer to HEAD names an encoding and has no body."""
    assert read([], "gzip").flaw is None


def test_decoders() -> None:
    """A decoder never gives more than there is room for, and says what it cannot unpack."""
    assert Identity().feed(b"abc", 2) == b"ab"
    assert decoder_for("zstd") is None
    inflate = Inflate()
    assert inflate.feed(gzip.compress(TEXT), 5) == TEXT[:5]
    with pytest.raises(Unreadable):
        Inflate().feed(b"\xff\xff\xff\xff", 10)


def test_a_reader_that_breaks_off() -> None:
    """Without a status only the failure is left; with one, the answer as far as it came."""
    failure = Failure("lost", "why", is_sent=True)
    reader = AnswerReader(10)
    assert reader.broken(failure) is failure
    with pytest.raises(AssertionError):
        reader.answer()
    reader.begin(200, ((b"content-encoding", b"gzip"),))
    reader.take(gzip.compress(TEXT)[:5])
    assert reader.broken(failure) == HttpAnswer(200, ((b"content-encoding", b"gzip"),), b"", failure=failure)


# ── redirects ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "status", "expected"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("PUT", 302, "PUT"),
        ("PUT", 303, "GET"),
        ("HEAD", 303, "HEAD"),
    ],
)
def test_the_method_after_a_redirect(method: str, status: int, expected: str) -> None:
    """As RFC 9110 and every browser have it; a GET carries no body."""
    made = next_request(request({"method": method, "overridable": []}, {"json": {"a": 1}}), status, "/next?x=1#y")
    assert made is not None
    assert (made.method, made.url) == (expected, "https://api.example.com/next?x=1")
    is_kept = expected != "GET"
    assert (made.body is not None, "content-type" in dict(made.headers)) == (is_kept, is_kept)


def test_credentials_stay_at_home() -> None:
    """Another origin sees no header that could be a credential; a step up to https is the same home."""
    one = request({"method": "POST", "url": "http://h/", "headers": {"X-Key": "k"}}, {"json": {}}, terms=UNSAFE)
    abroad = next_request(one, 307, "http://else/")
    assert abroad is not None
    assert "x-key" not in dict(abroad.headers)
    assert {"idempotency-key", "content-type"} <= set(dict(abroad.headers))
    for location in ("/x", "http://h/y", "https://h/z", "https://h:443/{z}"):
        at_home = next_request(one, 307, location)
        assert at_home is not None
        assert at_home.headers == one.headers
    for location in ("https://h:8443/", "https://other/", "http://h:81/"):
        elsewhere = next_request(one, 307, location)
        assert elsewhere is not None
        assert "x-key" not in dict(elsewhere.headers)


@pytest.mark.parametrize(
    ("status", "location"),
    [(304, "/x"), (200, "/x"), (302, ""), (302, "ftp://h/"), (302, "http://u:p@h/"), (302, "http://[::1")],
)
def test_redirects_that_lead_nowhere(status: int, location: str) -> None:
    """These are not followed: the status itself is the answer."""
    assert next_request(request({}), status, location) is None


# ── starts ──────────────────────────────────────────────────────────────────────────────────────


def test_who_has_to_ask() -> None:
    """By order, and always when it is not safe to repeat."""
    assert not needs_start(item({}, terms=READ))
    assert needs_start(item({}, terms=READ, needs_start=True))
    assert needs_start(item({}, terms=UNSAFE))


def test_permits_are_times_on_our_clock() -> None:
    """`go` bounds sending and stopping; the deadline of the call bounds sending too."""
    later = {"start_by": NOW + timedelta(seconds=5), "stop_by": NOW + timedelta(seconds=60)}
    go = StartAnswer(verdict="go", start_by=later["start_by"], stop_by=later["stop_by"])
    work, hurried = item({}), item({}, deadline_at=NOW + timedelta(seconds=2))
    assert permit(work, go, now=NOW, clock_s=100.0) == Permit(105.0, 160.0)
    assert permit(hurried, go, now=NOW, clock_s=100.0) == Permit(102.0, 160.0)
    assert permit(work, None, now=NOW, clock_s=100.0) == Permit(None, None)
    assert permit(hurried, None, now=NOW, clock_s=100.0) == Permit(102.0, None)
    assert permit(work, StartAnswer(verdict="drop"), now=NOW, clock_s=100.0) is None


def test_a_start_that_another_holds_is_waited_for() -> None:
    """The work comes back when the other must have stopped."""
    taken = StartAnswer(verdict="taken", stop_by=NOW + timedelta(seconds=7))
    with pytest.raises(Unavailable) as caught:
        permit(item({}), taken, now=NOW, clock_s=0.0)
    assert 7 <= caught.value.retry_after_s <= 8
    with pytest.raises(Unavailable, match="lacks its times"):
        permit(item({}, terms=UNSAFE), StartAnswer(verdict="go"), now=NOW, clock_s=0.0)


def test_work_that_is_safe_to_repeat_and_still_wanted_has_no_bounds() -> None:
    """It was asked for because its call could have been stopped unheard; only its deadline bounds sending."""
    assert permit(item({}), StartAnswer(verdict="go"), now=NOW, clock_s=0.0) == Permit(None, None)


def test_deadlines() -> None:
    """A call is late from its deadline on."""
    assert not is_late(item({}), NOW)
    assert is_late(item({}, deadline_at=NOW), NOW)
    assert not is_late(item({}, deadline_at=NOW + timedelta(seconds=1)), NOW)


# ── payloads ────────────────────────────────────────────────────────────────────────────────────


def test_references_are_found_and_filled_at_any_depth() -> None:
    """In objects and lists, and as the whole."""
    value: Any = {"a": {"$payload": "d1"}, "b": [{"$payload": "d2"}, 1], "c": "x", "d": {"$payload": 5}}
    assert list(digests_in(value)) == ["d1", "d2"]
    assert filled_in(value, {"d1": [1], "d2": "y"}) == {"a": [1], "b": ["y", 1], "c": "x", "d": {"$payload": 5}}
    assert filled_in({"$payload": "d1"}, {"d1": {}}) == {}


def test_payloads_are_json_or_bytes() -> None:
    """JSON is itself; anything else is its bytes in base64."""
    assert payload_value(b'{"a":1}') == {"a": 1}
    assert payload_value(b"\x00\xff") == "AP8="
    made = reference(b'"' + "ü".encode() * 1000)
    assert (made["bytes"], made["preview"]) == (2001, '"' + "ü" * 255)
    assert made["$payload"].startswith("sha256:")
