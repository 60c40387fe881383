"""What an MCP server says of a tool, as a surface; and what of it is other than when the tool was defined."""

from toolbus_contracts.digests import digest
from toolbus_contracts.mcp import McpSurfaceView, McpToolView, Pin
from toolbus_contracts.tools import Surface

UNNAMED = "server"


def surface_of(tool: McpToolView, said: McpSurfaceView, *, timeout_s: float) -> Surface:
    """
    The surface of one tool.

    It vouches for nothing: hints are no contract. `version` holds the server's name and version, and a digest of the
    tool's schemas, so that one text tells whether anything changed that a call depends on.
    """
    schemas = digest({"arguments": tool.arguments, "output": tool.output})
    return Surface(
        description=tool.description,
        arguments=tool.arguments,
        output=tool.output,
        timeout_s=timeout_s,
        version=f"{said.server or UNNAMED} {said.version or '0'} {schemas}",
    )


def drift(defined: Surface, live: Surface | None, pin: Pin) -> tuple[str, ...]:
    """What of a tool is not as it was defined, as far as the pin minds; nothing when the call may be made."""
    if pin == "off":
        return ()
    if live is None:
        return ("the server has no such tool any more",)
    if pin == "names" or defined.version == live.version:
        return ()
    found = []
    if defined.arguments != live.arguments:
        found.append(f"arguments: {_changes(defined, live)}")
    if defined.output != live.output:
        found.append("the schema of its output")
    was, now = _release(defined), _release(live)
    if was != now:
        found.append(f"the server was {was} and is {now}")
    return tuple(found)


def _release(surface: Surface) -> str:
    return surface.version.rpartition(" ")[0]


def _changes(defined: Surface, live: Surface) -> str:
    """Which arguments are new, gone or other than before, by name."""
    before, after = (one.arguments.get("properties") or {} for one in (defined, live))
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return "their schema"
    words = [
        *(f"{name} is new" for name in sorted(after.keys() - before.keys())),
        *(f"{name} is gone" for name in sorted(before.keys() - after.keys())),
        *(f"{name} is another" for name in sorted(before.keys() & after.keys()) if before[name] != after[name]),
    ]
    return ", ".join(words) or "their schema"
