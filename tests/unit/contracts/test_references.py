"""References to secrets in definitions: which there are, where they may stand, and the section with their values."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.api_caller.making import item
from toolbus_contracts.errors import Fault
from toolbus_contracts.references import WHOLE_TEXT, reference_faults, secret_names, with_setup, with_values
from toolbus_contracts.tools import ApiCallSection, Surface, ToolDefinition

EVERYWHERE = {
    "method": "POST",
    "headers": {"x-a": "secret://a", "x-plain": "text"},
    "params": {"b": ["secret://b", 1]},
    "cookies": {"c": "secret://c"},
    "json": {"deep": [{"d": "secret://d"}], "n": 1},
    "data": {"e": "secret://e"},
    "auth": {"basic": {"username": "ana", "password": "secret://f"}},
    "secrets": {"x-g": {"name": "g"}},
}


def section(**fields: Any) -> ApiCallSection:
    """The section of such an api_call."""
    found = item(fields).definition.api_call
    assert found is not None
    return found


def of_type(kind: str, **fields: Any) -> ToolDefinition:
    """A definition with this section."""
    return ToolDefinition.model_validate({"name": "tool", kind: fields})


def faults(**fields: Any) -> tuple[Fault, ...]:
    """What is wrong with the references of such an api_call."""
    return reference_faults(item(fields).definition)


def test_the_secrets_of_a_request_are_found_in_all_its_parts() -> None:
    """Whatever may hold one, at any depth; found once for each definition."""
    definition = item(EVERYWHERE).definition
    assert secret_names(definition, {}) == set("abcdefg")
    assert secret_names(definition, {}) is secret_names(definition, {})
    assert secret_names(item({"auth": {"bearer": "secret://t"}}).definition, {}) == {"t"}
    assert secret_names(item({"headers": {"x": "see secret://a"}}).definition, {}) == frozenset()


def test_stored_setup_goes_over_the_definition_and_may_refer_to_secrets() -> None:
    """Per part and key; a secret that is overlaid is not used, and a part that is no object is replaced."""
    made = item({"headers": {"x-a": "secret://a", "x-b": "secret://b"}, "params": "a=1"})
    setup = {"headers": {"x-a": "secret://stored"}, "params": {"p": "secret://p"}, "unknown": {"x": "secret://x"}}
    assert secret_names(made.definition, setup) == {"stored", "b", "p"}
    assert made.definition.api_call is not None
    found = with_setup(made.definition.api_call, setup)
    assert (found.headers, found.params) == ({"x-a": "secret://stored", "x-b": "secret://b"}, {"p": "secret://p"})


def test_a_stored_header_takes_the_place_of_the_definitions_however_it_is_spelt() -> None:
    """Sent twice, or as the definition says, it would be another key than the one that was stored."""
    made = item({"headers": {"X-Key": "secret://own", "x-b": "1"}}).definition
    stored = {"headers": {"x-key": "secret://stored"}}
    assert made.api_call is not None
    assert with_setup(made.api_call, stored).headers == {"x-key": "secret://stored", "x-b": "1"}
    assert secret_names(made, stored) == {"stored"}


def test_a_stored_header_takes_the_place_of_secrets_and_auth() -> None:
    """What would fill it is not filled in, and its secret is not asked for; all others are."""
    fills = section(secrets={"X-Key": {"name": "own"}, "x-b": {"name": "b"}}, auth={"bearer": "secret://token"})
    kept = with_setup(fills, {"headers": {"x-key": "1"}})
    assert kept.secrets is not None
    assert (list(kept.secrets), kept.auth) == (["x-b"], fills.auth)
    replaced = with_setup(fills, {"headers": {"AUTHORIZATION": "secret://stored"}})
    assert (replaced.secrets, replaced.auth) == (fills.secrets, None)
    filled = with_values(
        with_setup(fills, {"headers": {"x-KEY": "secret://stored"}}), {"stored": "S", "b": "B", "token": "T"}
    )
    assert filled.headers == {"x-KEY": "S", "x-b": "B"}
    assert with_setup(fills, {"params": {"a": "1"}}).secrets == fills.secrets


def test_other_types_have_their_references_in_setup() -> None:
    """That of the definition and that which is stored, of which the latter wins."""
    integration = of_type("integration", provider="weather", setup={"key": "secret://own", "k": "secret://k"})
    assert secret_names(integration, {}) == {"own", "k"}
    assert secret_names(integration, {"key": "secret://stored"}) == {"stored", "k"}
    assert secret_names(of_type("integration", provider="arxiv"), {}) == frozenset()
    mcp = of_type("mcp", server="files", tool="read")
    assert secret_names(mcp, {"a": "secret://x"}) == frozenset()
    assert secret_names(mcp, {}, Surface(secrets=("token",))) == {"token"}
    assert secret_names(of_type("function"), {}) == frozenset()


def test_values_take_the_places_of_references() -> None:
    """All else stays; an entry of `secrets` becomes the header that it stands under."""
    found = with_values(section(**EVERYWHERE), {name: name.upper() for name in "abcdefg"})
    assert found.headers == {"x-a": "A", "x-plain": "text", "x-g": "G"}
    assert (found.params, found.cookies, found.data) == ({"b": ["B", 1]}, {"c": "C"}, {"e": "E"})
    assert (found.json_body, found.secrets) == ({"deep": [{"d": "D"}], "n": 1}, None)
    assert found.auth is not None
    assert found.auth.basic is not None
    assert (found.auth.basic.username, found.auth.basic.password) == ("ana", "F")
    bearer = with_values(section(auth={"bearer": "secret://t"}, secrets={"x": {"name": "t"}}), {"t": "T"})
    assert bearer.auth is not None
    assert (bearer.auth.bearer, bearer.auth.basic, bearer.headers) == ("T", None, {"x": "T"})


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"headers": {"authorization": "Bearer secret://t"}}, "/api_call/headers/authorization"),
        ({"params": {"a": [1, "secret://"]}}, "/api_call/params/a/1"),
        ({"params": "key=secret://t"}, "/api_call/params"),
        ({"cookies": {"c": "secret://t "}}, "/api_call/cookies/c"),
        ({"method": "POST", "json": {"a": {"b": "secret://not a name"}}}, "/api_call/json/a/b"),
        ({"method": "POST", "data": {"a": "x secret://t"}}, "/api_call/data/a"),
        ({"auth": {"bearer": "Bearer secret://t"}}, "/api_call/auth/bearer"),
        ({"auth": {"basic": {"username": "a:secret://t"}}}, "/api_call/auth/basic/username"),
    ],
)
def test_a_reference_inside_of_a_text_is_refused(fields: dict[str, Any], path: str) -> None:
    """It would be sent as it stands; the message says how to write it."""
    assert faults(**fields) == (Fault(path, WHOLE_TEXT),)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"url": "https://h/secret://t"}, "/api_call/url"),
        ({"method": "POST", "files": {"f": {"content": "secret://t"}}}, "/api_call/files/f/content"),
        ({"method": "POST", "content": "secret://t"}, "/api_call/content"),
    ],
)
def test_where_no_secret_is_filled_in_none_may_stand(fields: dict[str, Any], path: str) -> None:
    """Urls are logged by everybody on the way, and files and content are bytes."""
    (fault,) = faults(**fields)
    assert (fault.path, "no secret is filled in" in fault.message) == (path, True)


def test_a_header_has_one_value() -> None:
    """Given in two ways, nobody could say which is sent."""
    assert [one.path for one in faults(headers={"X-A": "1", "x-a": "2"})] == ["/api_call/headers/x-a"]
    assert [one.path for one in faults(headers={"X-A": "1"}, secrets={"x-a": {"name": "a"}})] == [
        "/api_call/secrets/x-a"
    ]
    assert [one.path for one in faults(auth={"bearer": "t"}, headers={"Authorization": "1"})] == ["/api_call/auth"]
    assert [one.path for one in faults(auth={"bearer": "t"}, secrets={"authorization": {"name": "a"}})] == [
        "/api_call/auth"
    ]


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "*", "a b", "1st", "a" * 65])
def test_a_name_that_no_secret_can_have_is_refused(name: str) -> None:
    """It would become a path, a subject and a variable."""
    assert [one.path for one in faults(secrets={"x-a": {"name": name}})] == ["/api_call/secrets/x-a/name"]


def test_references_that_are_right_have_no_faults() -> None:
    """Also in texts for people, which are never sent."""
    schema = {"type": "object", "properties": {"a": {"description": "not secret://x"}}}
    assert faults(**EVERYWHERE, params_schema=schema) == ()
    assert reference_faults(of_type("function")) == ()


def test_arguments_of_other_types_hold_no_references() -> None:
    """They are the model's to see."""
    integration = of_type(
        "integration", provider="weather", setup={"key": "k secret://k"}, arguments={"a": ["secret://a"]}
    )
    assert [one.path for one in reference_faults(integration)] == [
        "/integration/setup/key",
        "/integration/arguments/a/0",
    ]
    mcp = of_type("mcp", server="files", tool="read", arguments={"a": "secret://a"})
    assert [one.path for one in reference_faults(mcp)] == ["/mcp/arguments/a"]


@pytest.mark.parametrize("auth", [{}, {"bearer": "a", "basic": {"username": "b"}}, {"bearer": ""}, {"digest": "x"}])
def test_authorization_is_given_in_one_way(auth: dict[str, Any]) -> None:
    """Bearer or basic, and something in it."""
    with pytest.raises(ValidationError):
        section(auth=auth)
