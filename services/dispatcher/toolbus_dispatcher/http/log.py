"""`/v1/events` and `/v1/payloads`: the log by position, and large values by digest."""

from collections.abc import Collection
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, WithJsonSchema

from toolbus_contracts.catalogue import UNIONS, event_types
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import NotFound
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_dispatcher.http.calls import MAX_VALUES, Limit
from toolbus_dispatcher.http.executions import events_page
from toolbus_dispatcher.http.services import Wired, caller, still_valid
from toolbus_dispatcher.http.shapes import EventView, PayloadAnswer
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import MAX_PAYLOAD_BYTES, read_bytes
from toolbus_runtime.http.document import body_like, refusals, resumable
from toolbus_runtime.http.paging import DEFAULT_LIMIT
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page
from toolbus_runtime.http.sse import EventStreamResponse, Wanted, event_stream, last_event_id

router = APIRouter(tags=["log"])
OCTETS = "application/octet-stream"
UPLOAD = body_like({"type": "string", "format": "binary"}, kind=OCTETS, required=False)


class OctetsResponse(Response):
    """Bytes as they were stored."""

    media_type = OCTETS


Place = Annotated[int | None, Query(ge=0, lt=2**62, description="position behind which to begin")]


def _one_of(known: Collection[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """A filter that nothing can match is a slip of the pen: it is told, not answered with an empty list."""
    names = sorted(known)

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"there is no {name!r}; there are {', '.join(names)}")
        return name

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": names})


Categories = Annotated[list[Annotated[str, *_one_of(UNIONS.keys())]] | None, Query(max_length=MAX_VALUES)]
Kinds = Annotated[list[Annotated[str, *_one_of(event_types().keys())]] | None, Query(max_length=MAX_VALUES)]


@router.get("/v1/events", response_model=Page[EventView])
async def events(
    parts: Wired,
    who: Annotated[Caller, caller("audit")],
    after: Place = None,
    category: Categories = None,
    kind: Kinds = None,
    limit: Limit = DEFAULT_LIMIT,
) -> Response:
    """The tenant's events in position order; `next_cursor` is the `after` of the next page."""
    found = await parts.store.read(
        after=after or 0, limit=limit, tenant=who.tenant, categories=category or (), kinds=kind or ()
    )
    return JsonResponse(events_page(found, limit))


@router.get("/v1/events/stream", response_class=EventStreamResponse, openapi_extra=resumable())
async def stream(
    request: Request,
    parts: Wired,
    who: Annotated[Caller, caller("audit")],
    after: Place = None,
    category: Categories = None,
    kind: Kinds = None,
) -> Response:
    """Follow the tenant's events live (server-sent events), from now on unless a place is given."""
    place = last_event_id(request, after)
    if place is None:
        place = await parts.store.head()

    wanted = Wanted(who.tenant, categories=category or (), kinds=kind or ())
    return event_stream(parts.feed, parts.store, place, wanted, may_go_on=still_valid(parts, who))


@router.post(
    "/v1/payloads",
    status_code=201,
    response_model=PayloadAnswer,
    openapi_extra=UPLOAD,
)
async def put_payload(request: Request, parts: Wired, who: Annotated[Caller, caller("submit")]) -> Response:
    """Store a large value (JSON text) and get the reference that stands for it in arguments."""
    body = await read_bytes(request, MAX_PAYLOAD_BYTES)
    name = digest_bytes(body)
    await parts.store.put_payloads(who.tenant, {name: body})
    return JsonResponse({PAYLOAD_KEY: name, "bytes": len(body)}, status_code=201)


@router.get("/v1/payloads/{payload_digest}", response_class=OctetsResponse, responses=refusals(404))
async def get_payload(payload_digest: str, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """The bytes of a large value."""
    body = await parts.store.get_payload(who.tenant, payload_digest)
    if body is None:
        raise NotFound(f"there is no payload {payload_digest}")
    return OctetsResponse(
        body,
        headers={"X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"},
    )
