"""`toolbus call`."""

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes
from toolbus.cli.options import NEAR_LEVELS
from toolbus_contracts.stored import CallContext

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


def test_of_a_call_that_waits_for_somebody_its_wait_is_named(httpserver: HTTPServer, cli: Cli) -> None:
    """To wait for the call would not help: somebody has to act."""
    answer(httpserver, status="waiting", finished_at=None, wait=shapes.wait())
    done = cli("call", "get_weather")
    assert (done.code, done.out) == (0, shapes.CALL + "\n")
    assert "waits show wait_1" in done.err


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
        "--context",
        "user=ana",
        "--context",
        "session:s1",
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
        "context": {"user": "ana", "session": "s1"},
        "labels": {"team": "ops"},
        "dry_run": True,
        "idempotency_key": key,
    }


@pytest.mark.parametrize(
    ("context", "told"),
    [("tenant=all", "none of session, task, user, agent"), ("user=", "whose user is meant?"), ("ana", "NAME=VALUE")],
)
def test_a_context_that_no_call_has_is_not_sent(httpserver: HTTPServer, cli: Cli, context: str, told: str) -> None:
    """The levels that a call may name are those of the contract."""
    done = cli("call", "t", "--context", context)
    assert (done.code, done.out, httpserver.log) == (2, "", [])
    assert told in " ".join(done.err.split())
    assert set(NEAR_LEVELS) == set(CallContext.model_fields)


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
