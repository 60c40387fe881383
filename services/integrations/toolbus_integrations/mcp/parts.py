"""The parts of MCP, put together: one set per process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_integrations.adapters.mcp_servers import McpServerTable
from toolbus_integrations.core.mcp_commands import AllowedCommand, parse_allowed
from toolbus_integrations.mcp.connections import Connections
from toolbus_integrations.mcp.describing import Describing
from toolbus_integrations.mcp.effect import McpEffect
from toolbus_integrations.mcp.reaching import Resolve, opener
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.egress import EgressGuard
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.secrets.published import SecretsBus
from toolbus_runtime.secrets.resolver import Resolver


@dataclass(frozen=True)
class Mcp:
    """What the service has for MCP: the table of servers, what describes their tools, and what calls them."""

    servers: McpServerTable
    describing: Describing
    effect: McpEffect
    allowed: Sequence[AllowedCommand]
    connections: Connections
    guard: EgressGuard

    @classmethod
    def of(cls, settings: IntegrationsSettings, engine: AsyncEngine, bus: SecretsBus, clock: Clock) -> "Mcp":
        """The parts that these settings describe; nothing is connected yet."""
        guard = EgressGuard(EgressRules(parse_allowances(settings.egress_allow)))
        allowed = parse_allowed(settings.mcp_stdio_allow)
        connections = Connections(opener(checked_by(guard), clock, allowed=allowed), clock, idle_s=settings.mcp_idle_s)
        servers = McpServerTable(engine)
        describing = Describing(connections, servers, Resolver.of(settings, bus, os.environ))
        return cls(servers, describing, McpEffect(connections, servers, clock), allowed, connections, guard)

    async def close(self) -> None:
        """No server is connected, and none of their processes runs."""
        await self.connections.aclose()
        await self.guard.close()


def checked_by(guard: EgressGuard) -> Resolve:
    """The addresses of a name, each of them checked by the guard."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return [found["host"] for found in await guard.resolve(host, port)]

    return resolve
