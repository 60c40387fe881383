"""Events of the log as server-sent events: the id is the position, so `Last-Event-ID` resumes exactly."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Fault, Unavailable, Unreadable
from toolbus_runtime.feed import Feed
from toolbus_runtime.http.events import event_view
from toolbus_runtime.http.paging import position_in
from toolbus_runtime.store.port import EventStore

KEEP_ALIVE_S = 15.0
PAGE = 200  # events that are read ahead of one client


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


@dataclass(frozen=True)
class Wanted:
    """Which events of a tenant a stream tells."""

    tenant: str
    correlation_id: str | None = None
    categories: Sequence[str] = ()
    kinds: Sequence[str] = ()

    def has(self, event: StoredEvent) -> bool:
        """Whether the stream tells this event."""
        return (
            event.tenant == self.tenant
            and self.correlation_id in (None, event.correlation_id)
            and (not self.categories or event.category in self.categories)
            and (not self.kinds or event.kind in self.kinds)
        )

    async def recorded(self, store: EventStore, after: int) -> list[StoredEvent]:
        """A page of what is recorded already."""
        return await store.read(
            after=after,
            limit=PAGE,
            tenant=self.tenant,
            correlation_id=self.correlation_id,
            categories=self.categories,
            kinds=self.kinds,
        )


def event_stream(
    feed: Feed, store: EventStore, after: int, wanted: Wanted, *, may_go_on: Callable[[], Awaitable[bool]]
) -> StreamingResponse:
    """Stream what is wanted, from behind `after`, until the client leaves or `may_go_on` says no."""
    return EventStreamResponse(
        _lines(_pages(feed, store, after, wanted), may_go_on),
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _pages(feed: Feed, store: EventStore, after: int, wanted: Wanted) -> AsyncIterator[list[StoredEvent]]:
    """
    What is wanted behind `after`, without end.

    The past is read by the index of what is wanted: nobody may have us walk through everybody's log. The
    last page is read after the head was asked for, so that nothing is missed in between.
    """
    head = await feed.newest()
    is_past = True
    while is_past:
        page = await wanted.recorded(store, after)
        is_past = len(page) == PAGE
        if page:
            after = page[-1].position
            yield page
    async for events in feed.follow(max(after, head)):
        yield [event for event in events if wanted.has(event)]


async def _lines(
    pages: AsyncIterator[list[StoredEvent]], may_go_on: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    yield b"retry: 500\n\n"
    following = asyncio.ensure_future(anext(pages))
    try:
        while True:
            done, _ = await asyncio.wait({following}, timeout=KEEP_ALIVE_S)
            try:
                if not await may_go_on():
                    return
                found = following.result() if done else None
            except Unavailable:
                return  # the client comes back with the last id it saw
            if found is None:
                yield b": still here\n\n"
                continue
            for event in found:
                data = orjson.dumps(event_view(event))
                yield b"id: %d\nevent: %b\ndata: %b\n\n" % (event.position, event.kind.encode(), data)
            following = asyncio.ensure_future(anext(pages))
    finally:
        following.cancel()
