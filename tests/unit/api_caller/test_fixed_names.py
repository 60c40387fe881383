"""What the definition fixes wins over the call, in whatever way a call comes to write the same name."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.unit.api_caller.making import URL, refusal, request, schema

DEEP = {"params_style": {"filter": "deep"}}
FIXED = {"filter[owner]": "me"}


def query(section: dict[str, Any], arguments: Any, **more: Any) -> list[tuple[str, str]]:
    """Names and texts of the query."""
    return parse_qsl(urlsplit(request(section, arguments, **more).url).query, keep_blank_values=True)


def form(section: dict[str, Any], arguments: Any, **more: Any) -> list[tuple[str, str]]:
    """Names and texts of the form."""
    made = request({"method": "POST", **section}, arguments, **more)
    return parse_qsl((made.body or b"").decode(), keep_blank_values=True)


OWNERS: list[Any] = [
    {"owner": "other", "status": "open"},
    {"owner": ["other"], "status": "open"},
    {"owner": {"$ne": "me"}, "status": "open"},
]


@pytest.mark.parametrize("value", OWNERS)
def test_a_deep_value_writes_no_name_that_is_fixed(value: Any) -> None:
    """Nor one inside of it, which a reader would put in its place; the rest of the value is written."""
    wanted = [("filter[owner]", "me"), ("filter[status]", "open")]
    declared = {**DEEP, "params_schema": schema("filter")}
    assert query({**declared, "params": FIXED}, {"filter": value}) == wanted
    assert query({**declared, "params": "filter%5Bowner%5D=me"}, {"filter": value}) == wanted
    assert query({**declared, "url": f"{URL}?filter[owner]=me"}, {"filter": value}) == wanted
    assert query({**DEEP, "params": FIXED}, {"params": {"filter": value}}) == wanted
    assert query(declared, {"filter": value}, setup={"params": FIXED}) == wanted


@pytest.mark.parametrize("value", OWNERS)
def test_forms_are_no_other_way(value: Any) -> None:
    """Urlencoded or in parts, given by the definition or stored."""
    wanted = [("filter[owner]", "me"), ("filter[status]", "open")]
    declared = {**DEEP, "params_schema": schema("filter"), "params_in": {"filter": "form"}}
    assert form({**declared, "data": FIXED}, {"filter": value}) == wanted
    undeclared = {**DEEP, "params_in": {"filter": "form"}}
    assert form({**undeclared, "data": FIXED}, {"data": {"filter": value}}) == wanted
    assert form(declared, {"filter": value}, setup={"data": FIXED}) == wanted
    in_parts = {**declared, "method": "POST", "data": FIXED, "headers": {"Content-Type": "multipart/form-data"}}
    body = request(in_parts, {"filter": value}).body or b""
    assert body.count(b'name="filter[owner]') == 1
    assert b"other" not in body
    assert b'name="filter[status]"' in body


@pytest.mark.parametrize(
    "given",
    [
        {"filter[owner]": "other"},
        {"filter[owner][]": "other"},
        {"filter[owner]x": "other"},
        {"filter": "other"},
        "filter%5Bowner%5D=other",
        "filter[owner][0]=other",
        "filter=other",
    ],
)
def test_a_call_that_is_given_part_by_part_cannot_spell_it_otherwise(given: Any) -> None:
    """As the name itself, inside of it, or around it."""
    assert query({"params": FIXED}, {"params": given}) == [("filter[owner]", "me")]
    if isinstance(given, dict):
        assert form({"data": FIXED}, {"data": given}) == [("filter[owner]", "me")]


def test_a_whole_object_that_is_fixed_takes_nothing_more() -> None:
    """It is fixed by its name."""
    section = {**DEEP, "params": {"filter": {"owner": "me"}}}
    assert query(section, {"params": {"filter[owner]": "other", "filter[status]": "open", "filters": "x"}}) == [
        ("filter[owner]", "me"),
        ("filters", "x"),
    ]


def test_places_in_a_list_stay_what_they_are() -> None:
    """An item that is left out leaves its place."""
    section = {**DEEP, "params": {"filter[0]": "me"}, "params_schema": schema("filter")}
    assert query(section, {"filter": ["a", "b", None, {"c": 1}]}) == [
        ("filter[0]", "me"),
        ("filter[1]", "b"),
        ("filter[3][c]", "1"),
    ]


def test_the_query_of_the_url_is_fixed_too() -> None:
    """But for what fills a name in the url."""
    section = {"url": "https://h/?account=7&q={q}"}
    assert query(section, {"params": {"account": 8, "q": "x", "a": 1}}) == [("account", "7"), ("q", "x"), ("a", "1")]
    assert query({"url": "https://h/?account=7"}, {"params": "account=8&a=1"}) == [("account", "7"), ("a", "1")]


def test_files_and_fields_have_their_names_in_one_form() -> None:
    """A file cannot take the place of a field that is fixed, nor a field that of a file."""
    given = {"files": {"owner": "b3RoZXI=", "b": "eA=="}, "data": {"paper": "other", "c": 1}}
    section = {"method": "POST", "data": {"owner": "me"}, "files": {"paper": "bWU="}}
    body = (request(section, given).body or b"").decode()
    assert "other" not in body
    assert [body.count(f'; name="{name}"') for name in ("owner", "paper", "b", "c")] == [1, 1, 1, 1]


def test_cookies_are_fixed_whether_by_name_or_in_a_header() -> None:
    """A call gives others besides."""
    named = {"cookies": {"session": "me"}, "overridable": ["headers"]}
    for told in ("a=1; session=other", ["a=1; session=other"]):
        made = request(named, {"headers": {"Cookie": told, "X-Empty": ""}})
        assert dict(made.headers)["cookie"] == "a=1; session=me"
        assert dict(made.headers)["x-empty"] == ""
    assert dict(request(named, {"headers": {"cookie": "session=other"}}).headers)["cookie"] == "session=me"
    written = {"headers": {"Cookie": "session=me; b=2"}}
    made = request(written, {"cookies": {"session": "other", "a": "1"}})
    assert dict(made.headers)["cookie"] == "session=me; b=2; a=1"


def test_two_that_fix_one_name_are_told() -> None:
    """Nobody could say which of them the server obeys: what is stored, or the definition, or the call."""
    why = "filter[owner] would be written twice, for filter and for another name"
    for part, method, place in (("params", "GET", "query"), ("data", "POST", "form")):
        section = {**DEEP, "method": method, part: FIXED, "params_in": {"filter": place}}
        assert refusal(section, setup={part: {"filter": {"owner": "stored"}}}) == f"request_invalid: {why}"
        assert "filter[owner][a]" in refusal(section, setup={part: {"filter": {"owner": {"a": "stored"}}}})
        request(section, setup={part: {"filter": {"status": "open"}}})
        request(section, setup={part: {"filter[owner]": "stored"}})
    declared = {**DEEP, "params_schema": schema("filter", "filter[owner]")}
    assert why in refusal(declared, {"filter[owner]": "stored", "filter": {"owner": "other"}})


def test_what_only_looks_alike_is_left_alone() -> None:
    """A name that goes on is another name."""
    section = {"params": {"a": 1, "b[c]": 2}}
    assert query(section, {"params": {"ab": 3, "b[cd]": 4, "b[d]": 5}}) == [
        ("a", "1"),
        ("b[c]", "2"),
        ("ab", "3"),
        ("b[cd]", "4"),
        ("b[d]", "5"),
    ]
