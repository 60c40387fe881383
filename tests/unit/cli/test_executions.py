"""`toolbus exec`."""

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

PATH = f"/v1/executions/{shapes.EXECUTION}"
EVENTS = [
    shapes.event(1, "call.requested.v1", 0, tool="get_weather"),
    shapes.event(2, "call.dispatched.v1", 0.1, attempt=1),
    shapes.event(3, "call.succeeded.v1", 0.3, attempt=1),
]


@pytest.fixture
def served(httpserver: HTTPServer) -> HTTPServer:
    """A server with one execution."""
    httpserver.expect_request(PATH).respond_with_json(shapes.execution())
    httpserver.expect_request(f"{PATH}/events").respond_with_json(shapes.page(*EVENTS))
    return httpserver


def test_the_timeline_is_drawn(served: HTTPServer, cli: Cli) -> None:
    """Lanes and events, in 80 columns."""
    done = cli("exec", "show", shapes.EXECUTION)
    assert done.code == 0
    assert "✓" in done.out
    assert "call.succeeded" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(served.log) == 2


@pytest.mark.parametrize(
    ("at", "asked", "shown"),
    [("2", "2", 2), ("2026-11-30T12:00:00.2Z", "2026-11-30T12:00:00.200000+00:00", 2), ("3", "3", 3)],
)
def test_as_it_was(served: HTTPServer, cli: Cli, *, at: str, asked: str, shown: int) -> None:
    """A position or a time: the server tells the state, later events are left out."""
    done = cli("exec", "show", shapes.EXECUTION, "--at", at)
    assert served.log[0][0].args["at"] == asked
    assert sum(line.lstrip()[:1].isdigit() and "call." in line for line in done.out.splitlines()) == shown


def test_as_json_it_is_the_documented_shape(served: HTTPServer, cli: Cli) -> None:
    """The execution alone, from one request."""
    assert cli("exec", "show", shapes.EXECUTION, "-o", "json").json() == shapes.execution()
    assert len(served.log) == 1


def test_following_off_a_terminal_writes_events_one_by_one(httpserver: HTTPServer, cli: Cli) -> None:
    """Until the execution has ended; as JSON each is a line."""
    for form in ("table", "jsonl"):
        httpserver.clear()
        extra = ["running"] if form == "table" else []
        for status in (*extra, "running", "succeeded"):
            httpserver.expect_oneshot_request(PATH).respond_with_json(shapes.execution(status=status))
        stream = httpserver.expect_request(f"{PATH}/events/stream")
        stream.respond_with_data(shapes.sse(*EVENTS), content_type="text/event-stream")
        httpserver.expect_request(f"{PATH}/events").respond_with_json(shapes.page())
        done = cli("exec", "show", shapes.EXECUTION, "--follow", "-o", form)
        assert done.code == 0
        if form == "jsonl":
            assert [event["position"] for event in done.lines()] == [1, 2, 3]
        else:
            assert [line.split()[0] for line in done.out.splitlines()] == ["1", "2", "3"]


def test_following_another_time_is_a_usage_error(cli: Cli) -> None:
    """The past does not go on."""
    assert cli("exec", "show", "x", "--follow", "--at", "3").code == 2


def test_lists(served: HTTPServer, cli: Cli) -> None:
    """Executions, events and transitions, with their filters."""
    served.expect_request("/v1/executions").respond_with_json(shapes.page(shapes.execution()))
    served.expect_request(f"{PATH}/transitions").respond_with_json(shapes.page(shapes.transition()))
    rows = cli("exec", "ls", "--status", "running", "--label", "a=1", "--parent", "p").out.splitlines()
    assert rows[1].split("\t")[0] == shapes.EXECUTION
    assert served.log[-1][0].args.to_dict() == {"status": "running", "label": "a:1", "parent": "p", "limit": "50"}
    assert [event["position"] for event in cli("exec", "events", shapes.EXECUTION, "-o", "jsonl").lines()] == [1, 2, 3]
    assert cli("exec", "events", shapes.EXECUTION, "--after", "1").out.splitlines()[1].split("\t")[0] == "1"
    assert cli("exec", "transitions", shapes.EXECUTION, "--at", "9", "-o", "json").json()["items"][0]["type"] == "step"


def test_starting_finishing_cancelling(httpserver: HTTPServer, cli: Cli) -> None:
    """The id is printed alone, for the next command."""
    httpserver.expect_request("/v1/executions", method="POST").respond_with_json(shapes.execution(), status=201)
    httpserver.expect_request(f"{PATH}/finish", method="POST").respond_with_json(shapes.execution())
    httpserver.expect_request(f"{PATH}/cancel", method="POST").respond_with_json(shapes.execution(status="cancelled"))

    def body() -> Any:
        return json.loads(httpserver.log[-1][0].get_data())

    assert cli("exec", "start", "--label", "a=1", "--scope", "task:t", "--input", "[1]").out == shapes.EXECUTION + "\n"
    assert body() == {"labels": {"a": "1"}, "scopes": ["task:t"], "parent": None, "input": [1]}
    assert cli("exec", "finish", shapes.EXECUTION, "--failed", "--result", "2").code == 0
    assert body() == {"status": "failed", "output": 2}
    assert cli("exec", "cancel", shapes.EXECUTION, "--reason", "late").out == f"{shapes.EXECUTION}\tcancelled\n"
    assert body() == {"reason": "late"}
    assert cli("exec", "finish", shapes.EXECUTION, "--result", "{").code == 2
