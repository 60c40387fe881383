"""Requests about webhooks."""

from collections.abc import Iterable
from datetime import datetime

from toolbus.client.exchange import Page, Request, dump, reading, reading_page
from toolbus.client.requests.parts import part, query_of
from toolbus_contracts.webhooks import DeliveryStatus, DeliveryView, NewWebhookView, Resent, WebhookView


def put_webhook(name: str, url: str, events: Iterable[str], secret: str | None = None) -> Request[NewWebhookView]:
    """PUT /v1/webhooks/{name}; not repeatable, for a secret that is made is shown only by the first answer."""
    body = {"url": url, "events": list(events), **({} if secret is None else {"secret": secret})}
    path = f"/v1/webhooks/{part(name)}"
    return Request("PUT", path, reading(NewWebhookView), body=dump(body), is_repeatable=secret is not None)


def rotate_webhook(name: str, secret: str | None = None) -> Request[NewWebhookView]:
    """POST /v1/webhooks/{name}/rotate; not repeatable, for each one is another secret."""
    body = {} if secret is None else {"secret": secret}
    path = f"/v1/webhooks/{part(name)}/rotate"
    return Request("POST", path, reading(NewWebhookView), body=dump(body), is_repeatable=False)


def list_webhooks(limit: int | None = None, cursor: str | None = None) -> Request[Page[WebhookView]]:
    """GET /v1/webhooks."""
    return Request("GET", "/v1/webhooks", reading_page(WebhookView), query_of(limit=limit, cursor=cursor))


def get_webhook(name: str) -> Request[WebhookView]:
    """GET /v1/webhooks/{name}."""
    return Request("GET", f"/v1/webhooks/{part(name)}", reading(WebhookView))


def remove_webhook(name: str) -> Request[WebhookView]:
    """DELETE /v1/webhooks/{name}; not repeatable, for a second time there is no such webhook."""
    return Request("DELETE", f"/v1/webhooks/{part(name)}", reading(WebhookView), is_repeatable=False)


def enable_webhook(name: str) -> Request[WebhookView]:
    """POST /v1/webhooks/{name}/enable."""
    return Request("POST", f"/v1/webhooks/{part(name)}/enable", reading(WebhookView))


def list_deliveries(
    name: str, status: DeliveryStatus | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[Page[DeliveryView]]:
    """GET /v1/webhooks/{name}/deliveries."""
    query = query_of(status=status, limit=limit, cursor=cursor)
    return Request("GET", f"/v1/webhooks/{part(name)}/deliveries", reading_page(DeliveryView), query)


def resend_delivery(name: str, delivery_id: str) -> Request[DeliveryView]:
    """POST /v1/webhooks/{name}/deliveries/{id}/resend; not repeatable, for each one sends once more."""
    path = f"/v1/webhooks/{part(name)}/deliveries/{part(delivery_id)}/resend"
    return Request("POST", path, reading(DeliveryView), is_repeatable=False)


def resend_since(name: str, since: datetime, status: DeliveryStatus | None = None) -> Request[Resent]:
    """POST /v1/webhooks/{name}/resend; not repeatable, for each one sends once more."""
    query = query_of(since=since, status=status)
    return Request("POST", f"/v1/webhooks/{part(name)}/resend", reading(Resent), query, is_repeatable=False)
