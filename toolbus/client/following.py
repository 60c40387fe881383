"""Following the log live: reconnecting, resuming after the last position, and knowing the end."""

import random
import time
from collections.abc import Callable, Generator

from toolbus.client.exchange import Answer, Lost, Request, parse
from toolbus.client.failures import UnexpectedAnswer
from toolbus.client.flows import (
    PAGE,
    AnyStream,
    Emit,
    Open,
    Opened,
    Pause,
    Read,
    Reply,
    Step,
    Stream,
    every,
    exchange,
    failure_of,
)
from toolbus.client.requests import executions as requests
from toolbus.client.sse import SentEvent, SseDecoder
from toolbus.client.views import EventView
from toolbus_contracts.calls import TERMINAL_KINDS
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import parse_json

MAX_SILENT_TRIES = 10
MAX_DELAY_S = 5.0
FIRST_DELAY_S = 0.1
STABLE_S = 2.0  # a stream that was open for so long was no failed try
GONE_FOR_NOW = frozenset({429, 502, 503, 504})
ENDINGS = TERMINAL_KINDS | {"execution.finished.v1"}
ENDED = frozenset({"succeeded", "failed", "cancelled"})


def follow(
    stream: Callable[[int | None], Request[None]],
    after: int | None,
    is_over: Callable[[], Generator[Step, Reply, bool]] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AnyStream[EventView]:
    """
    Hand out events as they are recorded, each once and in order; the last position is the result.

    A connection that breaks is opened again after the last position that was seen. `is_over` is asked
    when something ended and when the server closes the stream.

    Raises:
        Unreachable: ten tries in a row brought no stream that lasted, and no event.
        Problem: the server said no.
    """
    position, tries = after, 0
    while True:
        request = stream(position)
        reply = yield Open(request)
        if isinstance(reply, Opened):
            before, opened_at = position, clock()
            decoder = SseDecoder()
            while isinstance(piece := (yield Read()), str):
                found = [event for event in map(read_event, decoder.feed(piece)) if event is not None]
                for event in found:
                    if position is None or event.position > position:
                        position = event.position
                        yield Emit(event)
                if is_over and any(event.kind in ENDINGS for event in found) and (yield from is_over()):
                    return position
            if is_over and (yield from is_over()):
                return position
            tries = 0 if position != before or clock() - opened_at >= STABLE_S else tries
            reply = piece if isinstance(piece, Lost) else Lost("the server closed the stream", may_have_arrived=True)
        tries += 1
        yield Pause(_delay(request, reply, tries))


def _delay(request: Request[None], reply: Reply, tries: int) -> float:
    """Seconds until the next try; a reply that no repeating can mend is raised."""
    assert isinstance(reply, Answer | Lost)  # noqa: S101 - what Open is answered with
    if tries >= MAX_SILENT_TRIES or (isinstance(reply, Answer) and reply.status not in GONE_FOR_NOW):
        raise failure_of(request, reply)
    spread = 0.5 + random.random() / 2  # noqa: S311 - spreads repeats in time
    return min(MAX_DELAY_S, FIRST_DELAY_S * 2.0 ** (tries - 1)) * spread


def read_event(sent: SentEvent) -> EventView | None:
    """
    Read one event of the stream; what is no event of the log (a heartbeat) is nothing.

    Raises:
        UnexpectedAnswer: it should be one and is not.
    """
    if not sent.id:
        return None
    try:
        found = parse_json(sent.data.encode())
    except Unreadable as error:
        raise UnexpectedAnswer(f"the stream holds an event that cannot be read: {error.message}") from error
    return parse(EventView, found)


def follow_execution(execution_id: str, after: int) -> Stream[EventView]:
    """Hand out the events of an execution until it has ended and its last event was handed out."""

    def is_over() -> Generator[Step, Reply, bool]:
        return (yield from exchange(requests.get_execution(execution_id))).status in ENDED

    position: int | None = after
    if not (yield from is_over()):
        position = yield from follow(lambda last: requests.stream_execution(execution_id, last), after, is_over)
    yield from every(requests.list_execution_events(execution_id, position, PAGE), "after")
