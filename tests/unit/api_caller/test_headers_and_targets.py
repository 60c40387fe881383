"""Headers nobody may set, the ones we set, urls that are none, and secrets that are not sent."""

from typing import Any

import pytest

from tests.unit.api_caller.making import AGENT, READ, UNSAFE, URL, item, refusal, request, schema
from toolbus_api_caller.core.request import build_request
from toolbus_contracts.errors import Refused
from toolbus_contracts.requests.headers import FORBIDDEN
from toolbus_contracts.tools import FunctionSection, ToolDefinition

CALLS = {"overridable": ["headers"]}


@pytest.mark.parametrize("value", ["a\r\nb", "a\nb", "a\x00b", "\x7f", "日本", "é"])
def test_header_values_that_no_request_may_carry(value: str) -> None:
    """Control characters and text beyond ASCII are refused, from a definition and from a call."""
    assert refusal({"headers": {"x": value}}).startswith("request_invalid")
    assert refusal(CALLS, {"headers": {"x": value}}).startswith("request_invalid")


@pytest.mark.parametrize("name", ["", "a b", "a:b", "ü", "a\r\n"])
def test_header_names_that_are_none(name: str) -> None:
    """A name that is no token is refused."""
    assert refusal({"headers": {name: "x"}}).startswith("request_invalid")


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_headers_of_the_connection_are_not_ours_to_set(name: str) -> None:
    """Framing, routing and hop-by-hop headers are refused in any case."""
    assert refusal({"headers": {name.title(): "x"}}).startswith("request_invalid")


def test_a_header_given_twice_is_refused() -> None:
    """One of two spellings would be lost."""
    assert "twice" in refusal({"headers": {"X-A": "1", "x-a": "2"}})


def test_too_many_headers_are_refused() -> None:
    """Headers that no server would take are not sent."""
    assert "longer than" in refusal({"headers": {"x": "a" * 70_000}})


def test_defaults_give_way() -> None:
    """User agent, accept and content type can be set by a definition."""
    assert dict(request({}).headers) == {"user-agent": AGENT, "accept": "*/*", "accept-encoding": "gzip, deflate"}
    headers = {"User-Agent": "me", "Content-Type": "application/vnd.x+json"}
    made = dict(request({"method": "POST", "headers": headers}, {"json": {}}).headers)
    assert (made["user-agent"], made["content-type"]) == ("me", "application/vnd.x+json")


def test_the_idempotency_key_is_always_the_call() -> None:
    """Every call that is no read carries its id, whatever a definition says; a read carries none of ours."""
    section = {"method": "POST", "headers": {"Idempotency-Key": "theirs"}}
    work = item(section, terms=UNSAFE)
    assert dict(build_request(work, user_agent=AGENT).headers)["idempotency-key"] == work.call_id
    assert dict(request(section, terms=READ).headers)["idempotency-key"] == "theirs"
    assert "idempotency-key" not in dict(request({"method": "POST"}, terms=READ).headers)


def test_the_principal_goes_out_in_its_header() -> None:
    """`on_behalf_of` goes out where the definition says, and nobody else may set that header."""
    named = {"definition": {"forward_principal": "X-User"}}
    assert dict(request({}, on_behalf_of="user:ana", **named).headers)["x-user"] == "user:ana"
    assert "x-user" not in dict(request({}, **named).headers)
    assert "principal" in refusal(CALLS, {"headers": {"x-USER": "user:root"}}, on_behalf_of="user:ana", **named)
    assert "principal" in refusal({"headers": {"x-user": "x"}}, **named)
    assert "principal" in refusal({}, definition={"forward_principal": "Host"})
    assert "principal" in refusal({}, definition={"forward_principal": "Idempotency-Key"})
    assert refusal({}, on_behalf_of="user:é", **named).startswith("request_invalid")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://h:8443/a b/ü", "https://h:8443/a%20b/%C3%BC"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://a_b.internal./?", "http://a_b.internal./"),
        ("http://h/a/../b", "http://h/a/../b"),
        ("http://h?x=1", "http://h/?x=1"),
    ],
)
def test_urls_are_encoded_exactly_once(url: str, expected: str) -> None:
    """What is encoded already stays, what is not becomes so."""
    assert request({"url": url}).url == expected


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http:///x",
        "http://h:99999/",
        "http://h:x/",
        "http://[::zz]/",
        "http://[::1::2]/",
        "http://a..b/",
        f"http://{'a' * 64}.example/",
        "http://h /",
        "http://h\\@else/",
        "http://h/\r\nx",
        "http://ü" + "x" * 80 + ".example/",
        "http://h/" + "x" * 40_000,
        "ftp://h/",
    ],
)
def test_urls_that_are_none(url: str) -> None:
    """A url without a host, with a wrong port or of another scheme is refused."""
    assert refusal({"overridable": ["url"]}, {"url": url}).startswith("request_invalid")


