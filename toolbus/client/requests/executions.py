"""Requests about executions."""

from collections.abc import Iterable, Mapping
from typing import TypedDict

from toolbus.client.exchange import Page, Request, dump, reading, reading_page
from toolbus.client.requests.parts import When, labelled, nothing, part, query_of, resume
from toolbus.client.views import EventView
from toolbus_contracts.executions import ExecutionView, Transition
from toolbus_contracts.values import Json


class ExecutionFilter(TypedDict, total=False):
    """Which executions to list."""

    status: str
    labels: Mapping[str, str]
    parent: str


def start_execution(
    labels: Mapping[str, str] | None, scopes: Iterable[str], parent: str | None, value: Json
) -> Request[ExecutionView]:
    """POST /v1/executions; not repeatable, for each one starts another."""
    body = {"labels": dict(labels or {}), "scopes": list(scopes), "parent": parent, "input": value}
    return Request("POST", "/v1/executions", reading(ExecutionView), body=dump(body), is_repeatable=False)


def get_execution(execution_id: str, at: When | int | None = None) -> Request[ExecutionView]:
    """GET /v1/executions/{id}, as it was at a time or position."""
    return Request("GET", _execution(execution_id), reading(ExecutionView), query_of(at=at))


def list_executions(
    asked: ExecutionFilter, limit: int | None = None, cursor: str | None = None
) -> Request[Page[ExecutionView]]:
    """GET /v1/executions."""
    query = query_of(limit=limit, cursor=cursor, status=asked.get("status"), parent=asked.get("parent"))
    return Request("GET", "/v1/executions", reading_page(ExecutionView), (*query, *labelled(asked.get("labels"))))


def finish_execution(execution_id: str, status: str = "succeeded", output: Json = None) -> Request[ExecutionView]:
    """POST /v1/executions/{id}/finish; finishing it the same way again adds nothing."""
    body = dump({"status": status, "output": output})
    return Request("POST", _execution(execution_id) + "/finish", reading(ExecutionView), body=body)


def cancel_execution(execution_id: str, reason: str = "") -> Request[ExecutionView]:
    """POST /v1/executions/{id}/cancel."""
    body = dump({"reason": reason} if reason else {})
    return Request("POST", _execution(execution_id) + "/cancel", reading(ExecutionView), body=body)


def list_transitions(execution_id: str, at: When | int | None = None) -> Request[Page[Transition]]:
    """GET /v1/executions/{id}/transitions."""
    return Request("GET", _execution(execution_id) + "/transitions", reading_page(Transition), query_of(at=at))


def list_execution_events(
    execution_id: str, after: int | None = None, limit: int | None = None
) -> Request[Page[EventView]]:
    """GET /v1/executions/{id}/events; `after` is a position."""
    query = query_of(after=after, limit=limit)
    return Request("GET", _execution(execution_id) + "/events", reading_page(EventView), query)


def stream_execution(execution_id: str, last_id: int | None) -> Request[None]:
    """GET /v1/executions/{id}/events/stream."""
    return Request("GET", _execution(execution_id) + "/events/stream", nothing, (), resume(last_id))


def _execution(execution_id: str) -> str:
    return f"/v1/executions/{part(execution_id)}"
