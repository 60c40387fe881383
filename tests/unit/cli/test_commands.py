"""The command line as a whole: every command is one endpoint, and processes end as they should."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes, wait_shapes, webhook_shapes
from tests.unit.client.secret_shapes import secret
from toolbus.cli.app import app
from toolbus.openapi import document

WAIT = wait_shapes.wait_detail()
# What each command asks: its arguments, the documented endpoint, and an answer to it.
ENDPOINTS: dict[str, tuple[list[str], str, Any]] = {
    "call": (["t"], "POST /v1/calls", shapes.call()),
    "calls ls": ([], "GET /v1/calls", shapes.page(shapes.call())),
    "calls show": (["x"], "GET /v1/calls/{call_id}", shapes.call()),
    "calls complete": (["x", "--result", "1"], "POST /v1/calls/{call_id}/complete", shapes.call()),
    "calls cancel": (["x"], "POST /v1/calls/{call_id}/cancel", shapes.call()),
    "calls settle": (["x", "--outcome", "failed", "--note", "n"], "POST /v1/calls/{call_id}/settle", shapes.call()),
    "dead ls": ([], "GET /v1/dead", shapes.page(shapes.letter())),
    "dead show": (["x"], "GET /v1/dead/{letter_id}", shapes.opened()),
    "dead redrive": (["x"], "POST /v1/dead/{letter_id}/redrive", shapes.redriven()),
    "exec ls": ([], "GET /v1/executions", shapes.page(shapes.execution())),
    "exec start": ([], "POST /v1/executions", shapes.execution()),
    "exec finish": (["x"], "POST /v1/executions/{execution_id}/finish", shapes.execution()),
    "exec cancel": (["x"], "POST /v1/executions/{execution_id}/cancel", shapes.execution()),
    "exec events": (["x"], "GET /v1/executions/{execution_id}/events", shapes.page(shapes.event(1))),
    "exec transitions": (["x"], "GET /v1/executions/{execution_id}/transitions", shapes.page(shapes.transition())),
    "keys create": (["--subject", "user:a", "--scope", "read"], "POST /v1/keys", shapes.key(token="tb_x")),
    "keys ls": ([], "GET /v1/keys", shapes.page(shapes.key())),
    "keys revoke": (["x"], "DELETE /v1/keys/{key_id}", shapes.key()),
    "tools apply": (["-"], "PUT /v1/tools/{name}", shapes.tool()),
    "tools ls": ([], "GET /v1/tools", shapes.page(shapes.tool())),
    "tools show": (["x"], "GET /v1/tools/{name}", shapes.tool()),
    "tools versions": (["x"], "GET /v1/tools/{name}/versions", shapes.page(shapes.tool())),
    "tools rm": (["x"], "DELETE /v1/tools/{name}", shapes.tool()),
    "tools diff": (["-"], "GET /v1/tools/{name}", shapes.tool()),
    "waits ls": ([], "GET /v1/waits", shapes.page(WAIT)),
    "waits show": (["x"], "GET /v1/waits/{wait_id}", WAIT),
    "waits approve": (["x", "--digest", "d"], "POST /v1/waits/{wait_id}/approve", WAIT),
    "waits deny": (["x", "--digest", "d", "--note", "n"], "POST /v1/waits/{wait_id}/deny", WAIT),
    "waits answer": (["x", "--digest", "d"], "POST /v1/waits/{wait_id}/answer", WAIT),
    "waits delegate": (["x", "--to", "user:b", "--until", "2d"], "POST /v1/waits/{wait_id}/delegate", WAIT),
    "waits lease": (["t"], "POST /v1/waits/lease", {"items": [shapes.leased()]}),
    "waits heartbeat": (["x", "--lease", "l"], "POST /v1/waits/{wait_id}/heartbeat", shapes.lease()),
    "waits release": (["x", "--lease", "l"], "POST /v1/waits/{wait_id}/release", {}),
    "grants ls": ([], "GET /v1/grants", shapes.page(wait_shapes.grant())),
    "grants give": (["t", "--uses", "2", "--until", "2d"], "POST /v1/grants", wait_shapes.grant()),
    "grants revoke": (["x"], "DELETE /v1/grants/{grant_id}", wait_shapes.grant()),
    "delegations ls": ([], "GET /v1/delegations", shapes.page(wait_shapes.delegation())),
    "delegations give": (["user:ben", "--until", "2d"], "POST /v1/delegations", wait_shapes.delegation()),
    "delegations revoke": (["x"], "DELETE /v1/delegations/{delegation_id}", wait_shapes.delegation()),
    "webhooks put": (
        ["w", "https://a.example.com"],
        "PUT /v1/webhooks/{name}",
        webhook_shapes.webhook(secret="whsec_x"),
    ),
    "webhooks rotate": (["w"], "POST /v1/webhooks/{name}/rotate", webhook_shapes.webhook(secret="whsec_x")),
    "webhooks ls": ([], "GET /v1/webhooks", shapes.page(webhook_shapes.webhook())),
    "webhooks show": (["w"], "GET /v1/webhooks/{name}", webhook_shapes.webhook()),
    "webhooks rm": (["w"], "DELETE /v1/webhooks/{name}", webhook_shapes.webhook()),
    "webhooks enable": (["w"], "POST /v1/webhooks/{name}/enable", webhook_shapes.webhook()),
    "webhooks deliveries": (["w"], "GET /v1/webhooks/{name}/deliveries", shapes.page(webhook_shapes.delivery())),
    "webhooks resend": (
        ["w", "x"],
        "POST /v1/webhooks/{name}/deliveries/{delivery_id}/resend",
        webhook_shapes.delivery(),
    ),
    "webhooks resend-all": (["w", "--since", "2h"], "POST /v1/webhooks/{name}/resend", {"deliveries": 2}),
    "integrations ls": ([], "GET /v1/integrations", shapes.page(shapes.provider())),
    "integrations show": (["library"], "GET /v1/integrations/{provider}", shapes.provider()),
    "secrets set": (["pay"], "PUT /v1/secrets/{name}", secret()),
    "secrets ls": ([], "GET /v1/secrets", shapes.page(secret())),
    "secrets rm": (["pay"], "DELETE /v1/secrets/{name}", secret()),
    "stored set": (["search"], "PUT /v1/stored/{level}/{level_id}/{tool}", shapes.stored()),
    "stored show": (["search"], "GET /v1/stored/{level}/{level_id}/{tool}", shapes.stored()),
    "stored ls": ([], "GET /v1/stored", shapes.page(shapes.stored())),
    "stored rm": (["search"], "DELETE /v1/stored/{level}/{level_id}/{tool}", shapes.stored()),
    "mcp add": (["files", "--server-url", "https://x"], "PUT /v1/mcp/servers/{name}", shapes.mcp_server()),
    "mcp ls": ([], "GET /v1/mcp/servers", shapes.page(shapes.mcp_server())),
    "mcp show": (["files"], "GET /v1/mcp/servers/{name}", shapes.mcp_server()),
    "mcp rm": (["files"], "DELETE /v1/mcp/servers/{name}", shapes.mcp_server()),
    "mcp tools": (["files"], "GET /v1/mcp/servers/{name}/tools", shapes.mcp_surface(shapes.mcp_tool())),
    "tail": (["-n", "1"], "GET /v1/events/stream", shapes.sse(shapes.event(1))),
}
# Commands that are no single endpoint, and why.
EXCEPTIONS = {
    "exec show": "reads an execution and its events, to draw them together",
    "doctor": "asks the version, the key, the readiness and the dead letters",
    "schemas export": "writes what this version knows; asks nobody",
    "up": "runs the server",
    "serve": "runs a service",
    "migrate": "speaks to the database",
    "tools import openapi": "reads a document, and registers each of its operations",
    "mcp import": "asks the server for its tools, and registers each",
    "secrets rotate-key": "speaks to the database",
    "demo": "runs a server of its own",
    "bench": "runs servers of its own",
    "bus declare": "speaks to NATS",
}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command there is, by its words."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield " ".join(words), command
        for name, found in (inner or {}).items():
            yield from walk(found, (*words, name))

    yield from walk(typer.main.get_command(app), ())


COMMANDS = dict(commands())


def test_every_command_is_one_endpoint_or_says_why_not() -> None:
    """A new command is entered here, or is one endpoint."""
    assert COMMANDS.keys() == ENDPOINTS.keys() | EXCEPTIONS.keys()
    assert not ENDPOINTS.keys() & EXCEPTIONS.keys()


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_command_asks_its_documented_endpoint_and_no_other(httpserver: HTTPServer, cli: Cli, name: str) -> None:
    """One request, of a method and path that the server documents."""
    arguments, endpoint, told = ENDPOINTS[name]

    def answer(_: Request) -> Response:
        is_stream = isinstance(told, str)
        return Response(told) if is_stream else Response(json.dumps(told), content_type="application/json")

    httpserver.expect_request(re.compile(".*")).respond_with_handler(answer)
    done = cli(*name.split(), *arguments, stdin='{"name": "get_weather", "function": {}}')
    assert done.code in ({0, 1} if name == "tools diff" else {0}), done.err
    (request,) = [request for request, _ in httpserver.log]
    method, path = endpoint.split()
    assert path in documented()
    assert method.lower() in documented()[path]
    assert request.method == method
    assert re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), request.path)


@cache
def documented() -> dict[str, Any]:
    """The paths of the server's own OpenAPI document."""
    found: dict[str, Any] = json.loads(document())["paths"]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_is_explained(cli: Cli, name: str) -> None:
    """--help works, and no parameter is left without a word."""
    done = cli(*name.split(), "--help")
    assert done.code == 0
    assert COMMANDS[name].help
    assert all(parameter.help for parameter in COMMANDS[name].params), name


