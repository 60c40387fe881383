"""Requests about tools."""

from collections.abc import Mapping

from toolbus.client.exchange import Answer, Page, Request, dump, parse, reading, reading_page
from toolbus.client.failures import UnexpectedAnswer
from toolbus.client.requests.parts import part, query_of
from toolbus.client.views import AppliedTool
from toolbus_contracts.tools import ToolDefinition, ToolView
from toolbus_contracts.values import Json

CREATED = 201


def apply_tool(
    definition: ToolDefinition | Mapping[str, Json], scope: str | None = None, expected_version: int | None = None
) -> Request[AppliedTool]:
    """PUT /v1/tools/{name}; `expected_version` becomes If-Match, and then repeating could find our own change."""
    if isinstance(definition, ToolDefinition):
        definition = definition.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def read(answer: Answer) -> AppliedTool:
        found = answer.json()
        if not isinstance(found, dict):
            raise UnexpectedAnswer("the answer is no ToolView")
        is_first = found.get("version") == 1
        outcome = ("created" if is_first else "updated") if answer.status == CREATED else "unchanged"
        return parse(AppliedTool, {**found, "outcome": outcome})

    headers = {} if expected_version is None else {"if-match": f'"{expected_version}"'}
    path = f"/v1/tools/{part(str(definition.get('name', '')))}"
    return Request("PUT", path, read, query_of(scope=scope), headers, dump(definition), is_repeatable=not headers)


def list_tools(
    scope: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[Page[ToolView]]:
    """GET /v1/tools."""
    return Request("GET", "/v1/tools", reading_page(ToolView), query_of(scope=scope, limit=limit, cursor=cursor))


def list_formatted(
    shape: str, scope: str | None = None, limit: int | None = None, context: Mapping[str, str] | None = None
) -> Request[Page[Json]]:
    """GET /v1/tools?format=, in the shape that a model's API wants that calls in this context."""

    def read(answer: Answer) -> Page[Json]:
        found = answer.json()
        if not isinstance(found, dict) or not isinstance(found.get("items"), list):
            raise UnexpectedAnswer("the answer is no list: it has no items")
        return Page(tuple(found["items"]), found.get("next_cursor"))

    return Request("GET", "/v1/tools", read, query_of(format=shape, scope=scope, limit=limit, **context or {}))


def get_tool(name: str, scope: str | None = None) -> Request[ToolView]:
    """GET /v1/tools/{name}, or of `name@version` GET /v1/tools/{name}/versions/{n}."""
    name, _, version = name.partition("@")
    path = f"/v1/tools/{part(name)}" + (f"/versions/{part(version)}" if version else "")
    return Request("GET", path, reading(ToolView), query_of(scope=scope))


def list_versions(name: str, scope: str | None = None) -> Request[Page[ToolView]]:
    """GET /v1/tools/{name}/versions."""
    return Request("GET", f"/v1/tools/{part(name)}/versions", reading_page(ToolView), query_of(scope=scope))


def retire_tool(name: str, scope: str | None = None) -> Request[ToolView]:
    """DELETE /v1/tools/{name}; not repeatable, for a second time there is no such tool."""
    path = f"/v1/tools/{part(name)}"
    return Request("DELETE", path, reading(ToolView), query_of(scope=scope), is_repeatable=False)
