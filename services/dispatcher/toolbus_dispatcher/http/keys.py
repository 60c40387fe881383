"""`/v1/keys` and `/v1/me`: who may do what."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import NotFound
from toolbus_contracts.keys import CreateKey, Key, KeyView, NewKey
from toolbus_dispatcher.aggregates import KEY
from toolbus_dispatcher.http.services import Wired, caller
from toolbus_dispatcher.http.shapes import Me
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["keys"])


def view(key: Key) -> KeyView:
    """A key without its secret."""
    return KeyView(
        id=key.key_id,
        tenant=key.tenant,
        subject=key.subject,
        roles=key.roles,
        scopes=key.scopes,
        tools=key.tools,
        contexts=key.contexts,
        created_at=key.created_at,
        expires_at=key.expires_at,
        limits=key.limits,
        revoked_at=key.revoked_at,
    )


@router.post("/v1/keys", status_code=201, response_model=NewKey, openapi_extra=body_of(CreateKey))
async def create(request: Request, parts: Wired, who: Annotated[Caller, caller("admin")]) -> Response:
    """Create a key; its token is shown this once."""
    body, _ = await read_object(request)
    key, token = await parts.resources.create_key(parsed(CreateKey, body), tenant=who.tenant, actor=who.actor)
    shown: dict[str, Any] = {**view(key).model_dump(mode="json"), "token": token.text()}
    return JsonResponse(shown, status_code=201)


@router.get("/v1/keys", response_model=Page[KeyView])
async def list_keys(
    parts: Wired,
    who: Annotated[Caller, caller("admin")],
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List keys, newest first, never their secrets."""
    rows = await parts.queries.keys(who.tenant, before=decode_cursor(cursor), limit=limit)
    streams = [stream_name(who.tenant, KEY, key_id) for key_id, _ in rows]
    states = await parts.batcher.states.read_many(streams)
    items = [view(states[stream]).model_dump(mode="json") for stream in streams]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(rows[-1][1]) if len(rows) == limit else None})


@router.get("/v1/keys/{key_id}", response_model=KeyView, responses=refusals(404))
async def get(key_id: str, parts: Wired, who: Annotated[Caller, caller("admin")]) -> Response:
    """Read one key."""
    key = await parts.resources.key(who.tenant, key_id)
    if key is None:
        raise NotFound(f"there is no key {key_id}")
    return JsonResponse(view(key).model_dump(mode="json"))


@router.delete("/v1/keys/{key_id}", response_model=KeyView, responses=refusals(404))
async def revoke(key_id: str, parts: Wired, who: Annotated[Caller, caller("admin")]) -> Response:
    """End a key at once."""
    key = await parts.resources.revoke_key(key_id, tenant=who.tenant, actor=who.actor)
    return JsonResponse(view(key).model_dump(mode="json"))


@router.get("/v1/me", response_model=Me)
async def me(who: Annotated[Caller, caller(None)]) -> Response:
    """What this key is and may do."""
    key = who.key
    return JsonResponse(
        {
            "tenant": key.tenant,
            "subject": key.subject,
            "roles": list(key.roles),
            "scopes": list(key.scopes),
            "key_id": key.key_id,
        }
    )
