"""The request that is shown to whoever approves it, held against the one that the executor makes."""

from typing import Any

import pytest

from toolbus_approvals.inbox.requests import FIXED, PARTS, PLACES, places_of, request_of
from toolbus_contracts.requests.arguments import EXPLICIT, Parts, arrange
from toolbus_contracts.tools import ApiCallSection, ToolDefinition
from toolbus_contracts.values import Json

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
        "header": parts.headers,
        "cookie": parts.cookies,
    }
    return {name: PLACES[place] for place, values in places.items() for name in values}


@pytest.mark.parametrize(
    "told",
    [
        section(params_schema=SCHEMA),
        section("GET", params_schema=SCHEMA),
        section("DELETE"),
        section("PUT", params_in={"n": "header", "q": "query", "params": "cookie"}),
        section("PATCH", params_schema=SCHEMA, params_in={"n": "form", "q": "form", "params": "form"}),
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


def test_the_request_of_each_type_is_told() -> None:
    """An HTTP request, a webhook, a function for whoever leases it, and the section of any other type."""
    assert request_of(None, {}) is None
    api_call = {"method": "GET", "url": "https://e.example/{q}", "params": {"fixed": 1}, "headers": {"a": "secret://b"}}
    query = request_of(
        ToolDefinition.model_validate({"name": "find", "forward_principal": "X-For", "api_call": api_call}), {"q": "x"}
    )
    assert query is not None
    assert query.first_line == "GET https://e.example/{q}"
    assert [name for name, _ in query.headers] == ["a", "X-For"]
    assert (query.headers[0][1], query.fixed[0][0], query.places) == ("secret://b", "params", (("q", "in the path"),))
    hook = {"url": "https://c.example/t", "secret": "secret://hook"}
    webhook = request_of(ToolDefinition.model_validate({"name": "f", "function": {}, "webhook": hook}), {})
    assert webhook is not None
    assert webhook.first_line == "POST https://c.example/t"
    lease = request_of(ToolDefinition.model_validate({"name": "f", "function": {}}), {})
    assert lease is not None
    assert (lease.first_line, lease.where) == ("function f", "The arguments go to whoever leases the call.")
    server = request_of(ToolDefinition.model_validate({"name": "m", "mcp": {"server": "s", "tool": "t"}}), {})
    assert server is not None
    assert "server" in server.fixed[0][1].text


def test_stored_setup_is_part_of_the_request() -> None:
    """Over what the definition sends of a request; beside the definition of a tool of a provider."""
    section = {"method": "GET", "url": "https://x.example", "headers": {"x-a": "1", "x-b": "1"}}
    definition = ToolDefinition.model_validate({"name": "t", "api_call": section})
    found = request_of(definition, {}, {"headers": {"x-b": "2"}, "params": {"lang": "de"}})
    assert found is not None
    assert found.headers == (("x-a", "1"), ("x-b", "2"))
    assert [name for name, _ in found.fixed] == ["params"]
    search = ToolDefinition.model_validate({"name": "s", "integration": {"provider": "wikipedia"}})
    told = request_of(search, {}, {"key": "secret://key"})
    assert told is not None
    assert [name for name, _ in told.fixed] == ["definition", "stored setup"]
    assert "secret://key" in told.fixed[1][1].text
