"""Tools of type `integration` on the whole path: defined, called, answered; and what comes of those that fail."""

from typing import Any

import httpx
import pytest
from pytest_httpserver import HTTPServer

from tests.integration.integrations.calling import called, define
from tests.integration.integrations.shelf import url_of


def test_a_method_of_a_provider_is_called(http: httpx.Client) -> None:
    """Its contract is the provider's; its output is the method's."""
    tool = define(http, "echo", {"provider": "dummy"})
    assert tool["contract"] == {
        "effect": "read",
        "idempotency": "native",
        "is_asserted": True,
        "provenance": "provider",
    }
    call = called(http, "echo", number=7, words=["a", "b"])
    assert (call["status"], call["output"]) == ("succeeded", {"number": 7, "words": ["a", "b"]})


def test_arguments_of_the_definition_go_along(http: httpx.Client) -> None:
    """And win over the call's."""
    define(http, "echo_fixed", {"provider": "dummy", "method": "echo", "arguments": {"fixed": 1}})
    assert called(http, "echo_fixed", mine=2)["output"] == {"fixed": 1, "mine": 2}


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"provider": "nobody"}, "/integration/provider"),
        ({"provider": "dummy", "method": "nothing"}, "/integration/method"),
    ],
)
def test_what_is_not_on_the_shelf_cannot_be_defined(http: httpx.Client, section: dict[str, Any], path: str) -> None:
    """422, with the path to what is unknown."""
    answer = http.put("/v1/tools/unknown", json={"name": "unknown", "integration": section})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_definition")
    assert [fault["path"] for fault in answer.json()["errors"]] == [path]


def test_a_provider_without_its_extra_cannot_be_defined(http: httpx.Client) -> None:
    """And what to install is named."""
    answer = http.put("/v1/tools/wanting", json={"name": "wanting", "integration": {"provider": "wanting"}})
    assert answer.status_code == 422
    assert 'pip install "toolbus[magic]"' in answer.json()["detail"]


def test_a_large_output_is_a_payload(http: httpx.Client) -> None:
    """Above 64 KiB it lies apart; its bytes are whole."""
    define(http, "bloat", {"provider": "misbehaving", "method": "bloat"})
    call = called(http, "bloat", number=200_000)
    assert call["status"] == "succeeded", call
    assert call["output"]["names"] == []
    told = call["output"]["text"]
    assert told["bytes"] == 200_002
    payload = http.get(f"/v1/payloads/{told['$payload']}")
    assert payload.content == b'"' + b"x" * 200_000 + b'"'


def test_an_output_above_its_bound_fails(http: httpx.Client) -> None:
    """The method ran, and what it gave is not handed on."""
    define(http, "bloated", {"provider": "misbehaving", "method": "bloat"}, max_output_bytes=1000)
    call = called(http, "bloated", number=5000)
    assert (call["status"], call["error"]["code"]) == ("failed", "response_too_large")


def test_a_call_that_takes_too_long_ends(http: httpx.Client) -> None:
    """A read may be tried again, and each attempt ends at its time."""
    define(http, "hang", {"provider": "misbehaving", "method": "hang"}, timeout_s=0.3, retry={"attempts": 1})
    call = called(http, "hang")
    assert call["status"] == "failed", call


def test_a_call_whose_process_dies_unsent_is_tried_again(http: httpx.Client) -> None:
    """Nothing was sent, so that even a write may be tried again; in the end it fails, and is no doubt."""
    retry = {"attempts": 2, "first_delay_s": 0.05}
    contract = {"effect": "write", "idempotency": "none"}
    define(http, "crash", {"provider": "misbehaving", "method": "crash"}, retry=retry, contract=contract)
    call = called(http, "crash")
    assert (call["status"], call["attempt"]) == ("failed", 2), call
    assert call["error"]["code"] in {"executor_lost", "unavailable"}
    assert called(http, "echo", after="a crash")["status"] == "succeeded"


def test_a_dead_provider_is_unavailable_while_others_run(http: httpx.Client) -> None:
    """Its calls hear when to come back, and one that may be tried again succeeds then."""
    section = {"provider": "misbehaving", "method": "crash"}
    define(http, "crash_once", section, retry={"attempts": 1})
    codes = [called(http, "crash_once")["error"]["code"] for _ in range(7)]
    assert codes[0] == "executor_lost"
    assert "unavailable" in codes
    define(http, "later", {"provider": "misbehaving", "method": "bloat"}, retry={"attempts": 5})
    assert called(http, "echo", while_it="is dead")["status"] == "succeeded"
    assert called(http, "later", number=3)["output"]["text"] == "xxx"


def test_a_write_whose_process_dies_after_sending_is_in_doubt(http: httpx.Client, httpserver: HTTPServer) -> None:
    """Once, and nobody repeats it."""
    httpserver.expect_request("/", method="POST").respond_with_data("taken")
    define(http, "gone", {"provider": "misbehaving", "method": "crash_after_sending"})
    call = called(http, "gone", url=url_of(httpserver))
    assert (call["status"], call["error"]["code"]) == ("in_doubt", "executor_lost"), call
    assert len(httpserver.log) == 1


