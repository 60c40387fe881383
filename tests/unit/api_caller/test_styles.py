"""Lists and objects are written in a query or a form as the definition says, so that they can be read back."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.api_caller.making import URL, refusal, request, schema
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.requests.styles import MAX_LEVELS
from toolbus_contracts.tools import ApiCallSection

NESTED = {"status": "open", "price": {"gt": 1.5}, "lines": [{"sku": "a b"}, "x"], "none": None, "empty": {}}


def asked(style: str, value: Any) -> HttpRequest:
    """A GET whose only argument has this style."""
    return request({"params_schema": schema("a"), "params_style": {"a": style}}, {"a": value})


def refused(style: str, value: Any) -> str:
    """Why such a request is not made."""
    return refusal({"params_schema": schema("a"), "params_style": {"a": style}}, {"a": value})


@pytest.mark.parametrize(
    ("style", "value", "query"),
    [
        ("comma", ["x", 1, None, True], "?a=x,1,true"),
        ("comma", ["b,c", "d&e"], "?a=b%2Cc,d%26e"),
        ("space", ["x", "y"], "?a=x%20y"),
        ("pipe", ["x", "y z"], "?a=x%7Cy%20z"),
        ("pipe", "x|y", "?a=x%7Cy"),
        ("comma", 5, "?a=5"),
        ("comma", [], ""),
        ("pipe", [None], ""),
        ("space", None, ""),
        ("deep", {"b": 1, "c d": [True, "&"]}, "?a%5Bb%5D=1&a%5Bc%20d%5D%5B0%5D=true&a%5Bc%20d%5D%5B1%5D=%26"),
        ("deep", ["x", None, {"k": "v"}], "?a%5B0%5D=x&a%5B2%5D%5Bk%5D=v"),
        ("deep", "x", "?a=x"),
        ("deep", {}, ""),
    ],
)
def test_a_style_says_how_a_value_is_written_in_a_query(style: str, value: Any, query: str) -> None:
    """Joined by their sign, or a name for each value inside; null and what is empty leave nothing."""
    assert asked(style, value).url == URL + query


@pytest.mark.parametrize(
    ("style", "value", "why"),
    [
        ("space", ["x", "y z"], "'y z' holds the space"),
        ("pipe", ["a|b"], "holds the pipe"),
        ("deep", {"a[b": 1}, "holds a bracket"),
        ("deep", {"a]": 1}, "holds a bracket"),
    ],
)
def test_what_could_not_be_told_apart_again_is_refused(style: str, value: Any, why: str) -> None:
    """An item that holds the sign between items, a key that would begin or end another one."""
    told = refused(style, value)
    assert told.startswith("request_invalid")
    assert why in told


def test_names_are_not_nested_without_end() -> None:
    """Below the last level nothing is written any more."""
    value: Any = "x"
    for _ in range(MAX_LEVELS):
        value = [value]
    assert asked("deep", value).url.count("%5B0%5D") == MAX_LEVELS
    assert f"more than {MAX_LEVELS} levels" in refused("deep", [value])


def test_forms_are_written_in_the_same_styles() -> None:
    """As Stripe and Twilio read them: a name for each value inside, or a list in one."""
    section = {
        "method": "POST",
        "params_schema": schema("filter", "ids"),
        "params_in": {"filter": "form", "ids": "form"},
        "params_style": {"filter": "deep", "ids": "comma"},
    }
    made = request(section, {"filter": NESTED, "ids": [1, "b c"]})
    assert made.body == (
        b"filter%5Bstatus%5D=open&filter%5Bprice%5D%5Bgt%5D=1.5"
        b"&filter%5Blines%5D%5B0%5D%5Bsku%5D=a+b&filter%5Blines%5D%5B1%5D=x&ids=1,b+c"
    )
    assert dict(made.headers)["content-type"] == "application/x-www-form-urlencoded"


def test_presets_and_explicit_parts_have_styles_too() -> None:
    """A style belongs to the name, whoever gives the value."""
    section: dict[str, Any] = {"params": {"a": [1, 2]}, "params_style": {"a": "pipe", "b": "comma"}}
    assert request(section, {"params": {"b": [3, 4]}}).url == f"{URL}?a=1%7C2&b=3,4"
    posted = {"method": "POST", "data": {"a": {"k": 1}}, "params_style": {"a": "deep"}}
    assert request(posted).body == b"a%5Bk%5D=1"


@pytest.mark.parametrize("place", ["json", "header", "cookie", "path", "body", "file"])
def test_a_style_that_nobody_would_heed_is_no_definition(place: str) -> None:
    """Only a query and a form have them."""
    with pytest.raises(ValidationError, match="a goes neither to the query nor to a form"):
        ApiCallSection.model_validate(
            {"method": "GET", "url": URL, "params_in": {"a": place}, "params_style": {"a": "deep"}}
        )


def multipart(section: dict[str, Any], arguments: Any) -> tuple[str, HttpRequest]:
    """The body of a form in parts, with `-` in the place of its boundary, and the request."""
    made = request({"method": "POST", **section}, arguments)
    boundary = dict(made.headers)["content-type"].removeprefix("multipart/form-data; boundary=")
    return (made.body or b"").decode().replace(boundary, "-"), made


PART = '---\r\nContent-Disposition: form-data; name="{}"'


def test_arguments_may_be_files() -> None:
    """The place `file` takes base64, or a name and a type with it, or several; what is no file is a field."""
    section = {
        "params_schema": schema("photo", "pages", "note"),
        "params_in": {"photo": "file", "pages": "file", "note": "form"},
    }
    arguments = {
        "photo": {"content": "aGk=", "filename": "a.png", "content_type": "image/png"},
        "pages": ["eA==", "eQ=="],
        "note": "x",
    }
    body, _ = multipart(section, arguments)
    octets = "Content-Type: application/octet-stream\r\n\r\n"
    page = PART.format("pages") + f'; filename="pages"\r\n{octets}'
    assert body == (
        PART.format("note")
        + "\r\n\r\nx\r\n"
        + PART.format("photo")
        + '; filename="a.png"\r\nContent-Type: image/png\r\n\r\nhi\r\n'
        + f"{page}x\r\n{page}y\r\n-----\r\n"
    )
    assert "base64" in refusal({"method": "POST", **section}, {"photo": "no base64"})


def test_an_argument_may_be_all_the_bytes() -> None:
    """The place `content`: base64, under the type that the definition fixes; nothing else goes there."""
    section = {
        "method": "PUT",
        "headers": {"Content-Type": "application/cbor"},
        "params_schema": schema("blob", "other", "q"),
        "params_in": {"blob": "content", "other": "content", "q": "query"},
    }
    made = request(section, {"blob": "AP8=", "q": 1})
    assert (made.body, made.url) == (b"\x00\xff", f"{URL}?q=1")
    assert dict(made.headers)["content-type"] == "application/cbor"
    assert request(section, {"q": 1}).body is None
    assert "no other argument" in refusal(section, {"blob": "AP8=", "other": "AP8="})
    assert "base64" in refusal(section, {"blob": "%"})


def test_a_form_is_in_parts_where_its_content_type_says_so() -> None:
    """Without any file; objects are JSON and say so, lists repeat the name, styles are heeded."""
    section = {
        "headers": {"content-Type": "Multipart/Form-Data"},
        "params_schema": schema("a", "b", "c"),
        "params_in": {"a": "form", "b": "form", "c": "form"},
        "params_style": {"c": "pipe"},
    }
    body, _ = multipart(section, {"a": {"k": 1}, "b": ["x", {"y": 2}, None], "c": [1, 2]})
    as_json = "\r\nContent-Type: application/json\r\n\r\n"
    assert body == (
        PART.format("a")
        + as_json
        + '{"k":1}\r\n'
        + PART.format("b")
        + "\r\n\r\nx\r\n"
        + PART.format("b")
        + as_json
        + '{"y":2}\r\n'
        + PART.format("c")
        + "\r\n\r\n1|2\r\n-----\r\n"
    )


def test_a_form_without_anything_in_it_is_no_body() -> None:
    """And what is not there has no content type."""
    section = {"method": "POST", "headers": {"Content-Type": "multipart/form-data"}, "params_in": {"a": "form"}}
    made = request({**section, "params_schema": schema("a")})
    assert made.body is None
    assert "content-type" not in dict(made.headers)
    raw = request({**section, "content": "eA=="})
    assert (raw.body, dict(raw.headers)["content-type"]) == (b"x", "multipart/form-data")
