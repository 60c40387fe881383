"""`toolbus stored`: what is stored, for whom."""

import json

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

FOR_ANA = "/v1/stored/user/ana/search"


def test_values_are_given_as_json(httpserver: HTTPServer, cli: Cli) -> None:
    """As text, or on stdin; what was stored is told, and for whom."""
    httpserver.expect_request(FOR_ANA, method="PUT").respond_with_json(shapes.stored(level="user", level_id="ana"))
    setup = json.dumps({"key": "secret://key"})
    done = cli("stored", "set", "search", "--for", "user:ana", "--setup", setup, "--args", "-", stdin='{"limit": 3}')
    assert (done.code, done.out, done.err) == (0, "", "Stored for search at user:ana.\n")
    assert json.loads(httpserver.log[-1][0].get_data()) == {"setup": {"key": "secret://key"}, "arguments": {"limit": 3}}


def test_what_is_stored_is_shown(httpserver: HTTPServer, cli: Cli) -> None:
    """For all calls when nobody is named."""
    httpserver.expect_request("/v1/stored/tenant/all/search").respond_with_json(shapes.stored(arguments={}))
    done = cli("stored", "show", "search")
    assert "secret://key" in done.out
    assert "arguments" not in done.out
    httpserver.expect_request("/v1/stored").respond_with_json(
        shapes.page(shapes.stored(), shapes.stored(level="user", level_id="ana"))
    )
    for every in ((), ("--all",)):
        done = cli("stored", "ls", "--tool", "search", *every)
        assert "tenant" in done.out
        assert "user:ana" in done.out


@pytest.mark.parametrize("whose", ["ana", "user", "user:", "planet:x"])
def test_whose_it_is_must_be_told(httpserver: HTTPServer, cli: Cli, whose: str) -> None:
    """A level that there is, and an id where it has one."""
    for command in ("set", "show", "rm"):
        assert cli("stored", command, "search", "--for", whose).code == 2
    assert not httpserver.log


def test_setup_is_an_object(httpserver: HTTPServer, cli: Cli) -> None:
    """Nothing else is sent."""
    done = cli("stored", "set", "search", "--setup", "[1]")
    assert (done.code, "--setup is not a JSON object" in done.err) == (2, True)
    assert not httpserver.log
