"""What is asked of whoever runs providers and MCP servers before a tool of theirs is defined, and the answer."""

from toolbus_contracts.tools.definitions import ToolDefinition
from toolbus_contracts.tools.surfaces import Surface
from toolbus_contracts.values import Message


class DescribeTool(Message):
    """Ask for the surface of the tool that a definition names."""

    tenant: str
    definition: ToolDefinition


class ToolSurface(Message):
    """The surface as it is now; instead of it a problem may come: `invalid_definition` when there is no such tool."""

    surface: Surface
