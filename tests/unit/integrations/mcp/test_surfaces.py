"""What a server says of a tool, and what is noticed when it says something else."""

from typing import Any

import pytest

from toolbus_contracts.mcp import Hints, McpSurfaceView, McpToolView, PutMcpServer
from toolbus_contracts.tools import Surface
from toolbus_integrations.core.mcp_surfaces import drift, surface_of

SETTINGS: dict[str, Any] = {"transport": "http", "url": "https://x/mcp", "bearer": "secret://k"}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}


def surface(*, version: str | None = "1.0", settings: dict[str, Any] | None = None, **changes: Any) -> Surface:
    """The surface of one tool."""
    told: dict[str, Any] = {"name": "read", "arguments": SCHEMA, "hints": Hints(read_only=True), **changes}
    tool = McpToolView(**told)
    said = McpSurfaceView(server="files", version=version, protocol="2026-07-28", tools=(tool,))
    return surface_of(tool, said, PutMcpServer.model_validate(SETTINGS | (settings or {})))


def test_a_surface_vouches_for_nothing() -> None:
    """Hints are no contract; schemas, time and the secrets of the server are told."""
    found = surface(output={"type": "object"}, description="Read it.")
    assert found.contract is None
    assert (found.arguments, found.output, found.timeout_s) == (SCHEMA, {"type": "object"}, 30.0)
    assert (found.description, found.secrets) == ("Read it.", ("k",))
    assert found.version.startswith("files 1.0 ")


def test_a_server_without_a_name_has_a_version_all_the_same() -> None:
    """Since 2026-07-28 it need not tell who it is."""
    tool = McpToolView(name="read", arguments={})
    said = McpSurfaceView(protocol="2026-07-28", tools=(tool,))
    assert surface_of(tool, said, PutMcpServer.model_validate(SETTINGS)).version.startswith("server 0 ")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": "1.1"}, ("the server was files 1.0 and is files 1.1",)),
        ({"output": {"type": "object"}}, ("the schema of its output",)),
        ({"settings": {"url": "https://y/mcp"}}, ("how the server is spoken to",)),
        ({"settings": {"bearer": "secret://other"}}, ("how the server is spoken to",)),
        ({"arguments": {**SCHEMA, "required": ["path"]}}, ("arguments: their schema",)),
        ({"arguments": {**SCHEMA, "properties": 1}}, ("arguments: their schema",)),
        (
            {"arguments": {"type": "object", "properties": {"path": {"type": "integer"}, "loud": {}}}},
            ("arguments: loud is new, depth is gone, path is another",),
        ),
    ],
)
def test_what_changed_is_named(changes: dict[str, Any], told: tuple[str, ...]) -> None:
    """When the tool is pinned; when only its name is, it does not matter."""
    assert drift(surface(), surface(**changes), "pin") == told
    assert drift(surface(), surface(**changes), "names") == ()


def test_what_does_not_matter_is_not_noticed() -> None:
    """Words for people, hints, and how long a call may take."""
    other = surface(description="other", hints=Hints(), settings={"timeout_s": 5.0, "pin": "names"})
    assert drift(surface(), other, "pin") == ()


def test_a_tool_that_is_gone() -> None:
    """It is missed unless nothing is pinned."""
    for pin in ("pin", "names"):
        assert drift(surface(), None, pin) == ("the server has no such tool any more",)
    assert drift(surface(), None, "off") == ()
