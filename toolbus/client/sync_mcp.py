"""MCP servers, for the client that waits in its own thread."""

from collections.abc import Iterator, Mapping

from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import mcp
from toolbus.client.runner import Runner
from toolbus_contracts.mcp import McpServerView, McpSurfaceView, PutMcpServer
from toolbus_contracts.values import Json


class McpServers:
    """MCP servers by name (scope admin; they can be read with operate)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def put(self, name: str, settings: PutMcpServer | Mapping[str, Json]) -> McpServerView:
        """Speak to a server like this from now on."""
        return self._runner.run(exchange(mcp.put_server(name, settings)))

    def get(self, name: str) -> McpServerView:
        """Read one server."""
        return self._runner.run(exchange(mcp.get_server(name)))

    def list(self) -> Iterator[McpServerView]:
        """Hand out every server by name."""
        return self._runner.iterate(every(mcp.list_servers(PAGE)))

    def remove(self, name: str) -> McpServerView:
        """Speak to it no more."""
        return self._runner.run(exchange(mcp.remove_server(name)))

    def tools(self, name: str) -> McpSurfaceView:
        """Ask the server what it is and which tools it has, now."""
        return self._runner.run(exchange(mcp.server_tools(name)))
