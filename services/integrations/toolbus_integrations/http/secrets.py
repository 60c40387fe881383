"""`/v1/secrets`: put away, listed by name, removed; no value is ever told."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from toolbus_contracts.errors import Fault, Unreadable
from toolbus_contracts.secrets import PutSecret, SecretName, SecretView
from toolbus_contracts.values import Json
from toolbus_integrations.http.services import Wired, caller
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["secrets"])
Admin = Annotated[Caller, caller("admin")]
Operator = Annotated[Caller, caller("operate")]


@router.put("/v1/secrets/{name}", response_model=SecretView, openapi_extra=body_of(PutSecret))
async def put(name: SecretName, request: Request, parts: Wired, who: Admin) -> Response:
    """Store a secret, or give it a new value, which is its next generation. It is never readable again."""
    body, _ = await read_object(request)
    return _told(await parts.secrets.put(who.tenant, name, _secret(body), datetime.now(UTC)))


@router.get("/v1/secrets", response_model=Page[SecretView])
async def list_secrets(
    parts: Wired,
    who: Operator,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List secrets by name: generation, and what each is bound to; never a value."""
    start = decode_cursor(cursor) or 0
    found = await parts.secrets.listed(who.tenant, offset=start, limit=limit + 1)
    items = [view.model_dump(mode="json") for view in found[:limit]]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(start + limit) if len(found) > limit else None})


@router.delete("/v1/secrets/{name}", response_model=SecretView, responses=refusals(404))
async def remove(name: SecretName, parts: Wired, who: Admin) -> Response:
    """Remove a secret at once; its generations are never given again."""
    return _told(await parts.secrets.remove(who.tenant, name, datetime.now(UTC)))


def _told(view: SecretView) -> Response:
    return JsonResponse(view.model_dump(mode="json"))


def _secret(body: dict[str, Json]) -> PutSecret:
    """
    The secret that a body holds.

    Raises:
        Unreadable: it does not fit; a field that nobody knows is not named, since it could be the secret.
    """
    unknown = body.keys() - PutSecret.model_fields.keys()
    if unknown:
        message = f"{len(unknown)} fields that do not exist; there are: {', '.join(PutSecret.model_fields)}"
        raise Unreadable("invalid_request", message, (Fault("", message),))
    return parsed(PutSecret, body)
