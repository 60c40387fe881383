"""The command line as a process: how it ends, and what it draws on a terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.client import shapes


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
