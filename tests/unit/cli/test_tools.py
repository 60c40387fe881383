"""`toolbus tools`."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes
from toolbus_contracts.errors import CODES
from toolbus_contracts.tools import ToolDefinition

YAML = """\
name: get_weather
description: Current weather
api_call: {method: GET, url: "https://api.example.com/{city}"}
---
name: refund
api_call: {method: POST, url: https://pay.example.com/refunds}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file with two definitions."""
    path = tmp_path / "tools.yaml"
    path.write_text(YAML)
    return str(path)


def registered(**changes: Any) -> dict[str, Any]:
    """The weather tool as the server shows it: every default filled in."""
    definition = ToolDefinition.model_validate({**shapes.definition(), **changes})
    return shapes.tool(definition=definition.model_dump(mode="json", by_alias=True, exclude_none=True))


def test_every_definition_is_applied(httpserver: HTTPServer, cli: Cli, file: str) -> None:
    """Each is sent to its own name as it was written; what it came to is told."""

    def answer(request: Request) -> Response:
        name = request.path.rsplit("/", 1)[1]
        status = 201 if name == "refund" else 200
        told = shapes.tool(name=name, version=1 if name == "refund" else 4)
        return Response(json.dumps(told), status=status, content_type="application/json")

    httpserver.expect_request("/v1/tools/get_weather", method="PUT").respond_with_handler(answer)
    httpserver.expect_request("/v1/tools/refund", method="PUT").respond_with_handler(answer)
    done = cli("tools", "apply", file, "--scope", "agent:a")
    rows = [line.split("\t")[:3] for line in done.out.splitlines()]
    assert rows == [["TOOL", "VERSION", "OUTCOME"], ["get_weather", "4", "unchanged"], ["refund", "1", "created"]]
    assert "type" not in json.loads(httpserver.log[0][0].get_data())
    assert httpserver.log[0][0].args["scope"] == "agent:a"
    found = cli("tools", "apply", file, "-o", "jsonl").lines()
    assert [(tool["name"], tool["outcome"]) for tool in found] == [("get_weather", "unchanged"), ("refund", "created")]


def test_a_mistake_in_any_file_sends_nothing(httpserver: HTTPServer, cli: Cli, file: str, tmp_path: Path) -> None:
    """All files are read first."""
    (tmp_path / "broken.yaml").write_text("name: [")
    for other, told in (("broken.yaml", "broken.yaml:1"), ("missing.yaml", "cannot be read")):
        done = cli("tools", "apply", file, str(tmp_path / other))
        assert (done.code, done.out) == (2, "")
        assert told in done.err
        assert "named in errors" not in done.err
    assert not httpserver.log


def test_a_document_with_tools_among_other_keys_is_applied(httpserver: HTTPServer, cli: Cli) -> None:
    """Its tools are; of each other key one line says that it is not used yet."""
    httpserver.expect_request("/v1/tools/x").respond_with_json(shapes.tool(name="x"), status=201)
    text = "name: Agent\ntools:\n- {name: x, type: api_call, spec: {method: GET, url: 'https://a.example'}}\nmain: []\n"
    done = cli("tools", "apply", "-", stdin=text)
    assert done.code == 0
    assert done.err.splitlines() == ["standard input:1 /name: not used yet", "standard input:4 /main: not used yet"]
    assert json.loads(httpserver.log[0][0].get_data())["api_call"] == {"method": "GET", "url": "https://a.example"}


def test_a_refused_tool_of_a_document_names_file_line_and_path(httpserver: HTTPServer, cli: Cli) -> None:
    """The place of the tool, and the path inside it."""
    told = shapes.problem("invalid_definition", 422, errors=[{"path": "/api_call/url", "message": "no url"}])
    httpserver.expect_request("/v1/tools/x").respond_with_json(
        told, status=422, content_type="application/problem+json"
    )
    done = cli("tools", "apply", "-", stdin="tools:\n- name: x\n  type: api_call\n")
    assert done.code == 2
    assert "standard input:2 /tools/0: " in done.err
    assert "/api_call/url: no url" in done.err


def test_definitions_come_from_standard_input(httpserver: HTTPServer, cli: Cli) -> None:
    """`-` reads YAML or JSON."""
    httpserver.expect_request("/v1/tools/get_weather").respond_with_json(shapes.tool(), status=201)
    assert cli("tools", "apply", "-", stdin=json.dumps(shapes.definition())).code == 0


def test_a_definition_that_is_not_valid_tells_the_path(httpserver: HTTPServer, cli: Cli) -> None:
    """The server's faults are shown one by one; exit code 2."""
    told = shapes.problem(
        "invalid_definition", 422, errors=[{"path": "/api_call/url", "message": "must start with http"}]
    )
    httpserver.expect_request("/v1/tools/x").respond_with_json(
        told, status=422, content_type="application/problem+json"
    )
    done = cli("tools", "apply", "-", stdin="name: x\n")
    assert done.code == 2
    assert "/api_call/url: must start with http" in done.err


def test_a_refused_definition_names_its_file_and_line(httpserver: HTTPServer, cli: Cli, file: str) -> None:
    """Of several definitions it is told which one was refused, and how many before it stand."""
    httpserver.expect_request("/v1/tools/get_weather").respond_with_json(shapes.tool(), status=201)
    faults = [{"path": "/api-call", "message": "there is no such field"}]
    told = shapes.problem("invalid_request", 422, errors=faults, next_step=CODES["invalid_request"].next_step)
    httpserver.expect_request("/v1/tools/refund").respond_with_json(
        told, status=422, content_type="application/problem+json"
    )
    done = cli("tools", "apply", file)
    assert (done.code, done.out) == (2, "")
    assert f"error: {file}:5: " in done.err
    assert "(1 before it applied)" in done.err
    assert "→ Mend the fields named above." in done.err


def test_tools_are_listed(httpserver: HTTPServer, cli: Cli) -> None:
    """As a table, in the documented shape, and in the shape of a model's API."""
    httpserver.expect_request("/v1/tools", query_string="limit=50").respond_with_json(shapes.page(shapes.tool()))
    assert cli("tools", "ls").out.splitlines()[1].split("\t")[:3] == ["get_weather", "1", "api_call"]
    assert cli("tools", "ls", "-o", "json").json()["items"][0]["name"] == "get_weather"
    model_shape = {"type": "function", "function": {"name": "get_weather"}}
    httpserver.expect_request("/v1/tools", query_string="format=openai&limit=500").respond_with_json(
        shapes.page(model_shape)
    )
    assert cli("tools", "ls", "--format", "openai").lines() == [model_shape]


def test_a_model_is_shown_what_it_has_to_give_in_a_context(httpserver: HTTPServer, cli: Cli) -> None:
    """What is stored for a user is hidden from it; where nothing is hidden, the option is refused."""
    asked = {"format": "mcp", "limit": "500", "user": "ana", "agent": "a1"}
    httpserver.expect_request("/v1/tools", query_string=asked).respond_with_json(shapes.page({"name": "t"}))
    whose = ("--context", "user=ana", "--context", "agent=a1")
    assert cli("tools", "ls", "--format", "mcp", *whose).lines() == [{"name": "t"}]
    refused = cli("tools", "ls", *whose)
    assert (refused.code, refused.out) == (2, "")
    assert "--format" in refused.err


def test_a_tool_is_shown_as_it_can_be_applied_again(httpserver: HTTPServer, cli: Cli) -> None:
    """YAML of the definition under comments that say what it is."""
    httpserver.expect_request("/v1/tools/get_weather", method="GET").respond_with_json(shapes.tool())
    httpserver.expect_request("/v1/tools/get_weather/versions/1").respond_with_json(shapes.tool())
    httpserver.expect_request("/v1/tools/get_weather", method="PUT").respond_with_json(shapes.tool())
    shown = cli("tools", "show", "get_weather")
    assert shown.out.startswith("# version 1 of get_weather in tenant")
    assert cli("tools", "apply", "-", stdin=shown.out).code == 0
    assert json.loads(httpserver.log[-1][0].get_data()) == shapes.definition()
    assert cli("tools", "show", "get_weather@1", "-o", "json").json()["version"] == 1


def test_a_shown_tool_steers_nothing(httpserver: HTTPServer, cli: Cli) -> None:
    """A definition is text from outside."""
    bad = {"name": "x", "description": "\x1b[2J\u202e\x9b"}
    httpserver.expect_request("/v1/tools/x").respond_with_json(shapes.tool(definition=bad, definition_hash="\x1b[1m"))
    assert not {"\x1b", "\u202e", "\x9b"} & set(cli("tools", "show", "x").out)


def test_versions_and_retiring(httpserver: HTTPServer, cli: Cli) -> None:
    """Each asks its endpoint; retiring prints no data."""
    page = shapes.page(shapes.tool(version=2), shapes.tool())
    httpserver.expect_request("/v1/tools/get_weather/versions").respond_with_json(page)
    httpserver.expect_request("/v1/tools/get_weather", method="DELETE").respond_with_json(shapes.tool())
    assert [tool["version"] for tool in cli("tools", "versions", "get_weather", "-o", "jsonl").lines()] == [2, 1]
    done = cli("tools", "rm", "get_weather")
    assert (done.code, done.out) == (0, "")
    assert "retired" in done.err


def test_what_applying_would_change(httpserver: HTTPServer, cli: Cli, file: str) -> None:
    """Exit code 1 with the lines that differ; a tool that is not there is all new."""
    httpserver.expect_request("/v1/tools/get_weather").respond_with_json(registered(description="Weather"))
    missing = shapes.problem("unknown_tool", 404)
    httpserver.expect_request("/v1/tools/refund").respond_with_json(
        missing, status=404, content_type="application/problem+json"
    )
    done = cli("tools", "diff", file)
    assert done.code == 1
    assert {"-description: Weather", "+description: Current weather", "--- refund (not registered)"} <= set(
        done.out.splitlines()
    )


def test_nothing_would_change(httpserver: HTTPServer, cli: Cli, tmp_path: Path) -> None:
    """Exit code 0 and no output, although the file leaves out what the server fills in."""
    (tmp_path / "one.yaml").write_text(YAML.split("---", maxsplit=1)[0])
    httpserver.expect_request("/v1/tools/get_weather").respond_with_json(registered())
    done = cli("tools", "diff", str(tmp_path / "one.yaml"))
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_difference_to_something_invalid_is_told(httpserver: HTTPServer, cli: Cli) -> None:
    """The path in the definition, before anything is asked."""
    done = cli("tools", "diff", "-", stdin="name: x\napi_call: {method: GET, url: ftp://x}\n")
    assert done.code == 2
    assert "/api_call" in done.err
    assert not httpserver.log
