"""Arguments reach the place that the definition says, and presets win over the call."""

import json
from typing import Any

import pytest

from tests.unit.api_caller.making import URL, refusal, request, schema


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])
def test_properties_go_to_the_query_where_a_body_is_unusual(method: str) -> None:
    """GET, HEAD, DELETE, OPTIONS and TRACE carry the arguments in the query."""
    made = request({"method": method, "params_schema": schema("a", "b")}, {"a": 1, "b": "x y"})
    assert (made.url, made.body) == (f"{URL}?a=1&b=x%20y", None)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_properties_go_to_the_json_body_elsewhere(method: str) -> None:
    """POST, PUT and PATCH carry the arguments as JSON, null included."""
    made = request({"method": method, "params_schema": schema("a", "b")}, {"a": 1, "b": None})
    assert (made.url, made.body) == (URL, b'{"a":1,"b":null}')
    assert dict(made.headers)["content-type"] == "application/json"


def test_connect_takes_a_body_but_no_path_and_no_query() -> None:
    """CONNECT names only host and port, so that what has no place there is refused."""
    made = request({"method": "CONNECT", "url": "http://proxy:8080", "params_schema": schema("a")}, {"a": 1})
    assert (made.url, made.body) == ("http://proxy:8080/", b'{"a":1}')
    assert "CONNECT" in refusal({"method": "CONNECT"})
    assert "CONNECT" in refusal({"method": "CONNECT", "url": "http://proxy", "params": {"a": 1}})


@pytest.mark.parametrize(
    ("value", "query"),
    [
        (True, "?a=true"),
        (False, "?a=false"),
        (None, ""),
        ([1, None, "x"], "?a=1&a=x"),
        ([], ""),
        (1.5, "?a=1.5"),
        (1e22, "?a=1e%2B22"),
        ("", "?a="),
        ("ü&=/?", "?a=%C3%BC%26%3D%2F%3F"),
        ({"k": [1]}, "?a=%7B%22k%22%3A%5B1%5D%7D"),
    ],
)
def test_values_in_a_query(value: Any, query: str) -> None:
    """Booleans are words, lists repeat the name, null is left out, numbers and objects are JSON."""
    assert request({"params_schema": schema("a")}, {"a": value}).url == URL + query


def test_names_in_the_url_become_path_parts() -> None:
    """A path part is encoded wholly, slashes too; a list is joined by commas."""
    section = {"url": "https://h/v1/{city}/{ids}?q={q}", "params_schema": schema("city", "ids", "q")}
    made = request(section, {"city": "a/b c%", "ids": [1, "x"], "q": "1&2"})
    assert made.url == "https://h/v1/a%2Fb%20c%25/1%2Cx?q=1%262"


def test_null_is_no_part_of_a_query_in_the_url() -> None:
    """A name in the url needs a value wherever it stands; an empty one will do in the query."""
    section = {"url": "https://h/?q={q}", "params_schema": schema("q")}
    assert "null" in refusal(section, {"q": None})
    assert request(section, {"q": ""}).url == "https://h/?q="


@pytest.mark.parametrize("value", ["", None, {}, [], ".", "..", "a/../b", "..\\x"])
def test_path_parts_lead_nowhere_else(value: Any) -> None:
    """Nothing, an object, or dots that climb are no path part."""
    assert refusal({"url": "https://h/{a}", "params_schema": schema("a")}, {"a": value}).startswith("request_invalid")


def test_two_parts_do_not_make_dots_together() -> None:
    """What is harmless alone must not climb when put together."""
    section = {"url": "https://h/x{a}/.{b}/y", "params_schema": schema("a", "b")}
    assert request(section, {"a": "1", "b": "1"}).url == "https://h/x1/.1/y"
    assert "part of its path" in refusal({**section, "url": "https://h/%2E{a}x/../y"}, {"a": "1", "b": "2"})


def test_params_in_sends_an_argument_elsewhere() -> None:
    """Every place that params_in knows takes its argument."""
    section = {
        "method": "POST",
        "url": "https://h/{p}",
        "params_schema": schema("p", "q", "j", "h", "c"),
        "params_in": {"p": "path", "q": "query", "j": "json", "x-h": "header", "c": "cookie"},
    }
    made = request(section, {"p": 1, "q": 2, "j": 3, "x-h": [4, "y"], "c": 5})
    assert (made.url, made.body) == ("https://h/1?q=2", b'{"j":3}')
    assert dict(made.headers) | {"x-h": "4, y", "cookie": "c=5"} == dict(made.headers)


