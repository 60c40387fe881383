"""`toolbus calls`."""

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

PROBLEM = "application/problem+json"


def sent(httpserver: HTTPServer) -> Any:
    """The body that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def test_calls_are_listed(httpserver: HTTPServer, cli: Cli) -> None:
    """Fields divided by tabs off a terminal; whole ids; how to get the next page."""
    page = shapes.page(shapes.call(), shapes.call(tool="a\tb", status="failed"), next_cursor="abc")
    httpserver.expect_request("/v1/calls").respond_with_json(page)
    done = cli("calls", "ls")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert rows[0] == ["CALL", "STATUS", "AGE", "TOOL"]
    assert [row[0] for row in rows[1:]] == [shapes.CALL, shapes.CALL]
    assert rows[2][3] == "a\\tb"
    assert "--cursor abc" in done.err


def test_lists_as_json_are_the_documented_shape(httpserver: HTTPServer, cli: Cli) -> None:
    """`{"items", "next_cursor"}`, or an item a line."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.page(shapes.call(), next_cursor="abc"))
    found = cli("calls", "ls", "-o", "json").json()
    assert found["next_cursor"] == "abc"
    assert found["items"][0]["id"] == shapes.CALL
    assert [call["id"] for call in cli("calls", "ls", "-o", "jsonl").lines()] == [shapes.CALL]


def test_every_page_is_read_when_asked(httpserver: HTTPServer, cli: Cli) -> None:
    """--all goes on; there is no next cursor then."""
    listing = httpserver.expect_ordered_request
    listing("/v1/calls").respond_with_json(shapes.page(shapes.call(id="a"), next_cursor="1"))
    listing("/v1/calls").respond_with_json(shapes.page(shapes.call(id="b")))
    found = cli("calls", "ls", "--all", "-o", "json").json()
    assert ([call["id"] for call in found["items"]], found["next_cursor"]) == (["a", "b"], None)


def test_filters_are_sent(httpserver: HTTPServer, cli: Cli) -> None:
    """Each option is a query parameter; a length of time is a moment ago."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.page())
    given = ["--status", "failed", "--tool", "t", "--type", "mcp", "--execution", "e", "--external-id", "x"]
    more = ["--label", "a=1", "--label", "b:2", "--since", "2h", "--until", "2026-01-01T00:00:00Z", "--limit", "7"]
    cli("calls", "ls", *given, *more, "--include", "arguments,output", "--cursor", "c")
    asked = httpserver.log[-1][0].args.to_dict(flat=False)
    assert asked.pop("since")[0].endswith("+00:00")
    assert asked == {
        "status": ["failed"],
        "tool": ["t"],
        "type": ["mcp"],
        "execution_id": ["e"],
        "external_id": ["x"],
        "label": ["a:1", "b:2"],
        "until": ["2026-01-01T00:00:00+00:00"],
        "limit": ["7"],
        "include": ["arguments,output"],
        "cursor": ["c"],
    }


@pytest.mark.parametrize("when", ["yesterday", "2026-01-01T00:00:00", "5w"])
def test_a_time_that_is_none_is_a_usage_error(cli: Cli, when: str) -> None:
    """A time without an offset would mean another moment elsewhere."""
    assert cli("calls", "ls", "--since", when).code == 2


def test_a_call_is_shown_and_its_text_steers_nothing(httpserver: HTTPServer, cli: Cli) -> None:
    """What a tool answered is drawn escaped, and never read as markup."""
    bad = "\x1b[2J\x1b]0;title\x07[red]x[/red]\u202e"
    shown = shapes.call(
        tool=bad,
        status="failed",
        output={"text": bad},
        labels={"team": bad},
        error=shapes.error(message=bad, response={"status_code": 500, "headers": {}, "body_excerpt": bad}),
    )
    httpserver.expect_request(f"/v1/calls/{shapes.CALL}").respond_with_json(shown)
    done = cli("calls", "show", shapes.CALL)
    assert done.code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out + done.err)
    assert "[red]x[/red]" in done.out


def test_errors_steer_nothing_either(httpserver: HTTPServer, cli: Cli) -> None:
    """A problem document is text from outside too, in every form."""
    bad = "\x1b[2J[bold]x"
    told = shapes.problem(bad, 422, detail=bad, next_step=bad, errors=[{"path": bad, "message": bad}], call_id=bad)
    httpserver.expect_request("/v1/calls").respond_with_json(told, status=422, content_type=PROBLEM)
    for form in ("table", "json"):
        done = cli("call", bad, "-o", form)
        assert done.code == 2
        assert "\x1b" not in done.out + done.err
        assert "[bold]x" in done.err


def test_showing_with_waiting_exits_by_the_outcome(httpserver: HTTPServer, cli: Cli) -> None:
    """The call is shown in any case."""
    failed = shapes.call(status="failed", error=shapes.error())
    httpserver.expect_request(f"/v1/calls/{shapes.CALL}").respond_with_json(failed)
    assert cli("calls", "show", shapes.CALL).code == 0
    done = cli("calls", "show", shapes.CALL, "--wait", "1")
    assert done.code == 1
    assert shapes.CALL in done.out


def test_cancelling_and_settling(httpserver: HTTPServer, cli: Cli) -> None:
    """Both send their reason and show the call as it then stands."""
    cancelled = shapes.call(status="cancelled")
    httpserver.expect_request(f"/v1/calls/{shapes.CALL}/cancel", method="POST").respond_with_json(cancelled)
    httpserver.expect_request(f"/v1/calls/{shapes.CALL}/settle", method="POST").respond_with_json(shapes.call())
    assert "cancelled" in cli("calls", "cancel", shapes.CALL, "--reason", "late").out
    assert sent(httpserver) == {"reason": "late"}
    given = ["--outcome", "succeeded", "--note", "saw it", "--result", '{"a": 1}']
    assert cli("calls", "settle", shapes.CALL, *given).code == 0
    assert sent(httpserver) == {"outcome": "succeeded", "note": "saw it", "output": {"a": 1}}
    assert cli("calls", "settle", shapes.CALL, "--outcome", "perhaps", "--note", "x").code == 2
