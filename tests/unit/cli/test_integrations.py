"""`toolbus integrations`: the catalogue, for people and for programs."""

import json

from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes


def test_providers_are_listed(httpserver: HTTPServer, cli: Cli) -> None:
    """What each offers, what has to be set up for it, and what is wrong with it."""
    broken = shapes.provider(
        provider="other", setup=None, methods=[], fault={"code": "provider_failed", "message": "no"}
    )
    httpserver.expect_request("/v1/integrations").respond_with_json(shapes.page(shapes.provider(), broken))
    done = cli("integrations", "ls")
    assert done.code == 0, done.err
    assert [line.split("\t") for line in done.out.splitlines()[1:]] == [
        ["library", "The library", "search", "key", ""],
        ["other", "The library", "", "", "no"],
    ]
    told = json.loads(cli("integrations", "ls", "-o", "json").out)
    assert told["items"][0]["methods"][0]["contract"] == {"effect": "read", "idempotency": "native"}


def test_a_provider_is_shown(httpserver: HTTPServer, cli: Cli) -> None:
    """Its setup and methods; what has to be given is marked."""
    httpserver.expect_request("/v1/integrations/library").respond_with_json(shapes.provider())
    done = cli("integrations", "show", "library")
    assert done.code == 0, done.err
    assert "toolbus-library 1.0" in done.out
    assert "key*, base_url" in done.out
    assert done.out.splitlines()[-1].split("\t") == ["search", "read", "native", "30 s", "query*, count"]


def test_a_provider_with_a_fault_is_shown(httpserver: HTTPServer, cli: Cli) -> None:
    """With the fault, and no table of methods."""
    fault = {"code": "provider_missing", "message": "needs x"}
    answer = shapes.provider(setup=None, methods=[], fault=fault)
    httpserver.expect_request("/v1/integrations/library").respond_with_json(answer)
    done = cli("integrations", "show", "library")
    assert "provider_missing: needs x" in done.out
    assert "METHOD" not in done.out
