"""`/v1/delegations`: let somebody else decide in one's place."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from toolbus_approvals.http.services import Wired, caller, spoken
from toolbus_contracts.waits import Delegation, DelegationView, GiveDelegation, view_delegation
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["delegations"])


def shown(delegation: Delegation) -> dict[str, Any]:
    """A delegation."""
    return view_delegation(delegation).model_dump(mode="json")


@router.post("/v1/delegations", status_code=201, response_model=DelegationView, openapi_extra=body_of(GiveDelegation))
async def give(request: Request, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """Let somebody else decide in one's place, in every wait, until then."""
    body, _ = await read_object(request)
    delegation = await parts.desk.give_delegation(who.tenant, parsed(GiveDelegation, body), spoken(who))
    return JsonResponse(shown(delegation), status_code=201)


@router.get("/v1/delegations", response_model=Page[DelegationView])
async def list_delegations(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List delegations, newest first."""
    found, behind = await parts.desk.list_delegations(who.tenant, before=decode_cursor(cursor), limit=limit)
    items = [shown(delegation) for delegation in found]
    return JsonResponse({"items": items, "next_cursor": None if behind is None else encode_cursor(behind)})


@router.get("/v1/delegations/{delegation_id}", response_model=DelegationView, responses=refusals(404))
async def get(delegation_id: str, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """Read one delegation."""
    return JsonResponse(shown(await parts.desk.delegation(who.tenant, delegation_id)))


@router.delete("/v1/delegations/{delegation_id}", response_model=DelegationView, responses=refusals(404))
async def revoke(delegation_id: str, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """End a delegation at once; its giver or an admin may."""
    is_admin = "admin" in who.key.scopes
    revoked = await parts.desk.revoke_delegation(who.tenant, delegation_id, spoken(who), is_admin=is_admin)
    return JsonResponse(shown(revoked))
