"""`toolbus calls complete`: what a function came to, from the command line."""

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

COMPLETE = f"/v1/calls/{shapes.CALL}/complete"


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (["--result", '{"a": 1}'], {"output": {"a": 1}}),
        (["--result", "null"], {"output": None}),
        (["--error", "no paper"], {"error": {"message": "no paper"}}),
        (["--error", "no paper", "--code", "no_paper"], {"error": {"message": "no paper", "code": "no_paper"}}),
    ],
)
def test_a_call_is_completed(httpserver: HTTPServer, cli: Cli, options: list[str], sent: Any) -> None:
    """With a result in JSON, or with an error; the call is shown as it is then."""
    httpserver.expect_request(COMPLETE, method="POST").respond_with_json(shapes.call())
    done = cli("calls", "complete", shapes.CALL, *options)
    assert done.code == 0
    assert json.loads(httpserver.log[-1][0].get_data()) == sent
    assert "succeeded" in done.out


def test_the_token_of_the_call_stands_in_for_a_key(httpserver: HTTPServer, cli: Cli) -> None:
    """Whoever was only given the call can complete it."""
    httpserver.expect_request(COMPLETE, method="POST").respond_with_json(shapes.call())
    assert cli("calls", "complete", shapes.CALL, "--result", "1", "--token", "wt_x", "-o", "json").code == 0
    assert httpserver.log[-1][0].headers["authorization"] == "Bearer wt_x"


@pytest.mark.parametrize("options", [[], ["--result", "1", "--error", "x"], ["--result", "1", "--code", "x"]])
def test_it_is_a_result_or_an_error(httpserver: HTTPServer, cli: Cli, options: list[str]) -> None:
    """Neither and both are slips of the hand: nothing is sent."""
    assert cli("calls", "complete", shapes.CALL, *options).code == 2
    assert not httpserver.log


def test_another_answer_than_the_one_taken_exits_as_a_conflict(httpserver: HTTPServer, cli: Cli) -> None:
    """5."""
    told = shapes.problem("answer_taken", 409)
    httpserver.expect_request(COMPLETE).respond_with_json(told, status=409, content_type="application/problem+json")
    assert cli("calls", "complete", shapes.CALL, "--result", "1").code == 5


def test_calls_are_leased(httpserver: HTTPServer, cli: Cli) -> None:
    """A line each for people, and what to do next; the documented shape for programs."""
    told = {"items": [shapes.leased()]}
    httpserver.expect_request("/v1/waits/lease", method="POST").respond_with_json(told)
    done = cli("waits", "lease", "draft_letter", "send_letter", "--max", "3", "--visibility", "30")
    assert json.loads(httpserver.log[-1][0].get_data()) == {
        "tools": ["draft_letter", "send_letter"],
        "max": 3,
        "visibility_s": 30.0,
    }
    assert done.out.splitlines()[1].split("\t")[:3] == [shapes.CALL, shapes.WAIT, shapes.LEASE]
    assert "toolbus calls complete" in done.err
    found = cli("waits", "lease", "draft_letter", "-o", "jsonl").lines()
    assert [leased["token"] for leased in found] == ["wt_default_x"]


def test_when_nothing_waits_nothing_is_told(httpserver: HTTPServer, cli: Cli) -> None:
    """No advice about calls that are not there."""
    httpserver.expect_request("/v1/waits/lease", method="POST").respond_with_json({"items": []})
    done = cli("waits", "lease", "draft_letter")
    assert (done.code, "complete" in done.err) == (0, False)


def test_a_lease_is_kept_and_given_back(httpserver: HTTPServer, cli: Cli) -> None:
    """By its id, as `waits lease` told it."""
    path = f"/v1/waits/{shapes.WAIT}"
    httpserver.expect_request(f"{path}/heartbeat", method="POST").respond_with_json(shapes.lease())
    httpserver.expect_request(f"{path}/release", method="POST").respond_with_data(status=204)
    kept = cli("waits", "heartbeat", shapes.WAIT, "--lease", shapes.LEASE, "--visibility", "120")
    assert (kept.code, kept.out) == (0, "")
    assert json.loads(httpserver.log[-1][0].get_data()) == {"lease_id": shapes.LEASE, "visibility_s": 120.0}
    assert cli("waits", "heartbeat", shapes.WAIT, "--lease", shapes.LEASE, "-o", "json").json() == shapes.lease()
    assert cli("waits", "release", shapes.WAIT, "--lease", shapes.LEASE).code == 0
