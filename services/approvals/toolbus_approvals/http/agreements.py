"""`/v1/grants`, `/v1/delegations`: agree beforehand to calls of a tool, or let somebody decide in one's place."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from toolbus_approvals.http.services import Wired, caller, spoken
from toolbus_contracts.waits import (
    Delegation,
    DelegationView,
    GiveDelegation,
    GiveGrant,
    Grant,
    GrantView,
    view_delegation,
    view_grant,
)
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

grants = APIRouter(tags=["grants"])
delegations = APIRouter(tags=["delegations"])
Reader = Annotated[Caller, caller("read")]
Approver = Annotated[Caller, caller("approve")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]


def shown(given: Grant | Delegation) -> dict[str, Any]:
    """An agreement as it counts now."""
    view = view_grant(given, datetime.now(UTC)) if isinstance(given, Grant) else view_delegation(given)
    return view.model_dump(mode="json", by_alias=True)


def _page(found: Iterable[Grant | Delegation], behind: int | None) -> Response:
    items = [shown(given) for given in found]
    return JsonResponse({"items": items, "next_cursor": None if behind is None else encode_cursor(behind)})


@grants.post("/v1/grants", name="give", status_code=201, response_model=GrantView, openapi_extra=body_of(GiveGrant))
async def give_grant(request: Request, parts: Wired, who: Approver) -> Response:
    """Agree to the next calls of a tool: so many, until then, while a condition holds."""
    body, _ = await read_object(request)
    given = await parts.desk.grants.give(who.tenant, parsed(GiveGrant, body), spoken(who))
    return JsonResponse(shown(given), status_code=201)


@grants.get("/v1/grants", response_model=Page[GrantView])
async def list_grants(
    parts: Wired, who: Reader, tool: str | None = None, limit: Limit = DEFAULT_LIMIT, cursor: str | None = None
) -> Response:
    """List grants, newest first."""
    before = decode_cursor(cursor)
    return _page(*await parts.desk.grants.list(who.tenant, tool=tool, before=before, limit=limit))


@grants.get("/v1/grants/{grant_id}", name="get", response_model=GrantView, responses=refusals(404))
async def get_grant(grant_id: str, parts: Wired, who: Reader) -> Response:
    """Read one grant."""
    return JsonResponse(shown(await parts.desk.grants.get(who.tenant, grant_id)))


@grants.delete("/v1/grants/{grant_id}", name="revoke", response_model=GrantView, responses=refusals(404))
async def revoke_grant(grant_id: str, parts: Wired, who: Approver) -> Response:
    """End a grant at once; its giver or an admin may."""
    is_admin = "admin" in who.key.scopes
    return JsonResponse(shown(await parts.desk.grants.revoke(who.tenant, grant_id, spoken(who), is_admin=is_admin)))


@delegations.post(
    "/v1/delegations",
    name="give",
    status_code=201,
    response_model=DelegationView,
    openapi_extra=body_of(GiveDelegation),
)
async def give_delegation(request: Request, parts: Wired, who: Approver) -> Response:
    """Let somebody else decide in one's place, in every wait, until then."""
    body, _ = await read_object(request)
    given = await parts.desk.delegations.give(who.tenant, parsed(GiveDelegation, body), spoken(who))
    return JsonResponse(shown(given), status_code=201)


@delegations.get("/v1/delegations", response_model=Page[DelegationView])
async def list_delegations(
    parts: Wired, who: Reader, limit: Limit = DEFAULT_LIMIT, cursor: str | None = None
) -> Response:
    """List delegations, newest first."""
    return _page(*await parts.desk.delegations.list(who.tenant, before=decode_cursor(cursor), limit=limit))


@delegations.get("/v1/delegations/{delegation_id}", name="get", response_model=DelegationView, responses=refusals(404))
async def get_delegation(delegation_id: str, parts: Wired, who: Reader) -> Response:
    """Read one delegation."""
    return JsonResponse(shown(await parts.desk.delegations.get(who.tenant, delegation_id)))


@delegations.delete(
    "/v1/delegations/{delegation_id}", name="revoke", response_model=DelegationView, responses=refusals(404)
)
async def revoke_delegation(delegation_id: str, parts: Wired, who: Approver) -> Response:
    """End a delegation at once; its giver or an admin may."""
    is_admin = "admin" in who.key.scopes
    revoked = await parts.desk.delegations.revoke(who.tenant, delegation_id, spoken(who), is_admin=is_admin)
    return JsonResponse(shown(revoked))
