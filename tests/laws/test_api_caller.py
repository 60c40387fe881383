"""Laws of an HTTP call: no argument is lost or made up, answers are always storable, bodies unpack in any pieces."""

import gzip
import json
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import integers, json_objects, json_values, names, texts
from tests.unit.api_caller.making import READ, answer, item, judged, schema
from toolbus_api_caller.core.reading import AnswerReader
from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import HttpAnswer, Wanted
from toolbus_contracts.errors import Refused
from toolbus_contracts.requests.arguments import EXPLICIT
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.requests.styles import styled
from toolbus_contracts.requests.texts import pairs
from toolbus_contracts.values import compact, find_faults, parse_json
from toolbus_contracts.work import ApiCallOutput

properties = names.filter(lambda name: name not in EXPLICIT and len(name) < 40)
simple = texts | integers | st.booleans()
PLACES = ("path", "query", "json", "form", "header", "cookie")


def made(section: dict[str, Any], arguments: Any) -> HttpRequest:
    """The request, under terms that add no header of ours."""
    return build_request(item(section, arguments, terms=READ), user_agent="x")


def made_or_refused(section: dict[str, Any], arguments: Any) -> HttpRequest | str:
    """The request, or the code with which it is refused."""
    try:
        return made(section, arguments)
    except Refused as error:
        return error.code


@given(arguments=st.dictionaries(properties, json_values, max_size=5))
def test_the_query_holds_the_arguments_and_nothing_else(arguments: dict[str, Any]) -> None:
    """Whatever the values, the query decodes to the arguments as pairs."""
    request = made({"params_schema": schema(*arguments)}, arguments)
    expected = [pair for name, value in arguments.items() for pair in pairs(name, value)]
    assert parse_qsl(urlsplit(request.url).query, keep_blank_values=True) == expected
    assert request.body is None


@given(
    value=st.recursive(simple, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)),
    place=st.sampled_from(["query", "form"]),
)
def test_what_is_written_deep_can_be_read_back(value: Any, place: str) -> None:
    """Each value inside stands under its own name, and no two have the same one."""
    section = {"method": "POST", "params_in": {"a": place}, "params_style": {"a": "deep"}}
    request = made_or_refused({**section, "params_schema": schema("a")}, {"a": value})
    if isinstance(request, str):
        assert request == "request_invalid"
        return
    text = urlsplit(request.url).query if place == "query" else (request.body or b"").decode()
    found = parse_qsl(text, keep_blank_values=True)
    assert found == styled("a", value, "deep")
    assert len({name for name, _ in found}) == len(found)
    for name, shown in found:
        inner: Any = value
        for key in name.removeprefix("a")[1:-1].split("]["):
            inner = inner[int(key)] if isinstance(inner, list) else inner[key] if isinstance(inner, dict) else inner
        assert shown == (inner if isinstance(inner, str) else compact(inner))


@given(items=st.lists(simple, max_size=4), style=st.sampled_from(["comma", "space", "pipe"]))
def test_what_is_joined_can_be_taken_apart(items: list[Any], style: str) -> None:
    """The items of a list come out of the query again, or the request is refused."""
    request = made_or_refused({"params_schema": schema("a"), "params_style": {"a": style}}, {"a": items})
    if isinstance(request, str):
        assert request == "request_invalid"
        return
    query = urlsplit(request.url).query
    delimiter = {"comma": ",", "space": "%20", "pipe": "%7C"}[style]
    expected = [item if isinstance(item, str) else compact(item) for item in items]
    assert [unquote(text) for text in query.removeprefix("a=").split(delimiter)] == (expected or [""])


@given(arguments=st.dictionaries(properties, json_values, min_size=1, max_size=5))
def test_the_json_body_is_the_arguments(arguments: dict[str, Any]) -> None:
    """The body of a POST reads back as exactly the arguments."""
    request = made({"method": "POST", "params_schema": schema(*arguments)}, arguments)
    assert json.loads(request.body or b"") == arguments
    assert "?" not in request.url


@given(value=texts)
def test_a_path_part_stays_one_part(value: str) -> None:
    """A text in the path comes out as it went in, or is refused; it never makes another part or a query."""
    section = {"url": "https://h/a/{p}/b", "params_schema": schema("p")}
    request = made_or_refused(section, {"p": value})
    if isinstance(request, str):
        assert request == "request_invalid"
        return
    split = urlsplit(request.url)
    assert [unquote(part) for part in split.path.split("/")] == ["", "a", value, "b"]
    assert (split.netloc, split.query) == ("h", "")


