"""`/v1/webhooks`: where other systems hear of events, what was sent there, and sending it again."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BeforeValidator

from toolbus_approvals.http.services import Wired, caller
from toolbus_approvals.webhooks import Put
from toolbus_contracts.errors import Conflict, Fault, NotFound, Unreadable
from toolbus_contracts.values import refuse_number
from toolbus_contracts.webhooks import (
    DeliveryStatus,
    DeliveryView,
    NewWebhookView,
    PutWebhook,
    Resent,
    RotateWebhook,
    Webhook,
    WebhookName,
    WebhookView,
    view_webhook,
)
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["webhooks"])
Admin = Annotated[Caller, caller("admin")]
Since = Annotated[datetime, BeforeValidator(refuse_number), Query(description="RFC 3339; UTC without a zone")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]


def shown(webhook: Webhook) -> dict[str, Any]:
    """A webhook, without the value of its secrets."""
    return view_webhook(webhook, datetime.now(UTC)).model_dump(mode="json")


def answered(put: Put) -> Response:
    """A webhook, with the secret that was made for it: this once."""
    return JsonResponse({**shown(put.webhook), "secret": put.secret}, status_code=201 if put.is_new else 200)


@router.put(
    "/v1/webhooks/{name}",
    response_model=NewWebhookView,
    responses={201: {"model": NewWebhookView, "description": "It is new"}, **refusals(409)},
    openapi_extra=body_of(PutWebhook),
)
async def put(name: WebhookName, request: Request, parts: Wired, who: Admin) -> Response:
    """Send events that match to a url from now on. A secret that was made for it is shown this once."""
    body, _ = await read_object(request)
    return answered(await parts.webhooks.put(who.tenant, name, parsed(PutWebhook, body), who.actor))


@router.post(
    "/v1/webhooks/{name}/rotate",
    response_model=NewWebhookView,
    responses=refusals(404),
    openapi_extra=body_of(RotateWebhook, required=False),
)
async def rotate(name: WebhookName, request: Request, parts: Wired, who: Admin) -> Response:
    """Sign with another secret; the former one signs beside it for a day. One that was made is shown this once."""
    body, _ = await read_object(request)
    command = parsed(RotateWebhook, body)
    return answered(await parts.webhooks.rotate(who.tenant, name, command.secret, who.actor))


@router.get("/v1/webhooks", response_model=Page[WebhookView])
async def list_webhooks(parts: Wired, who: Admin, limit: Limit = DEFAULT_LIMIT, cursor: str | None = None) -> Response:
    """List webhooks by name."""
    start = decode_cursor(cursor) or 0
    found = await parts.webhooks.all(who.tenant)
    behind = encode_cursor(start + limit) if start + limit < len(found) else None
    return JsonResponse({"items": [shown(one) for one in found[start : start + limit]], "next_cursor": behind})


@router.get("/v1/webhooks/{name}", response_model=WebhookView, responses=refusals(404))
async def get(name: WebhookName, parts: Wired, who: Admin) -> Response:
    """Read one webhook."""
    return JsonResponse(shown(await parts.webhooks.get(who.tenant, name)))


@router.delete("/v1/webhooks/{name}", response_model=WebhookView, responses=refusals(404))
async def remove(name: WebhookName, parts: Wired, who: Admin) -> Response:
    """Send nothing there any more; its secrets sign nothing."""
    return JsonResponse(shown(await parts.webhooks.remove(who.tenant, name, who.actor)))


@router.post("/v1/webhooks/{name}/enable", response_model=WebhookView, responses=refusals(404))
async def enable(name: WebhookName, parts: Wired, who: Admin) -> Response:
    """Send again; what was held meanwhile goes out when it is resent."""
    return JsonResponse(shown(await parts.webhooks.enable(who.tenant, name, who.actor)))


@router.get("/v1/webhooks/{name}/deliveries", response_model=Page[DeliveryView], responses=refusals(404))
async def list_deliveries(
    name: WebhookName,
    parts: Wired,
    who: Admin,
    status: DeliveryStatus | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List what was sent there and what came of it, newest first; kept for 30 days."""
    before = decode_cursor(cursor)
    found = await parts.deliveries.listed(who.tenant, name, status=status, before=before, limit=limit)
    if not found and before is None:
        await parts.webhooks.get(who.tenant, name)  # nothing was sent, or there is none such
    items = [view.model_dump(mode="json") for view, _ in found]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(found[-1][1]) if len(found) == limit else None})


@router.post(
    "/v1/webhooks/{name}/deliveries/{delivery_id}/resend", response_model=DeliveryView, responses=refusals(404, 409)
)
async def resend(name: WebhookName, delivery_id: str, parts: Wired, who: Admin) -> Response:
    """Send a message once more, at once and under the same id."""
    _must_send(await parts.webhooks.get(who.tenant, name))
    if not await parts.deliveries.resend(who.tenant, name, delivery_id, datetime.now(UTC)):
        raise NotFound(f"there is no delivery {delivery_id} of webhook {name}")
    parts.outgoing.wake()
    found = await parts.deliveries.get(who.tenant, name, delivery_id)
    if found is None:
        raise NotFound(f"there is no delivery {delivery_id} of webhook {name}")
    return JsonResponse(found.model_dump(mode="json"))


@router.post("/v1/webhooks/{name}/resend", response_model=Resent, responses=refusals(404, 409))
async def resend_since(
    name: WebhookName,
    since: Since,
    parts: Wired,
    who: Admin,
    status: DeliveryStatus | None = None,
) -> Response:
    """Send everything once more that came up since then, or only what has this status; each under the same id."""
    _must_send(await parts.webhooks.get(who.tenant, name))
    now = datetime.now(UTC)
    count = await parts.deliveries.resend_since(who.tenant, name, _aware(since), status=status, now=now)
    parts.outgoing.wake()
    return JsonResponse({"deliveries": count})


def _aware(moment: datetime) -> datetime:
    """A time, in UTC when it says no zone. Raises: Unreadable."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        message = "this time is outside the calendar"
        raise Unreadable("invalid_request", message, (Fault("/query/since", message),)) from error


def _must_send(webhook: Webhook) -> None:
    if webhook.disabled is not None:
        raise Conflict("webhook_disabled", f"webhook {webhook.name} is disabled ({webhook.disabled.reason})")
