"""What a server says: of one tool when it is defined, and of all of them when they are imported."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from toolbus_contracts.errors import Fault, NotFound, Refused, Unavailable
from toolbus_contracts.mcp import McpSurfaceView, PutMcpServer
from toolbus_contracts.tools import Surface, ToolDefinition
from toolbus_integrations.core.mcp_surfaces import surface_of
from toolbus_integrations.mcp.connections import Connections
from toolbus_integrations.mcp.effect import Servers
from toolbus_integrations.mcp.reaching import Session, Unreachable
from toolbus_integrations.mcp.targets import target_of
from toolbus_runtime.secrets.resolver import Resolver

RETRY_S = 1.0


class Describing:
    """Asks servers over the connections that calls use."""

    def __init__(self, connections: Connections, servers: Servers, secrets: Resolver) -> None:
        self._connections = connections
        self._servers = servers
        self._secrets = secrets

    async def describe(self, tenant: str, definition: ToolDefinition) -> Surface:
        """
        The surface of the tool that a definition of type `mcp` names.

        Raises:
            Refused: `invalid_definition`, there is no such server or tool; or a secret of it cannot be had.
            Unavailable: the server cannot be reached now.
        """
        section = definition.mcp
        server = None if section is None else await self._servers.get(tenant, section.server)
        if section is None or server is None:
            raise _unknown("/mcp/server", "there is no such MCP server")
        async with self._connected(tenant, section.server, server, tool=definition.name) as connection:
            said = await connection.tools()
        found = next((one for one in said.tools if one.name == section.tool), None)
        if found is None:
            raise _unknown("/mcp/tool", f"the server {section.server} has no tool {section.tool}")
        return surface_of(found, said, server)

    async def listed(self, tenant: str, name: str) -> McpSurfaceView:
        """
        What a server says of itself and of all its tools now.

        Raises:
            NotFound: there is no such server.
            Refused: a secret of it cannot be had, or it may not be reached.
            Unavailable: it cannot be reached now.
        """
        server = await self._servers.get(tenant, name)
        if server is None:
            raise NotFound(f"there is no MCP server {name}")
        async with self._connected(tenant, name, server) as connection:
            connection.forget_listing()
            return await connection.tools()

    @asynccontextmanager
    async def _connected(
        self, tenant: str, name: str, server: PutMcpServer, *, tool: str | None = None
    ) -> AsyncIterator[Session]:
        resolve = partial(self._secrets.resolve, tenant, tool=tool, server=name)
        target = await target_of(tenant, name, server, resolve)
        try:
            async with self._connections.use(target) as connection:
                yield connection
        except Unreachable as error:
            raise Unavailable(error.message, error.retry_after_s or RETRY_S) from error


def _unknown(path: str, message: str) -> Refused:
    return Refused("invalid_definition", message, (Fault(path, message),))
