"""Server-sent events that arrive in any pieces."""

from hypothesis import given
from hypothesis import strategies as st

from toolbus.client.sse import SentEvent, SseDecoder

TEXT = (
    "\ufeffretry: 500\n\n: still here\n\nid: 7\nevent: call.requested.v1\ndata: {}\n\n"
    "data: one\r\ndata: two\r\n\r\nid\ndata\n\nevent: none\n\nid: 9\rdata:  spaced\r\rdata: never finished"
)
EVENTS = [
    SentEvent("7", "call.requested.v1", "{}"),
    SentEvent("7", "message", "one\ntwo"),
    SentEvent("", "message", ""),
    SentEvent("9", "message", " spaced"),
]


def test_whole_stream() -> None:
    """Comments and retry are no events; an id stays until it is changed; the rest of an event is left out."""
    assert list(SseDecoder().feed(TEXT)) == EVENTS


@given(st.lists(st.integers(1, 12), min_size=1))
def test_pieces_change_nothing(sizes: list[int]) -> None:
    """Wherever the stream is cut, the same events come out."""
    decoder, found, place, number = SseDecoder(), [], 0, 0
    while place < len(TEXT):
        size = sizes[number % len(sizes)]
        found += list(decoder.feed(TEXT[place : place + size]))
        place, number = place + size, number + 1
    assert found == EVENTS


def test_an_id_with_nul_is_ignored() -> None:
    """Such an id could not be sent back in a header."""
    assert list(SseDecoder().feed("id: a\0b\ndata: x\n\n")) == [SentEvent("", "message", "x")]
