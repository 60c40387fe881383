"""The explicit form: a call that names the parts of the request itself."""

from typing import Any

import pytest

from tests.unit.api_caller.making import URL, refusal, request, schema

POST = {"method": "POST"}


def test_params_json_and_headers_of_a_call() -> None:
    """Each part goes where its name says; the definition wins key by key, headers in any case."""
    section = {**POST, "params": {"a": 1}, "headers": {"X-One": "ours"}, "overridable": ["headers"]}
    arguments = {
        "params": {"a": 9, "b": 2},
        "json": {"c": 3},
        "headers": {"x-one": "mine", "X-Two": "t", "x-none": None},
    }
    made = request(section, arguments)
    assert (made.url, made.body) == (f"{URL}?a=1&b=2", b'{"c":3}')
    headers = dict(made.headers)
    assert (headers["x-one"], headers["x-two"], "x-none" in headers) == ("ours", "t", False)


def test_params_as_text() -> None:
    """A query given as text is kept as it is, without names that the definition fixes."""
    assert request({"params": {"b": 2}}, {"params": "a=1&b=3&c"}).url == f"{URL}?a=1&c&b=2"


def test_data_content_files_and_cookies() -> None:
    """Form, raw bytes, files and cookies of a call."""
    assert request(POST, {"data": {"a": [1, 2]}}).body == b"a=1&a=2"
    made = request(POST, {"content": "AP8="})
    assert (made.body, "content-type" in dict(made.headers)) == (b"\x00\xff", False)
    made = request({**POST, "cookies": {"a": "1"}}, {"cookies": {"a": "9", "b": "2", "c": None}})
    assert dict(made.headers)["cookie"] == "a=1; b=2"
    made = request({"headers": {"Cookie": "z=0"}}, {"cookies": {"a": "1"}})
    assert dict(made.headers)["cookie"] == "z=0; a=1"
    assert "cookie" not in dict(request({}, {"cookies": {"c": None}}).headers)


def test_files_are_multipart() -> None:
    """Files with names and types, or bare base64; fields of data go before them."""
    files = {"f": {"filename": 'a"\r\n.txt', "content": "aGk=", "content_type": "text/plain"}, "g": ["eA==", "eQ=="]}
    made = request({**POST, "headers": {"content-type": "multipart/form-data"}}, {"files": files, "data": {"n": 1}})
    kind = dict(made.headers)["content-type"]
    boundary = kind.removeprefix("multipart/form-data; boundary=")
    part = f"--{boundary}\r\nContent-Disposition: form-data; name="
    octets = "Content-Type: application/octet-stream\r\n\r\n"
    assert (made.body or b"").decode() == (
        f'{part}"n"\r\n\r\n1\r\n'
        f'{part}"f"; filename="a%22%0D%0A.txt"\r\nContent-Type: text/plain\r\n\r\nhi\r\n'
        f'{part}"g"; filename="g"\r\n{octets}x\r\n{part}"g"; filename="g"\r\n{octets}y\r\n--{boundary}--\r\n'
    )


def test_the_boundary_is_in_no_file() -> None:
    """A file that holds the boundary gets another one."""
    plain = dict(request(POST, {"files": {"f": "eA=="}}).headers)["content-type"].partition("boundary=")[2]
    made = request(POST, {"data": {"a": plain}, "files": {"f": "eA=="}})
    assert dict(made.headers)["content-type"].endswith(f"boundary={plain}-")


def test_presets_win_for_content_files_and_options() -> None:
    """Content, a file's field, the timeout and both options of the definition stand."""
    assert request({**POST, "content": "eA=="}, {"content": "eQ=="}).body == b"x"
    made = request({**POST, "files": {"f": "eA=="}}, {"files": {"f": "eQ=="}})
    assert b"\r\n\r\nx\r\n" in (made.body or b"")
    fixed = {"timeout": 5, "follow_redirects": False, "include_response_content": False}
    made = request(fixed, {"timeout": 1, "follow_redirects": True, "include_response_content": True})
    assert (made.timeout_s, made.follow_redirects, made.include_response_content) == (5.0, False, False)