SILENT = {
    "tools rm",
    "keys revoke",
    "tools diff",
    "webhooks rm",
    "waits release",
    "grants revoke",
    "delegations revoke",
    "secrets rm",
    "stored rm",
    "mcp rm",
}
READING = sorted({*ENDPOINTS, "doctor", "exec show"} - SILENT)


@pytest.mark.parametrize("name", READING)
def test_every_reading_command_has_the_three_forms(name: str) -> None:
    """-o table, json, jsonl."""
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {"-o", "--output"} <= options


def test_commands_without_arguments_explain_themselves(cli: Cli) -> None:
    """The names of the commands are listed; a usage error for scripts."""
    for words in ([], ["tools"], ["calls"]):
        done = cli(*words)
        assert done.code == 2
        assert "Usage" in done.out + done.err
        assert "error:" not in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["calls", "settle", "x"], "error: Missing option '--outcome'. Choose from: succeeded, failed, retry\n"),
        (["calls", "ls", "-o", "csv"], ": 'csv' is not one of 'table', 'json', 'jsonl'.\n"),
    ],
)
def test_wrong_usage_is_told_in_one_readable_line(cli: Cli, arguments: list[str], told: str) -> None:
    """Neither escapes of line ends, nor the words of a library."""
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_the_version(cli: Cli) -> None:
    """On stdout, alone."""
    done = cli("--version")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"toolbus \S+\n", done.out)
