"""
What webhooks send: the bytes of a message, which are the same whenever it is tried.

Source: Standard Webhooks 1.0.0, "Payload structure": `type`, `timestamp`, `data`.
"""

import hashlib
from datetime import datetime
from typing import NamedTuple

from toolbus_approvals.core.webhooks import SENT_CATEGORIES, short_kind
from toolbus_contracts.envelope import StoredEvent, time_text
from toolbus_contracts.values import Json, compact
from toolbus_contracts.waits import Wait, WaitOpened
from toolbus_contracts.webhooks import Webhook

FUNCTION_CALL = "function.call"
SECRET_PREFIX = "secret://"  # noqa: S105 - how a secret is named, and none itself


class NewDelivery(NamedTuple):
    """One message to one webhook. `lane`: what waits for the same receiver; `url` only where it has its own."""

    id: str
    tenant: str
    webhook: str
    lane: str
    type: str
    position: int
    url: str | None
    at: datetime


def message_id(tenant: str, webhook: str, event_id: str) -> str:
    r"""
    The id of an event's message to a webhook: the same on every attempt, and when it is sent again.

    `msg_` + the first 32 hex digits of SHA-256 over `webhook\n<tenant>\n<name>\n<event id>`.
    """
    return "msg_" + hashlib.sha256(f"webhook\n{tenant}\n{webhook}\n{event_id}".encode()).hexdigest()[:32]


def lane_of(tenant: str, receiver: str) -> str:
    """What waits for the same receiver: messages of a webhook by its name, those to functions by their origin."""
    return f"{tenant}/{receiver}"


def is_sent(event: StoredEvent) -> bool:
    """Whether webhooks may be told of this event at all."""
    return event.category in SENT_CATEGORIES


def message_for(event: StoredEvent, webhook: Webhook) -> NewDelivery | None:
    """The message that tells a webhook of an event; none when it does not want to know."""
    kind = short_kind(event.kind)
    if not webhook.wants(kind):
        return None
    return NewDelivery(
        id=message_id(event.tenant, webhook.name, event.id),
        tenant=event.tenant,
        webhook=webhook.name,
        lane=lane_of(event.tenant, webhook.name),
        type=kind,
        position=event.position,
        url=None,
        at=event.recorded_at,
    )


def message_to_function(opened: WaitOpened, event: StoredEvent) -> NewDelivery | None:
    """The message that asks a client's function; none when its wait has no webhook."""
    if opened.wait_kind != "function" or opened.webhook is None:
        return None
    origin = "/".join(opened.webhook.url.split("/", 3)[:3])
    return NewDelivery(
        id=opened.wait_id,
        tenant=event.tenant,
        webhook=opened.webhook.secret.removeprefix(SECRET_PREFIX),
        lane=lane_of(event.tenant, f"{FUNCTION_CALL}/{origin}"),
        type=FUNCTION_CALL,
        position=event.position,
        url=opened.webhook.url,
        at=event.recorded_at,
    )


def event_body(event: StoredEvent) -> bytes:
    """The message of an event: the event itself, word for word as it was stored, in `data`."""
    head = compact(
        {
            "type": short_kind(event.kind),
            "timestamp": time_text(event.recorded_at),
            "id": event.id,
            "position": event.position,
        }
    )
    return f'{head[:-1]},"data":{event.data}}}'.encode()


def function_body(wait: Wait, *, arguments: Json, token: str) -> bytes:
    """The message that asks a client's function; `token` completes this call and nothing else."""
    return compact(
        {
            "type": FUNCTION_CALL,
            "timestamp": time_text(wait.opened_at),
            "data": {
                "call_id": wait.call_id,
                "wait_id": wait.id,
                "tool": wait.tool,
                "arguments": arguments,
                "token": token,
                "expires_at": None if wait.expires_at is None else time_text(wait.expires_at),
            },
        }
    ).encode()