def test_options_of_a_call() -> None:
    """A call may set the options that the definition leaves open; a timeout only shortens."""
    made = request({}, {"timeout": 0.5, "follow_redirects": True, "include_response_content": True})
    assert (made.timeout_s, made.follow_redirects, made.include_response_content) == (0.5, True, True)
    assert request({}, {"timeout": 500}).timeout_s == 30.0
    made = request({})
    assert (made.timeout_s, made.follow_redirects, made.include_response_content) == (30.0, False, None)


@pytest.mark.parametrize(("name", "value"), [("url", "https://else"), ("method", "POST"), ("headers", {"a": "b"})])
def test_overrides_need_permission(name: str, value: Any) -> None:
    """Url, method and headers are refused unless the definition lists them."""
    assert "may override" in refusal({}, {name: value})
    made = request({"overridable": [name]}, {name: value}, definition=SAFE)
    assert made.url == ("https://else/" if name == "url" else URL)
    assert made.method == ("POST" if name == "method" else "GET")


SAFE = {"contract": {"effect": "read", "idempotency": "native"}}


def test_a_method_may_not_outgrow_its_terms() -> None:
    """Terms that were judged on GET do not cover a POST."""
    section = {"overridable": ["method"]}
    assert "judged on GET" in refusal(section, {"method": "POST"})
    assert request(section, {"method": "head"}).method == "HEAD"
    assert "not a method" in refusal(section, {"method": "BREW"})


def test_names_in_the_url_are_taken_from_params_or_json() -> None:
    """The schema holds for the object under params or json, and so do the names in the url."""
    made = request({**POST, "url": "https://h/{id}"}, {"params": {"id": 1, "q": 2}, "json": {"id": 3}})
    assert (made.url, made.body) == ("https://h/1?q=2", b'{"id":3}')
    arguments = {"json": {"id": 3, "x": 1}}
    made = request({**POST, "url": "https://h/{id}"}, arguments)
    assert (made.url, made.body, arguments) == ("https://h/3", b'{"x":1}', {"json": {"id": 3, "x": 1}})


def test_a_declared_property_makes_it_the_usual_form() -> None:
    """When a key is a declared property, or names no part, the arguments are the model's own."""
    assert request({"params_schema": schema("json")}, {"json": "x"}).url == f"{URL}?json=x"
    assert request({}, {"json": "x", "other": 1}).url == f"{URL}?json=x&other=1"
    assert request({"params_schema": {"properties": 5}}, {"json": 1}).body == b"1"


@pytest.mark.parametrize(
    "arguments",
    [
        {"params": [1]},
        {"data": "x"},
        {"files": "x"},
        {"cookies": 1},
        {"timeout": "1"},
        {"timeout": True},
        {"timeout": 0},
        {"follow_redirects": 1},
        {"include_response_content": "yes"},
        {"content": "%%%"},
        {"content": 1},
        {"content": "ü"},
        {"files": {"f": 1}},
        {"files": {"f": {"name": "x", "content": ""}}},
        {"files": {"f": {"content": "", "content_type": "a\r\nb"}}},
        {"cookies": {"a": "x;y"}},
        {"cookies": {"a b": "x"}},
        {"cookies": {"a": "\r\n"}},
    ],
)
def test_parts_of_the_wrong_shape_are_refused(arguments: dict[str, Any]) -> None:
    """Nothing is sent for a part that cannot be what its name says."""
    assert refusal(POST, arguments).startswith("request_invalid")


@pytest.mark.parametrize(("name", "value"), [("url", 1), ("method", ["GET"]), ("headers", [])])
def test_overrides_of_the_wrong_shape_are_refused(name: str, value: Any) -> None:
    """Url and method are text, headers an object."""
    assert refusal({"overridable": ["url", "method", "headers"]}, {name: value}).startswith("request_invalid")


def test_null_stands_for_absent() -> None:
    """A part that is null is as good as not given."""
    made = request(POST, {"json": None, "data": None, "url": None, "method": None, "headers": None, "params": None})
    assert (made.url, made.body, made.method) == (URL, None, "POST")
