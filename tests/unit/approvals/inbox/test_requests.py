"""The request that is shown to whoever approves it, held against the one that the executor makes."""

from typing import Any

import pytest

from tests.unit.approvals.inbox.pretending import ASKED, Clock, Desk
from toolbus_approvals.inbox.exact import Piece
from toolbus_approvals.inbox.requests import (
    FIXED,
    NOT_YET,
    PARTS,
    PLACES,
    REFUSED,
    RequestShown,
    places_of,
    request_of,
)
from toolbus_contracts.requests.arguments import EXPLICIT, Parts, arrange
from toolbus_contracts.tools import ApiCallSection, ToolDefinition
from toolbus_contracts.values import Json
from toolbus_contracts.waits import WaitKind

SCHEMA = {"type": "object", "properties": {"id": {}, "n": {}, "q": {}, "params": {}}}


def section(method: str = "POST", **more: Any) -> ApiCallSection:
    """A section of a definition."""
    return ApiCallSection.model_validate({"method": method, "url": "https://e.example/{id}", **more})


def found_in(parts: Parts) -> dict[str, str]:
    """Where the executor put each argument, in the words of the page."""
    body: dict[str, Json] = parts.json if isinstance(parts.json, dict) else {}
    places = {
        "path": parts.path,
        "query": parts.query,
        "json": body,
        "form": parts.form,
        "file": parts.files,
        "header": parts.headers,
        "cookie": parts.cookies,
    }
    if parts.content is not None:
        places["content"] = {"params": parts.content}
    return {name: PLACES[place] for place, values in places.items() for name in values}


@pytest.mark.parametrize(
    "told",
    [
        section(params_schema=SCHEMA),
        section("GET", params_schema=SCHEMA),
        section("DELETE"),
        section("PUT", params_in={"n": "header", "q": "query", "params": "cookie"}),
        section("PATCH", params_schema=SCHEMA, params_in={"n": "form", "q": "file", "params": "form"}),
        section("PUT", params_schema=SCHEMA, params_in={"n": "query", "q": "query", "params": "content"}),
    ],
)
def test_each_argument_is_told_where_the_executor_puts_it(told: ApiCallSection) -> None:
    """By url, method, and `params_in`; a declared property that is called like a part is none."""
    arguments: dict[str, Json] = {"id": "1", "n": "2", "q": "3", "params": "4"}
    assert dict(places_of(told, arguments)) == found_in(arrange(told, arguments))


def test_an_argument_that_is_the_whole_body_is_told_so() -> None:
    """The place `body`; the others keep theirs."""
    told = section(params_schema=SCHEMA, params_in={"n": "body", "q": "query"})
    arguments: dict[str, Json] = {"id": "1", "n": [2], "q": "3"}
    assert arrange(told, arguments).json == [2]
    assert dict(places_of(told, arguments)) == {
        "id": PLACES["path"],
        "n": PLACES["body"],
        "q": PLACES["query"],
    }


def test_what_the_definition_fixes_goes_nowhere() -> None:
    """Whatever the call says of it, the definition's value is sent, and shown."""
    told = section(params_schema=SCHEMA, json={"n": 1})
    assert dict(places_of(told, {"id": "1", "n": 2}))["n"] == FIXED
    parts = arrange(told, {"id": "1", "n": 2})
    assert parts.json == {"n": 1}


def test_the_explicit_form_names_its_parts() -> None:
    """The same names as the executor knows; with one that is none, all are arguments."""
    assert PARTS.keys() == EXPLICIT
    told = section(overridable=["url"], params_schema={"type": "object"})
    assert places_of(told, {"json": {"a": 1}, "url": "https://o.example"}) == (
        ("json", "as the JSON body"),
        ("url", "as the url, in the place of the one above"),
    )
    assert places_of(told, {"json": {"a": 1}, "b": 1})[0] == ("json", "in the JSON body")
    assert places_of(told, {}) == ()


def told(definition: dict[str, Any], *, kind: WaitKind = "approval", **more: Any) -> RequestShown:
    """What is shown of the request of a waiting call of this definition."""
    wait = Desk(Clock()).add(kind, arguments=more.pop("arguments", {}), **more)
    found = request_of(ToolDefinition.model_validate(definition), wait, {}, user_agent="toolbus/test")
    assert found is not None
    return found


def test_the_request_of_each_type_is_told() -> None:
    """A webhook, a function for whoever leases it, the section of any other type; nothing where nothing is known."""
    assert request_of(None, Desk(Clock()).add(), {}, user_agent="") is None
    hook = {"url": "https://c.example/t", "secret": "secret://hook"}
    assert told({"name": "f", "function": {}, "webhook": hook}).first_line == "POST https://c.example/t"
    lease = told({"name": "f", "function": {}})
    assert (lease.first_line, lease.where) == ("function f", "The arguments go to whoever leases the call.")
    server = told({"name": "m", "mcp": {"server": "s", "tool": "t"}})
    assert "server" in server.fixed[0][1].text
    search = told({"name": "s", "integration": {"provider": "wikipedia"}}, setup={"key": "secret://key"})
    assert [name for name, _ in search.fixed] == ["definition", "stored setup"]
    assert "secret://key" in search.fixed[1][1].text


API_CALL = {"method": "GET", "url": "https://e.example/{q}", "params": {"fixed": 1}, "headers": {"a": "secret://b"}}


def test_an_http_request_is_told_exactly() -> None:
    """As it is sent; where each argument goes stands beside it."""
    found = told({"name": "find", "api_call": API_CALL}, arguments={"q": "x"})
    assert found.exact is not None
    assert found.exact.first_line == (Piece("GET https://e.example/x?fixed=1"),)
    assert (found.places, found.where) == ((("q", "in the path"),), "")


def test_what_cannot_be_made_is_told_by_its_definition() -> None:
    """Before the values that are asked for are there, and where the executor would refuse it: the reason is told."""
    more = {"secrets": {"X-Key": {"name": "k"}}, "auth": {"bearer": "secret://t"}}
    definition = {"name": "find", "forward_principal": "X-For", "api_call": API_CALL | more}
    asked = told(definition, kind="input", ask_user=ASKED, arguments={"n": 1}, setup={"headers": {"x-b": "2"}})
    assert (asked.exact, asked.where) == (None, NOT_YET)
    assert asked.first_line == "GET https://e.example/{q}"
    assert asked.headers == (
        ("a", "secret://b"),
        ("x-b", "2"),
        ("X-Key", "secret://k"),
        ("authorization", "Bearer secret://t"),
        ("X-For", "(on whose behalf the call is made)"),
    )
    assert asked.fixed[0][0] == "params"
    refused = told(definition, arguments={"n": 1})
    assert (refused.exact, refused.where) == (None, f"{REFUSED}no value for q, which the url names.")
    basic = {"auth": {"basic": {"username": "ana", "password": "secret://p"}}}
    named = told({"name": "find", "api_call": API_CALL | basic}, arguments={"n": 1})
    assert dict(named.headers)["authorization"] == "Basic base64(ana:secret://p)"
