"""Requests about MCP servers."""

from collections.abc import Mapping

from toolbus.client.exchange import Page, Request, dump, reading, reading_page
from toolbus.client.requests.parts import part, query_of
from toolbus_contracts.mcp import McpServerView, McpSurfaceView, PutMcpServer
from toolbus_contracts.values import Json


def put_server(name: str, settings: PutMcpServer | Mapping[str, Json]) -> Request[McpServerView]:
    """PUT /v1/mcp/servers/{name}."""
    body = settings.model_dump(mode="json", exclude_unset=True) if isinstance(settings, PutMcpServer) else settings
    return Request("PUT", f"/v1/mcp/servers/{part(name)}", reading(McpServerView), body=dump(dict(body)))


def get_server(name: str) -> Request[McpServerView]:
    """GET /v1/mcp/servers/{name}."""
    return Request("GET", f"/v1/mcp/servers/{part(name)}", reading(McpServerView))


def list_servers(limit: int | None = None, cursor: str | None = None) -> Request[Page[McpServerView]]:
    """GET /v1/mcp/servers."""
    return Request("GET", "/v1/mcp/servers", reading_page(McpServerView), query_of(limit=limit, cursor=cursor))


def remove_server(name: str) -> Request[McpServerView]:
    """DELETE /v1/mcp/servers/{name}; not repeatable, for a second time there is no such server."""
    return Request("DELETE", f"/v1/mcp/servers/{part(name)}", reading(McpServerView), is_repeatable=False)


def server_tools(name: str) -> Request[McpSurfaceView]:
    """GET /v1/mcp/servers/{name}/tools."""
    return Request("GET", f"/v1/mcp/servers/{part(name)}/tools", reading(McpSurfaceView))
