"""Waits, grants and delegations as the server shows them."""

from typing import Any

from tests.unit.client.shapes import CALL, EXECUTION, HASH, WAIT, at


def wait_detail(**changes: Any) -> dict[str, Any]:
    """An approval that is open."""
    return {
        "id": WAIT,
        "call_id": CALL,
        "kind": "approval",
        "status": "open",
        "outcome": None,
        "execution_id": EXECUTION,
        "tool": "refund",
        "tool_version": 1,
        "definition_hash": HASH,
        "contract": {"effect": "dangerous", "idempotency": "none", "is_asserted": True, "provenance": "definition"},
        "arguments": {"charge": "c1"},
        "proposed": {"charge": "c1"},
        "digest": HASH,
        "requester": {"subject": "service:crm", "via": "http", "on_behalf_of": "user:eve"},
        "labels": {},
        "approval": {"approvers": ["role:finance"], "quorum": 2},
        "ask_user": None,
        "attempt": 0,
        "error": None,
        "edits": [],
        "decisions": [],
        "may_decide": ["role:finance"],
        "late": 0,
        "opened_at": at(0),
        "expires_at": at(86400),
        "closed_at": None,
        "note": "",
        **changes,
    }


def grant(**changes: Any) -> dict[str, Any]:
    """A standing grant."""
    return {
        "id": "grant_1",
        "tool": "refund",
        "uses": 3,
        "left": 2,
        "until": at(86400),
        "while": "call.arguments.amount < 100",
        "subject": "user:ana",
        "note": "",
        "given_at": at(0),
        "revoked_at": None,
        **changes,
    }


def delegation(**changes: Any) -> dict[str, Any]:
    """A delegation."""
    return {
        "id": "dele_1",
        "subject": "user:ana",
        "to": "user:ben",
        "until": at(86400),
        "note": "",
        "given_at": at(0),
        "revoked_at": None,
        **changes,
    }
