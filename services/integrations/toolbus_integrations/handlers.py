"""
What this service hears on the bus.

    toolbus.work.integration.<route>.<tenant>   durable, at least once    Executor.on_work, with `IntegrationEffect`
    toolbus.work.mcp.<route>.<tenant>           durable, at least once    Executor.on_work, with `McpEffect`
    toolbus.intask.describe                     asked by the dispatcher   Handlers.on_describe

What exceptions mean to the durables is decided in `toolbus_runtime.bus.acking`.
"""

from dataclasses import dataclass
from typing import Protocol

from pydantic import ValidationError

from toolbus_contracts import subjects
from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.tools import DescribeTool, IntegrationSection, Surface, ToolDefinition, ToolSurface
from toolbus_contracts.values import compact
from toolbus_runtime.bus.answering import Answer, answer
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming

QUEUE = "integrations"
MAX_SURFACE_BYTES = 1024 * 1024  # the dispatcher keeps less, and an answer that is larger would not reach it


class Providers(Protocol):
    """What providers say of their methods."""

    async def surface(self, section: IntegrationSection) -> Surface:
        """The surface of a tool. Raises: Refused, Unavailable."""
        ...


class Servers(Protocol):
    """What MCP servers say of their tools."""

    async def describe(self, tenant: str, definition: ToolDefinition) -> Surface:
        """The surface of a tool. Raises: Refused, Unavailable."""
        ...


@dataclass(frozen=True)
class Handlers:
    """Answers what a tool takes and gives, to whoever defines it."""

    bus: Bus
    providers: Providers
    servers: Servers

    async def listen(self) -> None:
        """Questions are answered from now on, each by one of the processes of this service."""
        await self.bus.subscribe(subjects.DESCRIBE, self.on_describe, queue=QUEUE)

    async def on_describe(self, message: Incoming) -> None:
        """The surface of a tool, or the problem that there is none."""
        await answer(self.bus, message, lambda: self._surface(message.data))

    async def _surface(self, data: bytes) -> Answer:
        try:
            asked = DescribeTool.model_validate_json(data)
        except ValidationError as error:
            raise Unreadable("invalid_request", "no question about a tool") from error
        definition = asked.definition
        if definition.mcp is not None:
            found = await self.servers.describe(asked.tenant, definition)
        elif definition.integration is not None:
            found = await self.providers.surface(definition.integration)
        else:
            raise Refused("unsupported_type", f"nobody describes tools of type {definition.tool_type}")
        told: Answer = ToolSurface(surface=found).model_dump(mode="json")
        if len(compact(told).encode()) > MAX_SURFACE_BYTES:
            raise Refused("invalid_definition", f"what is said of this tool has more than {MAX_SURFACE_BYTES} bytes")
        return told
