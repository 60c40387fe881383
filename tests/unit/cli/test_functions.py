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
