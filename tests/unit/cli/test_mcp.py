"""`toolbus mcp`: servers are put word for word, and their tools registered under clean names."""

import json
from typing import Any

import pytest
import yaml
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

PATH = "/v1/mcp/servers/files"


def sent(httpserver: HTTPServer) -> Any:
    """The body that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def test_a_server_over_http_is_put_as_it_was_given(httpserver: HTTPServer, cli: Cli) -> None:
    """What was not given is not sent; the first `=` divides a header."""
    httpserver.expect_request(PATH, method="PUT").respond_with_json(shapes.mcp_server())
    done = cli("mcp", "add", "files", "--server-url", "https://x/mcp", "--header", "X-Q=a=b", "--bearer", "secret://k")
    assert done.code == 0
    assert sent(httpserver) == {
        "transport": "http",
        "url": "https://x/mcp",
        "headers": {"X-Q": "a=b"},
        "bearer": "secret://k",
        "pin": "pin",
        "timeout_s": 30.0,
    }


def test_a_command_is_put_word_for_word(httpserver: HTTPServer, cli: Cli) -> None:
    """The first word is the command, the others are its arguments; nothing is split."""
    httpserver.expect_request(PATH, method="PUT").respond_with_json(
        shapes.mcp_server(transport="stdio", url=None, headers={}, bearer=None, command="/srv/files", args=["a b"])
    )
    done = cli("mcp", "add", "files", "--command", "/srv/files", "--command", "a b", "--env", "TOKEN=secret://k")
    assert "/srv/files a b" in done.out
    found = sent(httpserver)
    assert (found["transport"], found["command"], found["args"]) == ("stdio", "/srv/files", ["a b"])
    assert found["env"] == {"TOKEN": "secret://k"}
    assert "url" not in found


@pytest.mark.parametrize("given", ["X-Q", "=b"])
def test_half_a_pair_is_a_mistake(httpserver: HTTPServer, cli: Cli, given: str) -> None:
    """Nothing is sent."""
    assert cli("mcp", "add", "files", "--server-url", "https://x", "--header", given).code == 2
    assert not httpserver.log


@pytest.fixture
def offering(httpserver: HTTPServer) -> HTTPServer:
    """A server with two tools, one of which is refused when it is registered."""
    tools = [
        shapes.mcp_tool("read.file", hints={"read_only": True, "destructive": False}),
        shapes.mcp_tool("odd", description="x" * 5000, arguments={"type": "string"}),
    ]
    httpserver.expect_request(f"{PATH}/tools", method="GET").respond_with_json(shapes.mcp_surface(*tools))

    def register(request: Request) -> Response:
        body = json.loads(request.get_data())
        if body["mcp"]["tool"] == "odd":
            faults = [{"path": "/mcp/tool", "message": "no object"}]
            problem = {"code": "invalid_definition", "title": "not valid", "status": 422, "errors": faults}
            return Response(json.dumps(problem), 422, content_type="application/problem+json")
        return Response(json.dumps(shapes.tool(name=body["name"])), 201, content_type="application/json")

    for name in ("files_read_file", "files_odd", "p_read_file"):
        httpserver.expect_request(f"/v1/tools/{name}", method="PUT").respond_with_handler(register)
    return httpserver


def test_tools_are_imported_under_clean_names(offering: HTTPServer, cli: Cli) -> None:
    """With the server's name before theirs; one that is refused does not stop the others, and hints are shown."""
    done = cli("mcp", "import", "files", "-o", "json")
    assert done.code == 0
    first, second = json.loads(done.out)["items"]
    assert (first["tool"], first["name"], first["hints"]) == ("read.file", "files_read_file", "reads, not: destroys")
    assert (second["outcome"], second["reason"]) == ("refused", "not valid; /mcp/tool: no object")
    body = json.loads(offering.log[1][0].get_data())
    assert body["mcp"] == {"server": "files", "tool": "read.file"}
    assert body["description"] == "Read it."


def test_some_tools_are_imported_under_another_prefix(offering: HTTPServer, cli: Cli) -> None:
    """Only those that were named; exit code 1 when there is none."""
    done = cli("mcp", "import", "files", "--prefix", "p_", "--tool", "read.file", "-o", "json")
    assert [row["name"] for row in json.loads(done.out)["items"]] == ["p_read_file"]
    assert cli("mcp", "import", "files", "--tool", "none").code == 1
    assert cli("mcp", "import", "files", "--tool", "odd").code == 1
    assert len(offering.log) == 5


def test_a_dry_run_prints_definitions(offering: HTTPServer, cli: Cli) -> None:
    """As YAML that can be applied later; nothing is registered, and long descriptions are cut."""
    done = cli("mcp", "import", "files", "--dry-run")
    first, second = yaml.safe_load_all(done.out)
    assert first == {
        "name": "files_read_file",
        "description": "Read it.",
        "type": "mcp",
        "mcp": {"server": "files", "tool": "read.file"},
    }
    assert len(second["description"]) == 4096
    assert len(offering.log) == 1
