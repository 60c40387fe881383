"""MCP servers, for the client in an event loop."""

from collections.abc import AsyncIterator, Mapping

from toolbus.client.async_runner import AsyncRunner
from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import mcp
from toolbus_contracts.mcp import McpServerView, McpSurfaceView, PutMcpServer
from toolbus_contracts.values import Json


class McpServers:
    """MCP servers by name (scope admin; they can be read with operate)."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def put(self, name: str, settings: PutMcpServer | Mapping[str, Json]) -> McpServerView:
        """Speak to a server like this from now on."""
        return await self._runner.run(exchange(mcp.put_server(name, settings)))

    async def get(self, name: str) -> McpServerView:
        """Read one server."""
        return await self._runner.run(exchange(mcp.get_server(name)))

    def list(self) -> AsyncIterator[McpServerView]:
        """Hand out every server by name."""
        return self._runner.iterate(every(mcp.list_servers(PAGE)))

    async def remove(self, name: str) -> McpServerView:
        """Speak to it no more."""
        return await self._runner.run(exchange(mcp.remove_server(name)))

    async def tools(self, name: str) -> McpSurfaceView:
        """Ask the server what it is and which tools it has, now."""
        return await self._runner.run(exchange(mcp.server_tools(name)))
