"""`toolbus call` and `toolbus calls`."""

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


def answer(httpserver: HTTPServer, http_status: int = 202, **changes: Any) -> None:
    """Let submissions be answered with a call."""
    httpserver.expect_request("/v1/calls", method="POST").respond_with_json(shapes.call(**changes), status=http_status)


def test_without_waiting_the_id_is_printed(httpserver: HTTPServer, cli: Cli) -> None:
    """The id is the data; what to do with it goes to stderr."""
    answer(httpserver)
    done = cli("call", "get_weather", "--arg", "city=Berlin")
    assert (done.code, done.out) == (0, shapes.CALL + "\n")
    assert f"calls show {shapes.CALL}" in done.err


def test_with_waiting_the_output_is_printed(httpserver: HTTPServer, cli: Cli) -> None:
    """As JSON, ready for the next program."""
    answer(httpserver)
    done = cli("call", "get_weather", "--wait", "10")
    assert (done.code, done.json(), done.err) == (0, shapes.call()["output"], "")
    assert httpserver.log[-1][0].args["wait_s"] == "10"


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_as_json_the_whole_call_is_printed(httpserver: HTTPServer, cli: Cli, form: str) -> None:
    """The documented shape, without what this version does not know."""
    answer(httpserver)
    done = cli("call", "get_weather", "-o", form)
    expected = shapes.call()
    del expected["later_field"]
    assert done.json() == {**expected, "execution_id": shapes.EXECUTION}
    assert (done.out.count("\n") == 1) == (form == "jsonl")


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"status": "failed", "error": shapes.error()}, 1, "answered 500"),
        ({"status": "failed", "error": shapes.error("of_a_newer_server")}, 1, "of_a_newer_server"),
        ({"status": "expired", "error": shapes.error("deadline_passed")}, 1, "later deadline"),
        ({"status": "in_doubt", "finished_at": None, "error": shapes.error("connection_lost")}, 1, "settle"),
        ({"status": "waiting", "finished_at": None, "wait": shapes.wait()}, 75, "waits for approval"),
        ({"status": "running", "finished_at": None}, 75, "do not submit another"),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_with_waiting_it_exits_by_the_outcome(
    httpserver: HTTPServer, cli: Cli, *, changes: dict[str, Any], code: int, told: str, form: str
) -> None:
    """No output on stdout, the reason on stderr; as JSON the call is printed all the same."""
    answer(httpserver, **{"output": None, **changes})
    httpserver.expect_request(f"/v1/calls/{shapes.CALL}").respond_with_json(shapes.call(**changes))
    done = cli("call", "get_weather", "--wait", "0.1", "-o", form)
    assert done.code == code
    assert told in done.err
    assert (done.out == "") == (form == "table")


def test_arguments_are_put_together(httpserver: HTTPServer, cli: Cli) -> None:
    """--args first; each --arg over it, as text or, with :=, as JSON."""
    answer(httpserver)
    cli("call", "t", "--args", '{"a": 1, "b": 2}', "--arg", "b=3", "--arg", "c:=[4]", "--arg", "d=x=y", "--arg", "e=")
    assert sent(httpserver)["arguments"] == {"a": 1, "b": "3", "c": [4], "d": "x=y", "e": ""}


