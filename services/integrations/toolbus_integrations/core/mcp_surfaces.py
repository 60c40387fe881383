"""What an MCP server says of a tool, as a surface; and what of it is other than when the tool was defined."""

from typing import Final

from toolbus_contracts.digests import digest
from toolbus_contracts.mcp import McpSurfaceView, McpToolView, Pin, PutMcpServer
from toolbus_contracts.secrets import names_in
from toolbus_contracts.tools import Surface

UNNAMED: Final = "server"
UNNUMBERED: Final = "0"


def surface_of(tool: McpToolView, said: McpSurfaceView, settings: PutMcpServer) -> Surface:
    """
    The surface of one tool.

    It vouches for nothing: hints are no contract. `version` holds the server's name and version, a digest of how it is
    spoken to, and one of the tool's schemas, so that one text tells whether anything changed that a call depends on.
    """
    spoken = settings.model_dump(mode="json", exclude={"pin", "timeout_s"})
    marks = digest(spoken), digest({"arguments": tool.arguments, "output": tool.output})
    return Surface(
        description=tool.description,
        arguments=tool.arguments,
        output=tool.output,
        timeout_s=settings.timeout_s,
        version=" ".join((said.server or UNNAMED, said.version or UNNUMBERED, *map(_short, marks))),
        secrets=tuple(sorted(set(names_in(spoken)))),
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
    if defined.secrets != live.secrets or _settings(defined) != _settings(live):
        found.append("how the server is spoken to")
    if (was := _release(defined)) != (now := _release(live)):
        found.append(f"the server was {was} and is {now}")
    return tuple(found)


def _release(surface: Surface) -> str:
    return surface.version.rsplit(" ", 2)[0]


def _settings(surface: Surface) -> str:
    return surface.version.rsplit(" ", 2)[-2]


def _short(mark: str) -> str:
    """A digest as it stands in a version, which people read: 64 bits are plenty to tell two settings apart."""
    return mark.removeprefix("sha256:")[:16]


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