def test_a_write_is_made_once(http: httpx.Client, httpserver: HTTPServer) -> None:
    """With its permission to start."""
    httpserver.expect_request("/", method="POST").respond_with_data("stored")
    define(http, "store", {"provider": "misbehaving", "method": "store"})
    call = called(http, "store", url=url_of(httpserver), text="a")
    assert (call["status"], call["output"]["text"]) == ("succeeded", "stored"), call
    assert len(httpserver.log) == 1


def test_a_fault_of_a_provider_is_told(http: httpx.Client) -> None:
    """As the failure of the call, and of nothing else."""
    define(http, "fail", {"provider": "misbehaving", "method": "fail"})
    call = called(http, "fail", text="nothing there")
    assert (call["status"], call["error"]["code"]) == ("failed", "provider_failed"), call
    assert "nothing there" in call["error"]["message"]


def test_arguments_are_checked_against_the_method(http: httpx.Client) -> None:
    """When the call is submitted, with the path."""
    define(http, "typed", {"provider": "misbehaving", "method": "bloat"})
    answer = http.post("/v1/calls", json={"tool": "typed", "arguments": {"number": "many"}})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_arguments")
    assert [fault["path"] for fault in answer.json()["errors"]] == ["/arguments/number"]


def test_a_provider_may_ask_for_another_attempt(http: httpx.Client) -> None:
    """Of a method that it vouches for; the failure of the last one is the outcome."""
    retry = {"attempts": 2, "first_delay_s": 0.0}
    define(http, "refuse", {"provider": "misbehaving", "method": "refuse"}, retry=retry)
    again = called(http, "refuse", text="come back", number=0.1)
    assert (again["status"], again["attempt"], again["error"]["message"]) == ("failed", 2, "come back"), again
    once = called(http, "refuse", text="never")
    assert (once["status"], once["attempt"], once["error"]["code"]) == ("failed", 1, "provider_failed"), once


def test_the_catalogue_lists_every_provider(http: httpx.Client) -> None:
    """Ours and those of others, by name; one that is broken is no reason to tell of none."""
    answer = http.get("/v1/integrations", timeout=120)
    assert answer.status_code == 200, answer.text
    views = {view["provider"]: view for view in answer.json()["items"]}
    assert list(views) == sorted(views)
    assert {"wikipedia", "dummy", "misbehaving", "keyed"} <= views.keys()
    assert views["dummy"]["package"] == "toolbus"
    assert (views["keyed"]["package"], views["keyed"]["version"]) == ("misbehaving", "1.2")
    assert views["keyed"]["setup"]["required"] == ["api_key", "base_url"]
    assert views["wanting"]["fault"]["code"] == "provider_missing"
    assert "half of it is missing" in views["unloadable"]["fault"]["message"]
    assert views["wikipedia"]["methods"][0]["contract"] == {"effect": "read", "idempotency": "native"}


def test_a_provider_and_a_method_are_shown(http: httpx.Client) -> None:
    """What is not there is not found; what cannot be used says why."""
    assert http.get("/v1/integrations/dummy").json()["methods"][0]["method"] == "echo"
    assert http.get("/v1/integrations/dummy/echo").json()["contract"]["effect"] == "read"
    for path in ("nobody", "nobody/tool", "nobody/search", "dummy/nothing", "dummy/nothing/tool"):
        answer = http.get(f"/v1/integrations/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    missing = http.get("/v1/integrations/wanting/tool")
    assert (missing.status_code, missing.json()["code"]) == (409, "provider_missing")
    assert http.get("/v1/integrations/dummy", headers={"Authorization": "Bearer tb_x"}).status_code == 401


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        ("openai", ("function", "parameters")),
        ("openai_responses", ("parameters",)),
        ("anthropic", ("input_schema",)),
        ("gemini", ("parametersJsonSchema",)),
        ("mcp", ("inputSchema",)),
    ],
)
def test_a_method_is_a_tool_in_every_shape(http: httpx.Client, shape: str, schema: tuple[str, ...]) -> None:
    """Under the name and description that the user wants, or its own."""
    tool = http.get(f"/v1/integrations/misbehaving/bloat/tool?format={shape}").json()
    named = tool.get("function", tool)
    assert (named["name"], named["description"]) == ("misbehaving_bloat", "Give so many bytes.")
    found = tool
    for part in schema:
        found = found[part]
    assert set(found["properties"]) == {"number", "url", "text"}
    query = {"format": shape, "name": "my_tool", "description": "Mine."}
    mine = http.get("/v1/integrations/misbehaving/tool", params=query).json()
    named = mine.get("function", mine)
    assert (named["name"], named["description"]) == ("my_tool", "Mine.")


@pytest.mark.parametrize(
    ("query", "path"), [({"name": "no name"}, "/query/name"), ({"format": "none"}, "/query/format")]
)
def test_what_no_tool_can_be_is_refused(http: httpx.Client, query: dict[str, str], path: str) -> None:
    """With the path to it."""
    answer = http.get("/v1/integrations/dummy/tool", params=query)
    assert answer.status_code == 422
    assert [fault["path"] for fault in answer.json()["errors"]] == [path]
