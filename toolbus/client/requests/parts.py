"""The parts that requests are made of."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias
from urllib.parse import quote

from toolbus.client.exchange import Answer
from toolbus.client.failures import ClientError

When: TypeAlias = datetime | str
MAX_WAIT_S = 60.0  # Source: API.md, POST /v1/calls


def nothing(_answer: Answer) -> None:
    """Read nothing; that the answer is no error is all there is to know."""


def part(text: str) -> str:
    """
    One part of a path; whatever an id holds, it cannot lead to another endpoint.

    Raises:
        ClientError: it is empty, or a step up the path.
    """
    if not text.strip("."):
        raise ClientError("invalid_request", f"{text!r} is no id or name", (), "Give the whole id or name.")
    return quote(text, safe="@:")


def waiting(wait_s: float) -> tuple[tuple[str, str], ...]:
    """Ask the server to hold its answer for at most so many seconds."""
    return (("wait_s", f"{min(wait_s, MAX_WAIT_S):g}"),) if wait_s > 0 else ()


def resume(last_id: int | None) -> dict[str, str]:
    """Headers of a stream that goes on after a position."""
    return {"accept": "text/event-stream", **({} if last_id is None else {"last-event-id": str(last_id)})}


def labelled(labels: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Filter by labels, all of which must match."""
    return tuple(("label", f"{name}:{value}") for name, value in (labels or {}).items())


def query_of(**values: When | int | None) -> tuple[tuple[str, str], ...]:
    """Query parameters of what was given."""
    return tuple(
        (name, value.isoformat() if isinstance(value, datetime) else str(value))
        for name, value in values.items()
        if value is not None
    )
