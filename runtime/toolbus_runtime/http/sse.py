"""Events of the log as server-sent events: the id is the position, so `Last-Event-ID` resumes exactly."""

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Fault, Unavailable, Unreadable
from toolbus_runtime.feed import Feed
from toolbus_runtime.http.events import event_view
from toolbus_runtime.http.paging import position_in

KEEP_ALIVE_S = 15.0


class EventStreamResponse(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


def last_event_id(request: Request, after: int | None) -> int | None:
    """
    Where a stream resumes: the header, else `after`, else none.

    Raises:
        Unreadable: the header is no position.
    """
    said = request.headers.get("last-event-id")
    if not said:
        return after
    position = position_in(said)
    if position is not None:
        return position
    raise Unreadable("invalid_request", "not a position", (Fault("/headers/last-event-id", "not a position"),))


def event_stream(feed: Feed, after: int, wanted: Callable[[StoredEvent], bool]) -> StreamingResponse:
    """Stream what `wanted` lets through, from behind `after`, until the client leaves."""
    return EventStreamResponse(
        _lines(feed, after, wanted),
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _lines(feed: Feed, after: int, wanted: Callable[[StoredEvent], bool]) -> AsyncIterator[bytes]:
    yield b"retry: 500\n\n"
    events = feed.follow(after)
    following = asyncio.ensure_future(anext(events))
    try:
        while True:
            done, _ = await asyncio.wait({following}, timeout=KEEP_ALIVE_S)
            if not done:
                yield b": still here\n\n"
                continue
            try:
                found = following.result()
            except Unavailable:
                return  # the client comes back with the last id it saw
            for event in found:
                if wanted(event):
                    data = orjson.dumps(event_view(event))
                    yield b"id: %d\nevent: %b\ndata: %b\n\n" % (event.position, event.kind.encode(), data)
            following = asyncio.ensure_future(anext(events))
    finally:
        following.cancel()
