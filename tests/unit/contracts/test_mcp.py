"""MCP servers as they may be written, and the names under which tools are registered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from toolbus_contracts.mcp import PutMcpServer, registered_names
from toolbus_contracts.tools import ToolDefinition

HTTP: dict[str, Any] = {"transport": "http", "url": "https://mcp.example.com/mcp"}
STDIO: dict[str, Any] = {"transport": "stdio", "command": "/srv/files"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"headers": {"X-Api-Key": "secret://key"}, "pin": "names"},
        {"bearer": "secret://token", "headers": {"X-Team": "blue"}},
        {"bearer": "plain", "timeout_s": 3600},
    ],
)
def test_a_server_over_http(more: dict[str, Any]) -> None:
    """It runs no command."""
    assert PutMcpServer.model_validate(HTTP | more).argv == ()


def test_a_server_over_stdio() -> None:
    """Its command is one list, argument for argument."""
    server = PutMcpServer.model_validate(STDIO | {"args": ["a b", ""], "env": {"TOKEN": "secret://token"}})
    assert server.argv == ("/srv/files", "a b", "")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"transport": "http"}, "needs its url"),
        ({"transport": "stdio"}, "needs its command"),
        (HTTP | {"command": "x"}, "belong to stdio"),
        (HTTP | {"args": ["x"]}, "belong to stdio"),
        (HTTP | {"env": {"A": "b"}}, "belong to stdio"),
        (STDIO | {"url": "https://x"}, "belong to http"),
        (STDIO | {"headers": {"A": "b"}}, "belong to http"),
        (STDIO | {"bearer": "b"}, "belong to http"),
        (HTTP | {"headers": {"Mcp-Session-Id": "1"}}, "sets this header itself"),
        (HTTP | {"headers": {"mcp-param-x": "1"}}, "sets this header itself"),
        (HTTP | {"headers": {"A": "Bearer secret://k"}}, "whole text"),
        (HTTP | {"headers": {"A": "b\r\nC: d"}}, "pattern"),
        (HTTP | {"bearer": "Bearer x"}, "pattern"),
        (HTTP | {"bearer": "x", "headers": {"AUTHORIZATION": "y"}}, "one of them"),
        (HTTP | {"headers": {"X-Team": "a", "x-team": "b"}}, "two spellings"),
        (STDIO | {"env": {"A": "x secret://k"}}, "whole text"),
        (STDIO | {"args": ["a\x00"]}, "pattern"),
        ({"transport": "http", "url": "ftp://x"}, "pattern"),
        (HTTP | {"timeout_s": 0}, "greater than 0"),
    ],
)
def test_what_is_no_server(settings: dict[str, Any], told: str) -> None:
    """It is refused with what is wrong."""
    with pytest.raises(ValidationError, match=told):
        PutMcpServer.model_validate(settings)


def test_names_have_the_server_before_them() -> None:
    """Cleaned; cut, or shared after cleaning, they end with a mark of their own."""
    assert registered_names("files", ["read", "fs.list"]) == {"read": "files_read", "fs.list": "files_fs_list"}
    assert registered_names("files", ["9x"], prefix="") == {"9x": "_9x"}
    shared = registered_names("s", ["a b", "a.b", "a_b"])
    assert shared["a_b"] == "s_a_b"
    assert len(set(shared.values())) == 3
    (long,) = registered_names("s", ["x" * 80]).values()
    assert len(long) == 64
    assert registered_names("s", ["x" * 80 + "y"])["x" * 80 + "y"] != long


@given(st.text(min_size=1, max_size=30), st.sets(st.text(max_size=80), max_size=8))
def test_names_are_always_good(server: str, tools: set[str]) -> None:
    """Each tool has a name of its own, which a definition may have."""
    found = registered_names(server, tools)
    assert found.keys() == tools
    assert len(set(found.values())) == len(tools)
    for name in found.values():
        assert ToolDefinition.model_validate({"name": name, "mcp": {"server": "s", "tool": "t"}}).name == name
