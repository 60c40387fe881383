"""A definition is checked against what its provider or server says of the tool."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import NOW
from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Refused
from toolbus_contracts.stored import StoredValues
from toolbus_contracts.tools import Surface, Tool, ToolDefinition, ToolVersion, evolve_tool
from toolbus_dispatcher.core.arguments import check_arguments
from toolbus_dispatcher.core.resources import check_definition, decide_define

ARGUMENTS: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 10}},
    "required": ["query"],
    "additionalProperties": False,
}
SETUP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "minLength": 40},
        "port": {"type": "integer"},
        "url": {"anyOf": [{"type": "string", "format": "uri", "pattern": "^https"}, {"type": "null"}]},
    },
    "required": ["key"],
}
SURFACE = Surface(arguments=ARGUMENTS, setup=SETUP)


def search(setup: dict[str, Any] | None = None, arguments: dict[str, Any] | None = None) -> ToolDefinition:
    """A tool of a provider."""
    section = {"provider": "wikipedia", "method": "search", "setup": setup, "arguments": arguments}
    return ToolDefinition.model_validate({"name": "search", "integration": section})


def version(definition: ToolDefinition, surface: Surface = SURFACE) -> ToolVersion:
    """A version of the tool, as it is defined."""
    (event,) = decide_define(definition, Tool(), scope="tenant", if_match=None, now=NOW, surface=surface)
    found = evolve_tool(Tool(), event).latest
    assert found is not None
    return found


@pytest.mark.parametrize(
    "definition",
    [
        search(),
        search({"key": "secret://search_key"}),
        search({"key": "k" * 40, "url": "secret://where"}, {"limit": 3}),
        search({}, {"query": "x"}),
    ],
)
def test_what_is_missing_may_come_from_elsewhere(definition: ToolDefinition) -> None:
    """And what a secret looks like is not known yet."""
    check_definition(definition, SURFACE)
    assert version(definition).surface == SURFACE


@pytest.mark.parametrize(
    ("definition", "path"),
    [
        (search({"kay": "x"}), "/integration/setup/kay"),
        (search({"key": "short"}), "/integration/setup/key"),
        (search({"port": "secret://port"}), "/integration/setup/port"),
        (search(None, {"limit": 11}), "/integration/arguments/limit"),
        (search(None, {"lang": "de"}), "/integration/arguments"),
    ],
)
def test_what_the_tool_would_not_take_is_refused(definition: ToolDefinition, path: str) -> None:
    """With the path to it."""
    with pytest.raises(Refused) as caught:
        check_definition(definition, SURFACE)
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", path)


@pytest.mark.parametrize(
    "surface",
    [
        Surface(arguments={"$ref": "https://evil.example/schema.json"}),
        Surface(arguments={"type": "object", "properties": {"a": {"pattern": "("}}}),
        Surface(arguments=ARGUMENTS, output={"description": "x" * 200_000}),
    ],
)
def test_a_surface_is_input_too(surface: Surface) -> None:
    """A schema that leads outside, cannot be used, or would not fit into the log is not taken."""
    with pytest.raises(Refused) as caught:
        check_definition(search(), surface)
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", "/integration")


def test_calls_are_checked_against_the_surface() -> None:
    """Together with what the definition and stored values fill."""
    found = version(search(None, {"limit": 3}))
    assert check_arguments(found, {"query": "x"}) == ()
    assert check_arguments(found, {}, StoredValues(arguments={"query": "x"})) == ()
    assert [one.path for one in check_arguments(found, {})] == ["/query"]
    (fault,) = check_arguments(found, {"query": 1})
    assert fault == Detail(path="/query", message='1 is not of type "string"')


def test_another_surface_is_another_version() -> None:
    """The same definition and surface again add nothing."""
    definition = search()
    (event,) = decide_define(definition, Tool(), scope="tenant", if_match=None, now=NOW, surface=SURFACE)
    tool = evolve_tool(Tool(), event)
    again = decide_define(definition, tool, scope="tenant", if_match=None, now=NOW, surface=SURFACE)
    assert again == ()
    newer = SURFACE.model_copy(update={"version": "2"})
    (other,) = decide_define(definition, tool, scope="tenant", if_match=None, now=NOW, surface=newer)
    assert (other.version, other.surface) == (2, newer)
