"""The command line as a whole: every command is one endpoint, and processes end as they should."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes, wait_shapes
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
    "webhooks put": (["w", "https://a.example.com"], "PUT /v1/webhooks/{name}", shapes.webhook(secret="whsec_x")),
    "webhooks rotate": (["w"], "POST /v1/webhooks/{name}/rotate", shapes.webhook(secret="whsec_x")),
    "webhooks ls": ([], "GET /v1/webhooks", shapes.page(shapes.webhook())),
    "webhooks show": (["w"], "GET /v1/webhooks/{name}", shapes.webhook()),
    "webhooks rm": (["w"], "DELETE /v1/webhooks/{name}", shapes.webhook()),
    "webhooks enable": (["w"], "POST /v1/webhooks/{name}/enable", shapes.webhook()),
    "webhooks deliveries": (["w"], "GET /v1/webhooks/{name}/deliveries", shapes.page(shapes.delivery())),
    "webhooks resend": (
        ["w", "x"],
        "POST /v1/webhooks/{name}/deliveries/{delivery_id}/resend",
        shapes.delivery(),
    ),
    "webhooks resend-all": (["w", "--since", "2h"], "POST /v1/webhooks/{name}/resend", {"deliveries": 2}),
    "secrets set": (["pay"], "PUT /v1/secrets/{name}", shapes.secret()),
    "secrets ls": ([], "GET /v1/secrets", shapes.page(shapes.secret())),
    "secrets rm": (["pay"], "DELETE /v1/secrets/{name}", shapes.secret()),
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


SILENT = {"tools rm", "keys revoke", "tools diff", "webhooks rm", "waits release", "grants revoke", "secrets rm"}
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


# ── as a process ────────────────────────────────────────────────────────────────────────────────


def environment(httpserver: HTTPServer, **more: str) -> dict[str, str]:
    """What a process needs to find the test's server."""
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS"}}
    return {**kept, "TOOLBUS_URL": httpserver.url_for(""), "TOOLBUS_API_KEY": "tb_test", "TERM": "xterm", **more}


def start(httpserver: HTTPServer, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start the command line as a process of its own."""
    command = [sys.executable, "-m", "toolbus", *arguments]
    more = options.pop("more", {})
    return subprocess.Popen(command, env=environment(httpserver, **more), **options)


def serve_calls(httpserver: HTTPServer, number: int) -> None:
    """A list of calls."""
    calls = [shapes.call(tool="a_name_that_is_too_long_for_a_narrow_terminal") for _ in range(number)]
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.page(*calls))


def test_a_reader_that_has_seen_enough_is_no_error(httpserver: HTTPServer) -> None:
    """`toolbus calls ls -o jsonl | head -1` ends quietly with exit code 0."""
    serve_calls(httpserver, 5000)
    process = start(httpserver, "calls", "ls", "-o", "jsonl", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert (process.wait(30), told) == (0, b"")


def test_control_c_is_130_and_says_how_to_go_on(httpserver: HTTPServer) -> None:
    """The call may go on; its key is told, so that it can be asked for again."""
    asked: list[Request] = []

    def hold(request: Request) -> Response:
        asked.append(request)
        process.send_signal(signal.SIGINT)
        process.wait(30)
        return Response("late")

    httpserver.expect_request("/v1/calls").respond_with_handler(hold)
    process = start(httpserver, "call", "t", "--wait", "60", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, told = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert b"--idempotency-key client-" in told
    assert b"Traceback" not in told


def on_terminal(httpserver: HTTPServer, *arguments: str, **more: str) -> str:
    """What a command draws on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    settings = {"COLUMNS": "80", "LINES": "24", **more}
    process = start(httpserver, *arguments, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, more=settings)
    os.close(theirs)
    drawn = b""
    while True:
        select.select([ours], [], [], 30)
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    process.wait(30)
    return drawn.decode()


def test_tables_fit_the_terminal(httpserver: HTTPServer) -> None:
    """Ids are whole, the long name is cut with an ellipsis, no line is wider than 80."""
    serve_calls(httpserver, 3)
    lines = on_terminal(httpserver, "calls", "ls", NO_COLOR="1").splitlines()
    assert len(lines) == 4
    assert all(shapes.CALL in line and line.endswith("…") for line in lines[1:])
    assert {len(line) for line in lines[1:]} == {80}


def test_colours_on_a_terminal_unless_they_are_not_wanted(httpserver: HTTPServer) -> None:
    """NO_COLOR turns them off. Source: no-color.org."""
    serve_calls(httpserver, 1)
    assert "\x1b[32m" in on_terminal(httpserver, "calls", "ls")
    assert "\x1b[3" not in on_terminal(httpserver, "calls", "ls", NO_COLOR="1")


def test_following_on_a_terminal_ends_with_the_whole_timeline(httpserver: HTTPServer) -> None:
    """It is drawn anew with each event, and stays when the execution has ended."""
    path = f"/v1/executions/{shapes.EXECUTION}"
    for status in ("running", "running"):
        httpserver.expect_oneshot_request(path).respond_with_json(shapes.execution(status=status, finished_at=None))
    httpserver.expect_request(path).respond_with_json(shapes.execution())
    text = shapes.sse(shapes.event(1, tool="get_weather"), shapes.event(2, "call.succeeded.v1", 0.3))
    httpserver.expect_request(f"{path}/events/stream").respond_with_data(text, content_type="text/event-stream")
    httpserver.expect_request(f"{path}/events").respond_with_json(shapes.page())
    drawn = on_terminal(httpserver, "exec", "show", shapes.EXECUTION, "--follow", NO_COLOR="1")
    assert "1 call: 1 succeeded" in drawn.split("running")[-1]
    assert "call.succeeded" in drawn.splitlines()[-1]


def test_a_terminal_without_unicode(httpserver: HTTPServer) -> None:
    """Letters that it cannot show are written as their escapes; nothing fails."""
    httpserver.expect_request("/v1/calls/x").respond_with_json(shapes.call(output={"city": "Zürich ☂"}))
    told = on_terminal(httpserver, "calls", "show", "x", PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert "Z\\xfcrich \\u2602" in told
