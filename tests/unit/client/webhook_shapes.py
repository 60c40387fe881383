"""Webhooks and deliveries, as the server tells of them."""

from typing import Any

from tests.unit.client.shapes import at


def webhook(**changes: Any) -> dict[str, Any]:
    """A webhook that sends."""
    return {
        "name": "crm",
        "url": "https://crm.example.com/hooks",
        "events": ["call.*", "wait.opened"],
        "status": "enabled",
        "disabled_reason": None,
        "disabled_at": None,
        "note": "",
        "secrets": [{"id": "secret_1", "scheme": "v1", "public_key": None, "since": at(0), "until": None}],
        "defined_at": at(0),
        **changes,
    }


def delivery(**changes: Any) -> dict[str, Any]:
    """A message that is to be tried again."""
    return {
        "id": "msg_" + "0a" * 16,
        "webhook": "crm",
        "type": "call.succeeded",
        "url": None,
        "position": 7,
        "status": "pending",
        "attempts": 1,
        "created_at": at(0),
        "next_at": at(5),
        "last_at": at(0),
        "last_status_code": 500,
        "last_error": "it answered 500",
        **changes,
    }