def test_form_arguments_are_urlencoded() -> None:
    """The place `form` makes an urlencoded body."""
    section = {"method": "POST", "params_schema": schema("a"), "params_in": {"a": "form", "b": "form"}}
    made = request(section, {"a": [True, "x y"], "b": "ü"})
    assert made.body == b"a=true&a=x+y&b=%C3%BC"
    assert dict(made.headers)["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("value", [[1, {"a": None}], {}, {"id": 2}, "text", 0, False])
def test_one_argument_may_be_the_whole_json_body(value: Any) -> None:
    """The place `body` sends the argument as it is; names in the url are not taken out of it."""
    section = {
        "method": "POST",
        "url": "https://h/{id}",
        "params_schema": schema("id", "items"),
        "params_in": {"items": "body"},
    }
    made = request(section, {"id": 1, "items": value})
    assert (made.url, json.loads(made.body or b"null")) == ("https://h/1", value)
    assert request(section, {"id": 1}).body is None
    assert "no value for id" in refusal(section, {"items": {"id": 1}})


def test_what_is_the_whole_body_shares_it_with_no_argument() -> None:
    """A second argument in the body, and null, which would be no body; what the definition fixes is laid over it."""
    section: dict[str, Any] = {"method": "POST", "params_schema": schema("all", "b"), "params_in": {"all": "body"}}
    assert "no other argument" in refusal(section, {"all": {}, "b": 1})
    assert "null" in refusal(section, {"all": None})
    assert request({**section, "json": {"k": 1}}, {"all": {"k": 2, "x": 3}}).body == b'{"k":1,"x":3}'
    assert "have no place" in refusal({**section, "json": {"k": 1}}, {"all": [1]})


def test_an_argument_without_a_place_is_refused() -> None:
    """`path` for a name that is not in the url, and a name in the url without value or sent elsewhere."""
    assert "params_in says path" in refusal({"params_in": {"a": "path"}}, {"a": 1})
    assert "no value for a" in refusal({"url": "https://h/{a}"})
    assert "elsewhere" in refusal({"url": "https://h/{a}", "params_in": {"a": "query"}}, {"a": 1})
    assert "not an object" in refusal({}, [1])


def test_presets_of_the_definition_win_over_the_call() -> None:
    """A declared property that the definition fills cannot be changed, wherever it goes."""
    section = {"method": "POST", "params": {"q": "fixed"}, "params_schema": schema("q", "j")}
    made = request(section, {"q": "mine", "j": 1})
    assert (made.url, made.body) == (f"{URL}?q=fixed", b'{"j":1}')
    made = request({"method": "POST", "json": {"a": 1, "b": 2}, "params_schema": schema("a", "c")}, {"a": 9, "c": 3})
    assert json.loads(made.body or b"") == {"a": 1, "b": 2, "c": 3}


def test_a_preset_can_fill_the_path() -> None:
    """A name in the url is filled by params, json or data of the definition, and leaves that place."""
    assert request({"url": "https://h/{a}", "params": {"a": "x", "b": 1}}).url == "https://h/x?b=1"
    made = request({"method": "POST", "url": "https://h/{a}/{a}", "json": {"a": "x"}})
    assert (made.url, made.body) == ("https://h/x/x", None)
    made = request({"method": "POST", "url": "https://h/{a}", "data": {"a": "x", "b": 1}})
    assert (made.url, made.body) == ("https://h/x", b"b=1")


def test_query_presets_as_text_keep_their_form() -> None:
    """`params` as text is sent as it stands; a call cannot give the same names again."""
    made = request({"params": "?a=1&b=x%20y&flag&u=ü", "params_schema": schema("c")}, {"c": 2, "a": 9})
    assert made.url == f"{URL}?a=1&b=x%20y&flag&u=%C3%BC&c=2"


def test_the_query_of_the_url_stays() -> None:
    """What stands in the url is kept, and a stray percent sign is encoded."""
    assert (
        request({"url": "https://h/a%2fb?x=1&y=50%#top", "params": {"z": 1}}).url == "https://h/a%2fb?x=1&y=50%25&z=1"
    )


def test_a_whole_preset_body_leaves_no_place_for_arguments() -> None:
    """A body that is no object is fixed: arguments would be lost, and are refused."""
    assert request({"method": "POST", "json": [1, 2]}).body == b"[1,2]"
    assert "no place" in refusal({"method": "POST", "json": [1], "params_schema": schema("a")}, {"a": 1})
    assert request({"method": "POST", "json": [1]}, {"json": {"a": 1}}).body == b"[1]"
    assert request({"method": "POST", "json": {"a": 1}}, {"json": [2]}).body == b'{"a":1}'
    assert request({"method": "POST", "json": {}}).body == b"{}"


def test_one_kind_of_body_only() -> None:
    """Two kinds of body in one request are refused."""
    assert "one body" in refusal({"method": "POST", "content": "eA=="}, {"json": 1})
    assert "one body" in refusal({"method": "POST", "data": {"x": 1}, "params_schema": schema("a")}, {"a": 1})
