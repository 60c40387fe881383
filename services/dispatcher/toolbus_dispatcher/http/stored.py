"""`/v1/stored`: setup and arguments that calls need not bring."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import NotAllowed
from toolbus_contracts.stored import (
    Level,
    LevelId,
    Stored,
    StoredValues,
    StoredView,
    stored_stream_id,
)
from toolbus_contracts.tools import ToolName
from toolbus_dispatcher.aggregates import STORED
from toolbus_dispatcher.core.storing import Place
from toolbus_dispatcher.http.services import Wired, caller
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["stored"])
Operator = Annotated[Caller, caller("operate")]
ID = "whose values they are; `all` at the level tenant"
PATH = "/v1/stored/{level}/{level_id}/{tool}"
LevelOf = Annotated[Level, Path()]
IdOf = Annotated[LevelId, Path(description=ID)]
ToolOf = Annotated[ToolName, Path()]


def shown(place: Place, values: StoredValues) -> dict[str, object]:
    """What is stored at a place, as JSON."""
    return StoredView(**place._asdict(), setup=values.setup, arguments=values.arguments).model_dump(mode="json")


@router.put(
    PATH,
    response_model=StoredView,
    responses={201: {"model": StoredView, "description": "Something else was stored there before, or nothing"}},
    openapi_extra=body_of(StoredValues),
)
async def put(
    *, level: LevelOf, level_id: IdOf, tool: ToolOf, request: Request, parts: Wired, who: Operator
) -> Response:
    """Store setup and arguments for a tool, in place of those before; 200 when they were stored already."""
    # What is absent is a mistake: everything stored would be gone.
    body, _ = await read_object(request, is_required=True)
    place, values = Place(level, level_id, tool), parsed(StoredValues, body)
    if values.setup and "admin" not in who.key.scopes:
        # It goes over the definition's, which may name secrets: `base_url` and its like say where they are sent.
        raise NotAllowed("setup says where secrets are sent: storing it needs the scope admin, arguments need operate")
    decided = await parts.storing.put(values, place, tenant=who.tenant, actor=who.actor)
    return JsonResponse(shown(place, values), status_code=201 if decided.events else 200)


@router.get("/v1/stored", response_model=Page[StoredView])
async def list_stored(
    *,
    parts: Wired,
    who: Operator,
    level: Annotated[Level | None, Query()] = None,
    tool: Annotated[ToolName | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List what is stored, the newest first."""
    rows = await parts.queries.stored(who.tenant, level=level, tool=tool, before=decode_cursor(cursor), limit=limit)
    streams = [stream_name(who.tenant, STORED, stored_stream_id(*place)) for place, _ in rows]
    states: dict[str, Stored | None] = await parts.batcher.states.read_many(streams)
    found = [(place, states[stream]) for (place, _), stream in zip(rows, streams, strict=True)]
    items = [shown(place, one.values) for place, one in found if one is not None and one.values is not None]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(rows[-1][1]) if len(rows) == limit else None})


@router.get(PATH, response_model=StoredView, responses=refusals(404))
async def get(*, level: LevelOf, level_id: IdOf, tool: ToolOf, parts: Wired, who: Operator) -> Response:
    """Read what is stored for a tool at one level; secrets are references."""
    place = Place(level, level_id, tool)
    return JsonResponse(shown(place, await parts.storing.get(who.tenant, place)))


@router.delete(PATH, response_model=StoredView, responses=refusals(404))
async def remove(*, level: LevelOf, level_id: IdOf, tool: ToolOf, parts: Wired, who: Operator) -> Response:
    """Store nothing there any more; the answer is what was."""
    place = Place(level, level_id, tool)
    return JsonResponse(shown(place, await parts.storing.remove(place, tenant=who.tenant, actor=who.actor)))