def test_arguments_from_a_file_and_from_standard_input(httpserver: HTTPServer, cli: Cli, tmp_path: Any) -> None:
    """@FILE and - are where the JSON comes from."""
    answer(httpserver)
    (tmp_path / "args.json").write_text('{"from": "file"}')
    cli("call", "t", "--args", f"@{tmp_path}/args.json")
    assert sent(httpserver)["arguments"] == {"from": "file"}
    cli("call", "t", "--args", "-", stdin='{"from": "stdin"}')
    assert sent(httpserver)["arguments"] == {"from": "stdin"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--args", "{"], "--args: not JSON"),
        (["--args", "[1]"], "not a JSON object"),
        (["--args", '{"a": 1, "a": 2}'], "duplicate key"),
        (["--args", "@/nowhere/at/all"], "cannot be read"),
        (["--arg", "city"], "NAME=TEXT"),
        (["--arg", "=x"], "NAME=TEXT"),
        (["--arg", "n:=five"], "--arg n"),
        (["--label", "x"], "NAME=VALUE"),
        (["--label", "a=1", "--label", "a=2"], "given twice"),
        (["--wait", "long"], "--wait"),
        (["-o", "xml"], "xml"),
        (["--bogus"], "--bogus"),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(
    httpserver: HTTPServer, cli: Cli, arguments: list[str], told: str
) -> None:
    """Exit code 2, a message that names the place, and nothing sent."""
    done = cli("call", "t", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not httpserver.log


def test_options_reach_the_body(httpserver: HTTPServer, cli: Cli) -> None:
    """Everything that may be said about a call."""
    answer(httpserver, 200)
    execution, key = shapes.EXECUTION, "order-7"
    options = [
        "--execution",
        execution,
        "--deadline",
        "60",
        "--label",
        "team=ops",
        "--dry-run",
        "--idempotency-key",
        key,
    ]
    cli("call", "t", *options)
    assert sent(httpserver) == {
        "tool": "t",
        "arguments": {},
        "execution_id": execution,
        "deadline_s": 60.0,
        "labels": {"team": "ops"},
        "dry_run": True,
        "idempotency_key": key,
    }


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("invalid_arguments", 422, 2),
        ("unknown_tool", 404, 3),
        ("unauthenticated", 401, 4),
        ("forbidden", 403, 4),
        ("idempotency_key_reused", 409, 5),
        ("busy", 503, 75),
        ("unavailable", 503, 69),
        ("internal", 500, 1),
        ("of_a_newer_server", 404, 3),
        ("of_a_newer_server", 412, 5),
        ("of_a_newer_server", 418, 2),
        ("of_a_newer_server", 429, 75),
        ("of_a_newer_server", 503, 69),
        ("of_a_newer_server", 500, 1),
    ],
)
def test_problems_become_exit_codes(
    httpserver: HTTPServer, cli: Cli, *, code: str, status: int, exit_code: int
) -> None:
    """By their code; by their status where the code is unknown. Message, path and next step are told."""
    told = shapes.problem(code, status, errors=[{"path": "/arguments/city", "message": "is required"}])
    httpserver.expect_request("/v1/calls").respond_with_json(told, status=status, content_type=PROBLEM)
    done = cli("call", "t")
    assert (done.code, done.out) == (exit_code, "")
    for part in (f"it is {code}", code, "/arguments/city: is required", f"mend {code}"):
        assert part in done.err


def test_problems_are_json_when_json_was_asked_for(httpserver: HTTPServer, cli: Cli) -> None:
    """One line on stderr that a program can read."""
    told = shapes.problem("unknown_tool", 404, call_id="call_x")
    httpserver.expect_request("/v1/calls").respond_with_json(told, status=404, content_type=PROBLEM)
    done = cli("call", "t", "-o", "json")
    found = json.loads(done.err)
    assert (found["code"], found["status"], found["exit_code"], found["call_id"]) == ("unknown_tool", 404, 3, "call_x")
    assert (found["detail"], found["next_step"]) == ("it is unknown_tool", "mend unknown_tool")


def test_text_that_should_have_been_a_number_is_hinted_at(httpserver: HTTPServer, cli: Cli) -> None:
    """`--arg days=3` is text; the way to say a number is shown."""
    told = shapes.problem("invalid_arguments", 422)
    httpserver.expect_request("/v1/calls").respond_with_json(told, status=422, content_type=PROBLEM)
    assert "k:=JSON" in cli("call", "t", "--arg", "days=3").err
    assert "k:=JSON" not in cli("call", "t", "--arg", "days:=3").err


def test_no_server_says_how_to_start_one(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Exit code 2, and the command to run."""
    monkeypatch.delenv("TOOLBUS_URL")
    monkeypatch.delenv("TOOLBUS_API_KEY")
    monkeypatch.chdir(tmp_path)
    done = cli("call", "t")
    assert (done.code, done.out) == (2, "")
    assert "toolbus up" in done.err


def test_an_unreachable_server_is_69(cli: Cli) -> None:
    """Nobody listens on port 9 of this machine."""
    done = cli("calls", "ls", "--url", "http://127.0.0.1:9")
    assert (done.code, done.out) == (69, "")
    assert "Check the address" in done.err


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
