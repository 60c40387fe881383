"""What a server says of itself and its tools, page by page."""

import asyncio
from typing import Final, NamedTuple

from mcp import ClientSession, MCPError
from mcp_types import PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolbus_contracts.executing.redaction import RedactionFailed
from toolbus_contracts.mcp import Hints, McpSurfaceView, McpToolView
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import find_faults
from toolbus_integrations.mcp.reaching import Unreachable
from toolbus_integrations.mcp.targets import Target

LONGEST_S: Final = 30.0  # for which a list is believed, whatever the server says
MAX_PAGES: Final = 200
MAX_TOOLS: Final = 2_000


class Listing(NamedTuple):
    """What the server said, and for how many seconds it may be believed."""

    said: McpSurfaceView
    believed_s: float


async def list_tools(session: ClientSession, target: Target) -> Listing:
    """
    All tools that the server offers, without the secrets that it was given.

    A server without sessions tells for how long its list holds, and may be replaced by another at any time; one with
    a session tells when its list changes, and a session does not outlive it.

    Raises:
        Unreachable: it does not list them, or in no way that can be kept.
    """
    try:
        tools, told_s = await _pages(session, target.name)
        server = session.server_info
        said = McpSurfaceView(
            server=None if server is None else server.name,
            version=None if server is None else server.version,
            protocol=session.protocol_version or "",
            tools=tuple(tools),
        )
        # Two thousand tools with their schemas are as large as a server likes: others go on meanwhile.
        found = await asyncio.to_thread(target.redactor.in_json, said.model_dump(mode="json"))
    except MCPError as error:
        raise Unreachable(f"{target.name} does not list its tools: {error.message}") from error
    except (ValueError, RedactionFailed) as error:  # also for numbers that JSON does not know
        raise Unreachable(f"{target.name} lists its tools in another way than the protocol") from error
    if fault := next(find_faults(found), None):
        raise Unreachable(f"what {target.name} says of its tools cannot be kept: {fault.path}: {fault.message}")
    is_stateless = said.protocol in MODERN_PROTOCOL_VERSIONS
    return Listing(McpSurfaceView.model_validate(found), min(told_s, LONGEST_S) if is_stateless else LONGEST_S)


async def _pages(session: ClientSession, name: str) -> tuple[list[McpToolView], float]:
    """Every tool, and for how many seconds the first page to change may be kept."""
    found: list[McpToolView] = []
    told_s = LONGEST_S
    cursors: set[str] = set()
    cursor: str | None = None
    while len(cursors) < MAX_PAGES and len(found) <= MAX_TOOLS:
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += (_tool(one.model_dump(mode="json", by_alias=True)) for one in page.tools)
        told_s = min(told_s, page.ttl_ms / 1000)
        cursor = page.next_cursor
        if cursor is None:
            return found, told_s
        if cursor in cursors:
            break
        cursors.add(cursor)
    raise Unreachable(f"{name} lists its tools without end")


def _tool(said: JsonObject) -> McpToolView:
    hints = said.get("annotations") or {}
    return McpToolView(
        name=said["name"],
        title=said.get("title") or hints.get("title"),
        description=said.get("description") or "",
        arguments=said["inputSchema"],
        output=said.get("outputSchema"),
        hints=Hints(
            read_only=hints.get("readOnlyHint"),
            destructive=hints.get("destructiveHint"),
            idempotent=hints.get("idempotentHint"),
            open_world=hints.get("openWorldHint"),
        ),
    )
