"""Requests about the log, keys and the server itself."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict

from toolbus.client.exchange import Answer, Page, Request, dump, reading, reading_page
from toolbus.client.failures import UnexpectedAnswer
from toolbus.client.requests.parts import nothing, part, query_of, resume
from toolbus.client.views import EventView, Me, Readiness
from toolbus_contracts.keys import KeyView, NewKey
from toolbus_contracts.tools import Limits


class EventFilter(TypedDict, total=False):
    """Which events to read."""

    category: str
    kind: str


def list_events(asked: EventFilter, after: int = 0, limit: int | None = None) -> Request[Page[EventView]]:
    """GET /v1/events, oldest first."""
    query = query_of(after=after, limit=limit, category=asked.get("category"), kind=asked.get("kind"))
    return Request("GET", "/v1/events", reading_page(EventView), query)


def stream_events(asked: EventFilter, last_id: int | None) -> Request[None]:
    """GET /v1/events/stream."""
    query = query_of(category=asked.get("category"), kind=asked.get("kind"))
    return Request("GET", "/v1/events/stream", nothing, query, resume(last_id))


def create_key(
    subject: str,
    scopes: Iterable[str],
    *,
    roles: Iterable[str],
    tools: Iterable[str] | None,
    contexts: Iterable[str],
    expires_at: datetime | None,
    limits: Limits | None,
) -> Request[NewKey]:
    """POST /v1/keys; not repeatable, for each one makes another key."""
    body = {
        "subject": subject,
        "scopes": list(scopes),
        "roles": list(roles),
        "tools": None if tools is None else list(tools),
        "contexts": list(contexts),
        "expires_at": None if expires_at is None else expires_at.isoformat(),
        "limits": None if limits is None else limits.model_dump(mode="json", exclude_none=True),
    }
    return Request("POST", "/v1/keys", reading(NewKey), body=dump(body), is_repeatable=False)


def list_keys(limit: int | None = None, cursor: str | None = None) -> Request[Page[KeyView]]:
    """GET /v1/keys."""
    return Request("GET", "/v1/keys", reading_page(KeyView), query_of(limit=limit, cursor=cursor))


def revoke_key(key_id: str) -> Request[KeyView]:
    """DELETE /v1/keys/{id}."""
    return Request("DELETE", f"/v1/keys/{part(key_id)}", reading(KeyView))


def get_me() -> Request[Me]:
    """GET /v1/me."""
    return Request("GET", "/v1/me", reading(Me))


def get_version() -> Request[str]:
    """GET /v1/version."""

    def read(answer: Answer) -> str:
        found = answer.json()
        if not isinstance(found, dict) or "version" not in found:
            raise UnexpectedAnswer("the answer names no version")
        return str(found["version"])

    return Request("GET", "/v1/version", read)


def get_readiness() -> Request[Readiness]:
    """GET /readyz; 503 is an answer here, not a failure."""
    return Request("GET", "/readyz", reading(Readiness))
