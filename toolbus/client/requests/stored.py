"""Requests about stored values."""

from collections.abc import Mapping

from toolbus.client.exchange import Page, Request, dump, reading, reading_page
from toolbus.client.requests.parts import part, query_of
from toolbus_contracts.stored import Level, StoredView
from toolbus_contracts.values import Json

Values = Mapping[str, Json]


def place(level: str, level_id: str, tool: str) -> str:
    """The path of what is stored for a tool at a level."""
    return f"/v1/stored/{part(level)}/{part(level_id)}/{part(tool)}"


def put_stored(
    tool: str, level: Level, level_id: str, *, setup: Values | None = None, arguments: Values | None = None
) -> Request[StoredView]:
    """PUT /v1/stored/{level}/{level_id}/{tool}."""
    body = {"setup": dict(setup or {}), "arguments": dict(arguments or {})}
    return Request("PUT", place(level, level_id, tool), reading(StoredView), body=dump(body))


def get_stored(tool: str, level: Level, level_id: str) -> Request[StoredView]:
    """GET /v1/stored/{level}/{level_id}/{tool}."""
    return Request("GET", place(level, level_id, tool), reading(StoredView))


def list_stored(
    level: Level | None = None, tool: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[Page[StoredView]]:
    """GET /v1/stored."""
    query = query_of(level=level, tool=tool, limit=limit, cursor=cursor)
    return Request("GET", "/v1/stored", reading_page(StoredView), query)


def remove_stored(tool: str, level: Level, level_id: str) -> Request[StoredView]:
    """DELETE /v1/stored/{level}/{level_id}/{tool}; not repeatable, for a second time nothing is stored there."""
    return Request("DELETE", place(level, level_id, tool), reading(StoredView), is_repeatable=False)