def test_credentials_in_the_url_become_a_header() -> None:
    """`user:password@` is sent as Basic, and a header of the definition wins."""
    made = request({"url": "https://us%40er:pa:ss@h/"})
    assert (made.url, dict(made.headers)["authorization"]) == ("https://h/", "Basic dXNAZXI6cGE6c3M=")
    made = request({"url": "https://u:p@h/", "headers": {"Authorization": "Bearer x"}})
    assert dict(made.headers)["authorization"] == "Bearer x"


def test_an_argument_in_the_host_is_one_name() -> None:
    """A host part may hold letters, digits, hyphens and dots; it never brings its own slash, port or user."""
    section = {"url": "https://{region}.example.com/", "params_schema": schema("region")}
    assert request(section, {"region": "eu-1"}).url == "https://eu-1.example.com/"
    for value in ("evil.com/", "evil@", "a:1", "", None, "x#"):
        assert refusal(section, {"region": value}).startswith("request_invalid")


@pytest.mark.parametrize(
    ("section", "arguments"),
    [
        ({"headers": {"authorization": "secret://key"}}, {}),
        ({"headers": {"authorization": "Bearer secret://key"}}, {}),
        ({"params": {"k": "secret://key"}}, {}),
        ({"cookies": {"k": "secret://key"}}, {}),
        ({"method": "POST", "data": {"k": ["secret://key"]}}, {}),
        ({"method": "POST", "json": {"a": [{"b": "secret://key"}]}}, {}),
        ({"secrets": {"key": {"name": "key"}}}, {}),
        ({"method": "POST"}, {"json": "secret://key"}),
        ({"url": "https://h/{a}"}, {"a": "secret://key"}),
        ({}, {"params": {"a": [1, "secret://key"]}}),
    ],
)
def test_a_reference_to_a_secret_is_never_sent(section: dict[str, Any], arguments: dict[str, Any]) -> None:
    """What was not resolved before, or came with the call, stays here."""
    assert refusal(section, arguments).startswith("secret_not_allowed: ")


def test_text_about_secrets_is_only_text() -> None:
    """A sentence that mentions a reference is sent as it is."""
    made = request({"method": "POST"}, {"json": {"a": "see secret://key", "b": 1}})
    assert made.body == b'{"a":"see secret://key","b":1}'
    assert request({"headers": {"x": "secret://"}}).url == URL


def test_other_tools_make_no_request() -> None:
    """A work item of another type is refused."""
    work = item({}).model_copy(update={"definition": ToolDefinition(name="f", function=FunctionSection())})
    with pytest.raises(Refused, match="no api_call"):
        build_request(work, user_agent=AGENT)


@pytest.mark.parametrize(
    "schema_", [{"type": "nope"}, {"$ref": "http://else/x"}, {"pattern": "(?=a)"}, {"x": "y" * 70_000}]
)
def test_a_schema_that_cannot_be_used_is_found_before_sending(schema_: Any) -> None:
    """The schema of the answer is compiled first: remote references and slow expressions are refused."""
    assert "schema of the answer" in refusal({"schema": schema_})
