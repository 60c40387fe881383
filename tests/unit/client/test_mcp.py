"""Both clients on MCP servers: what each method asks for and what it reads."""

import inspect
import json
from typing import Any

from pytest_httpserver import HTTPServer

from tests.unit.client import shapes
from toolbus.client import async_mcp, sync_mcp
from toolbus_contracts.mcp import PutMcpServer

PATH = "/v1/mcp/servers/files"


def test_a_server_is_put_read_listed_and_removed(httpserver: HTTPServer, bus: Any) -> None:
    """Settings go out as they were written, whether as a model or as JSON."""
    for method in ("PUT", "GET", "DELETE"):
        httpserver.expect_request(PATH, method=method).respond_with_json(shapes.mcp_server())
    httpserver.expect_request("/v1/mcp/servers", method="GET").respond_with_json(shapes.page(shapes.mcp_server()))
    settings = {"transport": "http", "url": "https://mcp.example.com/mcp"}
    for written in (settings, PutMcpServer.model_validate(settings)):
        assert bus.mcp.put("files", written).bearer == "secret://files"
        assert json.loads(httpserver.log[-1][0].get_data()) == settings
    assert bus.mcp.get("files").headers == {"X-Team": "blue"}
    assert [server.name for server in bus.mcp.list()] == ["files"]
    assert bus.mcp.remove("files").name == "files"


def test_the_tools_of_a_server_are_read(httpserver: HTTPServer, bus: Any) -> None:
    """As it describes them now, with its hints."""
    tool = shapes.mcp_tool(hints={"read_only": True})
    httpserver.expect_request(f"{PATH}/tools", method="GET").respond_with_json(shapes.mcp_surface(tool))
    said = bus.mcp.tools("files")
    assert (said.protocol, [one.name for one in said.tools]) == ("2026-07-28", ["read_file"])
    assert said.tools[0].hints.read_only is True


def test_both_clients_have_the_same_face() -> None:
    """Every method of one is a method of the other, with the same parameters and the same words."""
    for name, method in inspect.getmembers(sync_mcp.McpServers, inspect.isfunction):
        if not name.startswith("__"):
            other = getattr(async_mcp.McpServers, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters), name
            assert (method.__doc__, bool(method.__doc__)) == (other.__doc__, True)