@given(data=st.data(), arguments=st.dictionaries(properties, simple, max_size=6))
def test_every_argument_is_in_its_place(data: st.DataObject, arguments: dict[str, Any]) -> None:
    """With places drawn for each argument, every one is found where it was sent, unless all is refused."""
    places = {name: data.draw(st.sampled_from(PLACES)) for name in arguments}
    url = "https://h" + "".join(f"/{{{name}}}" for name, place in places.items() if place == "path")
    section = {"method": "POST", "url": url, "params_schema": schema(*arguments), "params_in": places}
    request = made_or_refused(section, arguments)
    if isinstance(request, str):
        assert request == "request_invalid"
        return
    headers, split = dict(request.headers), urlsplit(request.url)
    body = request.body.decode() if request.body else ""
    cookies = headers.get("cookie", "").split("; ")
    for name, value in arguments.items():
        text = value if isinstance(value, str) else compact(value)
        match places[name]:
            case "path":
                assert text in [unquote(part) for part in split.path.split("/")]
            case "query":
                assert (name, text) in parse_qsl(split.query, keep_blank_values=True)
            case "json":
                assert json.loads(body)[name] == value
            case "form":
                assert (name, text) in parse_qsl(body, keep_blank_values=True)
            case "header":
                assert headers[name.lower()] == text
            case _:
                assert f"{name}={text}" in cookies


@given(preset=json_objects, given_=json_objects)
def test_presets_are_never_changed_by_a_call(preset: dict[str, Any], given_: dict[str, Any]) -> None:
    """Key by key the definition stands, and the rest of the call is kept."""
    request = made({"method": "POST", "json": preset}, {"json": given_})
    assert json.loads(request.body or b"{}") == {**given_, **preset}


@given(arguments=json_objects)
def test_requests_never_raise_anything_else(arguments: dict[str, Any]) -> None:
    """Any arguments make a request in ASCII without line breaks, or are refused with a code."""
    section = {"method": "POST", "url": "https://h/{a}", "overridable": ["url", "method", "headers"]}
    request = made_or_refused(section, arguments)
    if isinstance(request, str):
        assert request in {"request_invalid", "secret_not_allowed"}
        return
    for text in (request.url, *(part for pair in request.headers for part in pair)):
        assert text.isascii()
        assert not set(text) & {"\r", "\n", "\x00"}


bodies = st.binary(max_size=200) | json_values.map(lambda value: compact(value).encode())
kinds = st.sampled_from([b"application/json", b"text/plain", b"application/problem+json; charset=utf-8"])
raw_headers = st.lists(st.tuples(st.binary(max_size=10), st.binary(max_size=20)), max_size=4)


@given(body=bodies, kind=kinds, headers=raw_headers, status=st.integers(100, 599))
def test_outcomes_are_always_strict_json(
    body: bytes, kind: bytes, headers: list[tuple[bytes, bytes]], status: int
) -> None:
    """Whatever bytes come back, what is told of them can be stored and read."""
    found = HttpAnswer(status, (*headers, (b"content-type", kind)), body)
    outcome = judged(found, Wanted(READ))
    if outcome.output is not None:
        assert list(find_faults(outcome.output)) == []
        ApiCallOutput.model_validate(parse_json(compact(outcome.output).encode()))
    else:
        assert outcome.error is not None
        parse_json(outcome.error.model_dump_json().encode())


@given(value=json_values)
def test_json_answers_come_through_unchanged(value: Any) -> None:
    """A strict JSON answer is the output, exactly."""
    outcome = judged(answer(200, compact(value).encode(), headers={"content-type": "application/json"}), Wanted(READ))
    assert outcome.output is not None
    if not (isinstance(value, dict) and "$payload" in value):
        assert outcome.output["json"] == value


@given(
    body=st.binary(max_size=200) | st.builds(bytes, st.integers(0, 2000)),
    cuts=st.lists(st.integers(0, 2100), max_size=5),
    is_packed=st.booleans(),
    free=st.none() | st.integers(0, 2100),
)
def test_bodies_unpack_in_any_pieces(body: bytes, cuts: list[int], is_packed: bool, free: int | None) -> None:
    """The pieces in which a body arrives do not matter, nor how much may be held before room is asked for."""
    wire = gzip.compress(body) if is_packed else body
    reader = AnswerReader(2000, free_bytes=free)
    reader.begin(200, ((b"content-encoding", b"gzip"),) if is_packed else ())
    edges = [0, *sorted(cut for cut in cuts if cut < len(wire)), len(wire)]
    for start, end in pairwise(edges):
        assert reader.take(wire[start:end])
        assert reader.needs_room == (free is not None and reader.held_bytes > free)
        if free is not None and reader.held_bytes > free:
            assert reader.held_bytes <= free + 1 + end
            assert reader.widen()
            free = None
    assert reader.held_bytes <= reader.most_bytes + (len(wire) if is_packed else 0)
    assert (reader.answer().body, reader.answer().flaw) == (body, None)
