"""Secrets that are written out in setup are found by their schema, and by names that only credentials have."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, NOW, key, submission, submit
from toolbus_contracts.calls import CallRefused, CallRequested
from toolbus_contracts.errors import Refused
from toolbus_contracts.secrets import NOT_WRITTEN_OUT
from toolbus_contracts.stored import Stored, StoredValues
from toolbus_contracts.tools import Surface, Tool, ToolDefinition, evolve_tool
from toolbus_dispatcher.core.plain_secrets import plain_secrets
from toolbus_dispatcher.core.resources import decide_define
from toolbus_dispatcher.core.storing import Place, decide_store

SECRET = {"type": "string", "format": "password", "maxLength": 20}
TEXT = {"type": "string"}
SETUP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "key": SECRET,
        "maybe": {"anyOf": [SECRET, {"type": "null"}]},
        "nested": {"$ref": "#/$defs/a~1b~0c"},
        "tree": {"$ref": "#/$defs/Tree"},
        "pair": {"prefixItems": [TEXT, SECRET], "items": SECRET},
        "bare": {"type": "array"},
        "by_name": {"additionalProperties": SECRET},
        "by_pattern": {"patternProperties": {"^k_": SECRET}},
        "headers": {"additionalProperties": TEXT},
        "token": TEXT,
        "any": True,
    },
    "$defs": {
        "a/b~c": {"allOf": [{"properties": {"deep": SECRET}}]},
        "Tree": {"properties": {"leaf": SECRET, "more": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
    },
}
SURFACE = Surface(setup=SETUP)


@pytest.mark.parametrize(
    ("setup", "paths"),
    [
        ({"key": "k"}, ["/key"]),
        ({"maybe": "k"}, ["/maybe"]),
        ({"nested": {"deep": "k"}}, ["/nested/deep"]),
        (
            {"tree": {"leaf": "a", "more": [{"leaf": "b"}, {"more": [{"leaf": "c"}]}]}},
            ["/tree/leaf", "/tree/more/0/leaf", "/tree/more/1/more/0/leaf"],
        ),
        ({"pair": ["user", "k", "k2"]}, ["/pair/1", "/pair/2"]),
        ({"by_name": {"x": "k"}}, ["/by_name/x"]),
        ({"by_pattern": {"k_1": "k"}}, ["/by_pattern/k_1"]),
        ({"headers": {"x-team": "blue", "X-Api-Key": "k"}}, ["/headers/X-Api-Key"]),
        ({"bare": [{"authorization": "Bearer k"}]}, ["/bare/0/authorization"]),
        ({"key": "also secret://k"}, ["/key"]),
    ],
)
def test_a_secret_that_is_written_out_is_named(setup: dict[str, Any], paths: list[str]) -> None:
    """However its schema is reached: declared, chosen, referred to, in lists, under names that are left open."""
    found = list(plain_secrets(setup, SETUP))
    assert [fault.path for fault in found] == paths
    assert {fault.message for fault in found} == {NOT_WRITTEN_OUT}


@pytest.mark.parametrize(
    "setup",
    [
        {"key": "secret://k", "maybe": None, "pair": ["user"], "by_name": {"x": "secret://k"}},
        {"key": ""},  # none yet
        {"token": "next page"},  # declared as text by whoever knows what it is
        {"headers": {"x-api-key": "secret://k", "x-max-tokens": "7", "authorization": {"no": "text"}}},
        {"any": {"a": 1}, "unknown": ["x"]},
    ],
)
def test_references_and_what_is_no_secret_pass(setup: dict[str, Any]) -> None:
    """A field that may be anything takes anything."""
    assert list(plain_secrets(setup, SETUP)) == []


def test_a_reference_that_leads_nowhere_says_nothing() -> None:
    """Whoever defines the tool is told of it elsewhere."""
    lost = {"properties": {"key": {"$ref": "#/$defs/Nothing/deeper"}}}
    assert list(plain_secrets({"key": "k"}, lost)) == []


def tool(setup: dict[str, Any] | None = None) -> Tool:
    """A tool of a provider with this setup."""
    section = {"provider": "keyed", "setup": setup}
    definition = ToolDefinition.model_validate({"name": "ask", "integration": section})
    found = Tool()
    for event in decide_define(definition, found, scope="tenant", if_match=None, now=NOW, surface=SURFACE):
        found = evolve_tool(found, event)
    return found


def test_no_definition_holds_one() -> None:
    """What else is wrong with it is not told, since it would be quoted."""
    with pytest.raises(Refused) as caught:
        tool({"key": "longer than a key may be", "maybe": "k"})
    assert caught.value.code == "invalid_definition"
    assert [fault.path for fault in caught.value.faults] == ["/integration/setup/key", "/integration/setup/maybe"]
    assert "longer" not in repr(caught.value.faults)


def test_none_is_stored() -> None:
    """For a tool that is there; what would not fit it is refused as well."""
    for setup, path in (
        ({"key": "k"}, "/setup/key"),
        ({"nothing": 1}, "/setup/nothing"),
        ({"token": 1}, "/setup/token"),
    ):
        with pytest.raises(Refused) as caught:
            decide_store(StoredValues(setup=setup), None, Place("user", "ana", "ask"), tool=tool(), now=NOW)
        assert (caught.value.code, caught.value.faults[0].path) == ("invalid_request", path)
    assert (
        len(
            decide_store(
                StoredValues(setup={"key": "secret://k"}), None, Place("user", "ana", "ask"), tool=tool(), now=NOW
            )
        )
        == 1
    )


@pytest.mark.parametrize(("setup", "is_taken"), [({"key": "k"}, False), ({"key": "secret://k"}, True), ({}, True)])
def test_one_that_was_stored_before_there_was_a_tool_is_not_used(setup: dict[str, Any], is_taken: bool) -> None:
    """The call is refused, with the path in what is stored."""
    values = StoredValues(setup=setup, arguments={"n": 1})
    stored = Stored(level="tenant", level_id="all", tool="ask", values=values)
    sent = submission(key(), tool="ask", arguments={})
    event = submit(sent, None, find_tool=lambda *_: tool(), find_stored=lambda _: stored, now=LATER)[0]
    if is_taken:
        assert isinstance(event, CallRequested)
        return
    assert isinstance(event, CallRefused)
    assert event.error.code == "setup_invalid"
    assert [(one.path, one.message) for one in event.error.details] == [("/setup/key", NOT_WRITTEN_OUT)]
