"""Setup of tools of providers on the whole path: what fits, what is secret in it, and where secrets go."""

import httpx
import pytest
from pytest_httpserver import HTTPServer

from tests.integration.integrations.calling import called, define
from tests.integration.integrations.shelf import url_of


def test_setup_is_checked_by_the_provider(http: httpx.Client) -> None:
    """What does not fit is named, and nothing was sent."""
    define(http, "unset", {"provider": "keyed", "setup": {"base_url": "http://127.0.0.1:9"}})
    call = called(http, "unset")
    assert (call["status"], call["error"]["code"]) == ("failed", "setup_invalid"), call
    assert call["error"]["message"] == "/setup/api_key: this field is missing"
    assert call["error"]["details"] == [{"path": "/setup/api_key", "message": "this field is missing"}]
    assert call["error"]["effect_happened"] == "no"


def test_a_secret_that_is_written_out_in_setup_is_refused(http: httpx.Client) -> None:
    """Wherever it can come in: the definition, one that a call brings along, what is stored before and behind it."""
    plain = {"api_key": "canary-written-out", "base_url": "http://127.0.0.1:9"}
    section = {"provider": "keyed", "setup": plain}
    defined = http.put("/v1/tools/plain", json={"integration": section})
    brought = http.post("/v1/calls", json={"tool": {"name": "plain", "integration": section}})
    for answer, path in ((defined, "/integration/setup/api_key"), (brought, "/tool/integration/setup/api_key")):
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_definition"), answer.text
        assert [fault["path"] for fault in answer.json()["errors"]] == [path]
        assert "toolbus secrets set" in answer.json()["errors"][0]["message"]
    assert http.put("/v1/stored/tenant/all/set_up_later", json={"setup": plain}).status_code == 201
    define(http, "set_up_later", {"provider": "keyed"})
    stored = http.put("/v1/stored/user/ana/set_up_later", json={"setup": plain})
    assert (stored.status_code, stored.json()["code"]) == (422, "invalid_request")
    called_all_the_same = http.post("/v1/calls", json={"tool": "set_up_later"})
    assert (called_all_the_same.status_code, called_all_the_same.json()["code"]) == (422, "setup_invalid")
    for answer in (stored, called_all_the_same):
        assert [fault["path"] for fault in answer.json()["errors"]] == ["/setup/api_key"]
    for answer in (defined, brought, stored, called_all_the_same):
        assert "canary" not in answer.text


def put_secret(http: httpx.Client, name: str, value: str, **bound: object) -> None:
    """The secret is stored."""
    answer = http.put(f"/v1/secrets/{name}", json={"value": value, **bound})
    assert answer.status_code == 200, answer.text


def test_secrets_in_setup_reach_the_vendor_and_nobody_else(
    http: httpx.Client, httpserver: HTTPServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """The provider may give them back or print them: they are taken out of the output, and of the log."""
    httpserver.expect_request("/", headers={"x-key": "canary-of-keyed-1"}).respond_with_data(
        "welcome canary-of-keyed-1"
    )
    put_secret(http, "keyed_1", "canary-of-keyed-1")
    define(http, "ask", {"provider": "keyed", "setup": {"api_key": "secret://keyed_1", "base_url": url_of(httpserver)}})
    call = called(http, "ask")
    assert call["status"] == "succeeded", call
    assert call["output"] == {"text": "welcome [secret:keyed_1]", "names": ["[secret:keyed_1]", "443"]}
    assert "canary" not in "".join(capfd.readouterr())


def test_a_secret_goes_only_where_it_is_bound(http: httpx.Client, httpserver: HTTPServer) -> None:
    """The call ends before anything leaves."""
    put_secret(http, "keyed_2", "canary-of-keyed-2", hosts=["api.example.com"])
    define(
        http, "bound", {"provider": "keyed", "setup": {"api_key": "secret://keyed_2", "base_url": url_of(httpserver)}}
    )
    call = called(http, "bound")
    assert (call["status"], call["error"]["code"]) == ("failed", "secret_not_allowed"), call
    assert "keyed_2 goes to api.example.com only" in call["error"]["message"]
    assert httpserver.log == []


def test_an_unknown_secret_is_refused(http: httpx.Client) -> None:
    """By its name."""
    setup = {"api_key": "secret://nobody_stored_it", "base_url": "http://127.0.0.1:9"}
    define(http, "without", {"provider": "keyed", "setup": setup})
    call = called(http, "without")
    assert (call["status"], call["error"]["code"]) == ("failed", "secret_unavailable"), call
