"""`toolbus tools import openapi`."""

import json
from pathlib import Path

import pytest
import yaml
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.source import ROOT
from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes
from toolbus.definitions import read_definitions

DOCUMENT = {
    "openapi": "3.1.0",
    "servers": [{"url": "https://api.example.com"}],
    "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "tags": ["pets"],
                "security": [{"key": []}],
                "parameters": [{"name": "f", "in": "query", "style": "matrix", "schema": {"type": "object"}}],
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {"content": {"application/xml": {"schema": {}}}, "required": True},
            },
        },
        "/stores": {"get": {"operationId": "listStores", "description": "Lists.", "tags": ["stores"]}},
    },
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A document with three operations."""
    path = tmp_path / "pets.json"
    path.write_text(json.dumps(DOCUMENT))
    return str(path)


@pytest.fixture
def server(httpserver: HTTPServer) -> HTTPServer:
    """A server that takes every tool but `listStores`."""

    def answer(request: Request) -> Response:
        name = request.path.rpartition("/")[2]
        if name.endswith("listStores"):
            fault = {"path": "/api_call/url", "message": "not like that"}
            told = shapes.problem("invalid_definition", 422, errors=[fault])
            return Response(json.dumps(told), status=422, content_type="application/problem+json")
        return Response(json.dumps(shapes.tool(name=name, version=1)), status=201, content_type="application/json")

    httpserver.expect_request("/v1/tools/listPets", method="PUT").respond_with_handler(answer)
    httpserver.expect_request("/v1/tools/shop_listPets", method="PUT").respond_with_handler(answer)
    httpserver.expect_request("/v1/tools/listStores", method="PUT").respond_with_handler(answer)
    return httpserver


def test_each_operation_is_told_with_what_it_came_to(server: HTTPServer, cli: Cli, file: str) -> None:
    """Tools, what is left out of them, what was skipped and why; one that the server refuses stops no other."""
    done = cli("tools", "import", "openapi", file, "--scope", "agent:a")
    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["TOOL", "OUTCOME", "OPERATION", "NOTES"],
        ["listPets", "created", "GET /pets", "query f: its style 'matrix' cannot be sent: left out"],
        ["-", "skipped", "POST /pets", "a body of application/xml cannot be sent"],
        ["-", "refused", "GET /stores", done.out.splitlines()[3].rpartition("\t")[2]],
    ]
    assert "/api_call/url: not like that" in done.out
    assert done.code == 0
    told = "secret://key is the token, sent as Authorization: Bearer: toolbus secrets set key --host api.example.com"
    assert told in done.err
    assert server.log[0][0].args["scope"] == "agent:a"
    sent = json.loads(server.log[0][0].get_data())
    assert (sent["name"], sent["api_call"]["auth"]) == ("listPets", {"bearer": "secret://key"})


def test_what_is_chosen_and_where_it_goes(server: HTTPServer, cli: Cli, file: str) -> None:
    """By tag or id; a prefix stands before tools and secrets, and another server in the place of the document's."""
    options = ("--tag", "pets", "--prefix", "shop_", "--server", "http://127.0.0.1:9/", "-o", "jsonl")
    found = cli("tools", "import", "openapi", file, *options).lines()
    assert [(one["operation"], one["tool"], one["version"]) for one in found] == [("listPets", "shop_listPets", 1)]
    section = json.loads(server.log[0][0].get_data())["api_call"]
    assert (section["url"], section["auth"]) == ("http://127.0.0.1:9/pets", {"bearer": "secret://shop_key"})


def test_a_dry_run_prints_what_can_be_applied(httpserver: HTTPServer, cli: Cli, file: str) -> None:
    """YAML on stdout, everything else on stderr; nothing is sent."""
    done = cli("tools", "import", "openapi", file, "--dry-run")
    assert [one["name"] for one in yaml.safe_load_all(done.out)] == ["listPets", "listStores"]
    assert [one.name for one in read_definitions("-", done.out.encode)] == ["listPets", "listStores"]
    assert "POST /pets: skipped: a body of application/xml cannot be sent" in done.err
    assert "GET /pets: query f: its style 'matrix' cannot be sent: left out" in done.err
    assert (done.code, httpserver.log) == (0, [])


def test_the_exit_code_says_when_nothing_became_a_tool(cli: Cli, file: str) -> None:
    """As far as is asked for."""
    done = cli("tools", "import", "openapi", file, "--operation", "addPet", "--dry-run")
    assert (done.code, done.out) == (1, "")
    assert "No operation became a tool." in done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--tag", "none"), "no operation has the tag none; there are pets, stores"),
        (("--server", "example.com"), "is no http or https URL"),
        (("--prefix", "x" * 41), "at most 40 characters"),
    ],
)
def test_mistakes_in_options_are_told(cli: Cli, file: str, options: tuple[str, ...], told: str) -> None:
    """Before anything is sent; exit code 2."""
    done = cli("tools", "import", "openapi", file, *options)
    assert done.code == 2
    assert told in done.err


def test_swagger_is_refused(cli: Cli, tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "old.yaml").write_text("swagger: '2.0'\npaths: {}\n")
    done = cli("tools", "import", "openapi", str(tmp_path / "old.yaml"))
    assert done.code == 2
    assert "is Swagger 2.0; convert it to OpenAPI 3.0 or 3.1 first" in done.err


def test_the_commands_of_the_page_work(httpserver: HTTPServer, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`docs/openapi-import.md`, on the documents of `examples/`."""
    monkeypatch.chdir(ROOT)
    httpserver.expect_request("/v1/tools/find_page").respond_with_json(shapes.tool(name="find_page"), status=201)
    httpserver.expect_request("/v1/tools/book_table").respond_with_json(shapes.tool(name="book_table"), status=201)
    page = (ROOT / "docs" / "openapi-import.md").read_text()
    commands = [line.split()[2:] for line in page.splitlines() if line.startswith("$ .venv/bin/toolbus")]
    imported, applied = (cli(*command) for command in commands)
    assert [one["name"] for one in yaml.safe_load_all(imported.out)] == [
        "orders_get",
        "orders_change",
        "orders_photo",
    ]
    assert [line.partition(": ")[0] for line in imported.err.splitlines()] == [
        "GET /orders/{order_id}",
        "PATCH /orders/{order_id}",
        "POST /orders/import",
        "secret://shop_token is the token, sent as Authorization",
    ]
    assert [line.split("\t")[0] for line in applied.out.splitlines()] == ["TOOL", "find_page", "book_table"]
    assert [line.partition(" ")[2] for line in applied.err.splitlines()] == [
        "/name: not used yet",
        "/model: not used yet",
        "/instructions: not used yet",
    ]
