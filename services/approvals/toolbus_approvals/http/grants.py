"""`/v1/grants`: agree beforehand to the next calls of a tool."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from toolbus_approvals.http.services import Wired, caller, spoken
from toolbus_contracts.waits import GiveGrant, Grant, GrantView, view_grant
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["grants"])


def shown(grant: Grant) -> dict[str, Any]:
    """A grant as it counts now."""
    return view_grant(grant, datetime.now(UTC)).model_dump(mode="json", by_alias=True)


@router.post("/v1/grants", status_code=201, response_model=GrantView, openapi_extra=body_of(GiveGrant))
async def give(request: Request, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """Agree to the next calls of a tool: so many, until then, while a condition holds."""
    body, _ = await read_object(request)
    grant = await parts.desk.give_grant(who.tenant, parsed(GiveGrant, body), spoken(who))
    return JsonResponse(shown(grant), status_code=201)


@router.get("/v1/grants", response_model=Page[GrantView])
async def list_grants(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    tool: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List grants, newest first."""
    found, behind = await parts.desk.list_grants(who.tenant, tool=tool, before=decode_cursor(cursor), limit=limit)
    items = [shown(grant) for grant in found]
    return JsonResponse({"items": items, "next_cursor": None if behind is None else encode_cursor(behind)})


@router.get("/v1/grants/{grant_id}", response_model=GrantView, responses=refusals(404))
async def get(grant_id: str, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """Read one grant."""
    return JsonResponse(shown(await parts.desk.grant(who.tenant, grant_id)))


@router.delete("/v1/grants/{grant_id}", response_model=GrantView, responses=refusals(404))
async def revoke(grant_id: str, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """End a grant at once; its giver or an admin may."""
    is_admin = "admin" in who.key.scopes
    return JsonResponse(shown(await parts.desk.revoke_grant(who.tenant, grant_id, spoken(who), is_admin=is_admin)))
