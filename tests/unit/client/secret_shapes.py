"""Secrets, as the server tells of them."""

from typing import Any

from tests.unit.client.shapes import at


def secret(**changes: Any) -> dict[str, Any]:
    """A secret without its value."""
    return {
        "name": "pay",
        "generation": 1,
        "hosts": ["api.example.com"],
        "tools": ["refund"],
        "stored_at": at(0),
        **changes,
    }
