"""Arguments against schemas: plain, in parts, with presets; and schemas that are input themselves."""

import json
from typing import Any

import pytest

from tests.unit.dispatcher.making import PARAMETERS, define, tool
from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.schema_cost import MAX_KEPT_CHECKS
from toolbus_contracts.tools import ToolDefinition, ToolVersion
from toolbus_contracts.values import Json
from toolbus_dispatcher.core import arguments as module
from toolbus_dispatcher.core.arguments import EXPLICIT_FORM, check_arguments, check_schema, compiled, is_explicit

MISSING = '"charge" is a required property'
TOO_MUCH = "101 is greater than the maximum of 100"
TWO = {"properties": {"a/b~c": {"type": "integer"}, "list": {"items": {"type": "integer"}}, "z": {}}}


def version(definition: ToolDefinition) -> ToolVersion:
    """The first version of a tool with this definition."""
    return tool(definition).version(1)


def faults(arguments: dict[str, Json], **section: Any) -> list[tuple[str, str]]:
    """What is wrong with these arguments, by path."""
    return [(one.path, one.message) for one in check_arguments(version(define(**section)), arguments)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"charge": "ch_1"}, []),
        ({"charge": "ch_1", "amount": 100}, []),
        ({}, [("/charge", MISSING)]),
        ({"charge": "ch_1", "amount": 101}, [("/amount", TOO_MUCH)]),
        (
            {"charge": "ch_1", "x": 1},
            [("", "Additional properties are not allowed ('x' was unexpected)")],
        ),
        ({"amount": 101}, [("/amount", TOO_MUCH), ("/charge", MISSING)]),
    ],
)
def test_every_fault_has_its_path(given: dict[str, Json], expected: list[tuple[str, str]]) -> None:
    """A missing property is named by the path that it would have."""
    assert faults(given) == expected


def test_paths_are_json_pointers() -> None:
    """Keys are escaped, items are numbered."""
    found = faults({"a/b~c": "x", "list": [1, "y"]}, params_schema=TWO)
    assert [path for path, _ in found] == ["/a~1b~0c", "/list/1"]


@pytest.mark.parametrize("section", [{"params_schema": None}, None])
def test_without_a_schema_everything_fits(section: dict[str, Any] | None) -> None:
    """Nobody declared what the arguments may be."""
    mcp = ToolDefinition.model_validate({"name": "t", "mcp": {"server": "s", "tool": "t"}})
    definition = define(**section) if section else mcp
    assert check_arguments(version(definition), {"anything": 1}) == ()


def test_a_schema_need_not_declare_properties() -> None:
    """Then the explicit form is known by its keys alone."""
    assert faults({"json": {"a": 1}}, params_schema={"minProperties": 1}) == []
    assert [path for path, _ in faults({"json": {}}, params_schema={"minProperties": 1})] == ["/json"]


def test_what_the_definition_fills_counts_as_given() -> None:
    """Required is checked after merging, and the preset wins over the call."""
    assert faults({}, json={"charge": "ch_1"}) == []
    assert faults({"charge": 5}, json={"charge": "ch_1"}) == []
    assert faults({"json": {"amount": 1}}, json={"charge": "ch_1"}) == []
    assert faults({"json": {"amount": 1}}, params={"charge": "ch_1"}) == []


@pytest.mark.parametrize("part", ["params", "json", "data"])
def test_the_parts_are_held_against_the_schema(part: str) -> None:
    """In the explicit form the schema speaks of what is inside; the paths say so."""
    assert faults({part: {"charge": "ch_1", "amount": 100}}) == []
    assert faults({part: {"amount": 101}}) == [(f"/{part}/amount", TOO_MUCH), (f"/{part}/charge", MISSING)]


def test_a_second_part_carries_nothing_past_the_schema() -> None:
    """What the first part may not say, the second may not either; a property is given once."""
    assert faults({"params": {"charge": "ch_1"}, "json": {"amount": 100}}) == []
    assert faults({"params": {"charge": "ch_1"}, "json": {"amount": 101}}) == [("/json/amount", TOO_MUCH)]
    assert faults({"json": {"charge": "ch_1"}, "data": {"amount": 101}}) == [("/data/amount", TOO_MUCH)]
    twice = {"params": {"charge": "a", "amount": 1}, "json": {"amount": 101, "charge": "b"}}
    assert faults(twice) == [("/json/amount", "given in params already")]
    assert faults({"json": {"charge": "a"}, "data": {"charge": "b"}}) == [("/data/charge", "given in json already")]


def test_faults_of_parts_are_where_the_property_is() -> None:
    """Also for keys that a JSON Pointer has to escape, and for the whole."""
    schema = {**TWO, "required": ["z"], "maxProperties": 2}
    found = faults({"json": {"a/b~c": "x"}, "data": {"list": ["x"]}}, params_schema=schema)
    assert sorted(path for path, _ in found) == ["/data/list/0", "/json/a~1b~0c", "/json/z"]
    assert [path for path, _ in faults({"data": {"z": 1, "x": 1, "y": 1}}, params_schema=schema)] == ["/data"]


@pytest.mark.parametrize("given", [{"json": [1]}, {"params": "a=1"}, {"content": "eA=="}, {"headers": {}}])
def test_parts_without_properties_lack_what_is_required(given: dict[str, Json]) -> None:
    """Raw content is no way around the schema's required properties."""
    assert faults(given) == [("/params/charge", MISSING)]


@pytest.mark.parametrize(
    ("given", "declared", "expected"),
    [
        ({}, {}, False),
        ({"json": {}}, {}, True),
        (dict.fromkeys(EXPLICIT_FORM), {}, True),
        ({"json": {}, "headers": {}}, {"charge": {}}, True),
        ({"json": {}}, {"json": {}}, False),
        ({"json": {}, "headers": {}}, {"headers": {}}, False),
        ({"json": {}, "charge": 1}, {}, False),
    ],
)
def test_the_explicit_form(given: dict[str, Json], declared: dict[str, Json], expected: bool) -> None:
    """Every key names a part of a request, and none of them is a property of the tool's own."""
    assert is_explicit(given, declared) is expected


def test_a_property_named_like_a_part_is_a_property() -> None:
    """A tool that declares `json` is called with `json` as its argument."""
    schema = {"properties": {"json": {"type": "integer"}}}
    assert faults({"json": 1}, params_schema=schema) == []
    assert faults({"json": {}}, params_schema=schema) == [("/json", '{} is not of type "integer"')]


def test_many_faults_are_cut_short() -> None:
    """An answer about a large list stays readable: a hundred faults, each told in at most 500 characters."""
    schema = {"properties": {"list": {"items": {"type": "integer"}}}}
    found = faults({"list": ["x" * 1000] * 200}, params_schema=schema)
    assert len(found) == 100
    assert {len(message) for _, message in found} == {500}


def test_checks_are_remembered_by_definition() -> None:
    """Up to a bound: then they are forgotten and made again."""
    module._checks.clear()
    module._checks.update({f"sha256:{n}": compiled("{}") for n in range(MAX_KEPT_CHECKS)})
    assert faults({}) == [("/charge", MISSING)]
    assert list(module._checks) == [define().definition_hash()]
    module._checks[define().definition_hash()] = lambda _: (Detail(path="/seen", message="kept"),)
    assert faults({}) == [("/seen", "kept")]
    module._checks.clear()


def refused(schema: dict[str, Any]) -> Refused:
    """Why this schema is refused at /api_call/params_schema."""
    with pytest.raises(Refused) as caught:
        check_schema(schema, "api_call", "params_schema")
    assert caught.value.code == "invalid_definition"
    assert caught.value.faults == (Fault("/api_call/params_schema", caught.value.message),)
    return caught.value


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"$ref": "https://evil.example/a.json"}, "evil.example"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "file:///etc/passwd"),
        ({"$defs": {"unused": {"$ref": "http://127.0.0.1/x"}}}, "may not refer to http://127.0.0.1/x"),
        ({"$ref": "#/nowhere"}, "/nowhere"),
        ({"type": 5}, "5 is not valid"),
        ({"pattern": "("}, "regex"),
        ({"pattern": "(?=a)b"}, "regex"),
        ({"pattern": "(a{1000}){1000}"}, "regex"),
        ({"properties": {f"p{n}": {"pattern": rf"(\pL|\pN){{9{n}}}"} for n in range(9)}}, "regex"),
        ({"patternProperties": {rf"(\pL|\pN){{9{n}}}": {} for n in range(9)}}, "regex"),
    ],
)
def test_a_schema_that_cannot_be_used_safely_is_refused(schema: dict[str, Any], told: str) -> None:
    """Nothing is fetched, no expression takes more than linear time, and the message is one line."""
    error = refused(schema)
    assert error.message.startswith("not a usable JSON Schema: ")
    assert told in error.message
    assert "\n" not in error.message


def test_a_schema_is_bounded() -> None:
    """64 KiB and not a character more."""
    filler = "x" * (64 * 1024 - len('{"title":""}'))
    check_schema({"title": filler}, "function", "parameters")
    assert refused({"title": filler + "x"}).message == "a schema may have at most 65536 characters"


def test_a_schema_that_only_refers_to_itself_is_refused() -> None:
    """A circle of references that goes no deeper into the value says nothing and would never end."""
    for schema in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}):
        with pytest.raises(Refused, match="circle"):
            check_schema(schema, "schema")


def test_good_schemas_are_used_as_they_are() -> None:
    """Local references and patterns work."""
    schema = {"$defs": {"id": {"pattern": "^ch_"}}, "properties": {"charge": {"$ref": "#/$defs/id"}}}
    check_schema(schema, "schema")
    check_schema(PARAMETERS, "schema")
    check_schema({"pattern": r"^\p{L}[\p{L}\p{M}' -]{0,63}$"}, "schema")
    check_schema({"properties": {f"p{n}": {"pattern": rf"^[0-9a-f]{{8}}-{n}$"} for n in range(1000)}}, "schema")
    assert faults({"charge": "ch_1"}, params_schema=schema) == []
    assert faults({"charge": "x"}, params_schema=schema) == [("/charge", '"x" does not match "^ch_"')]


def test_of_a_large_value_the_first_fault_is_named() -> None:
    """Thousands of faults cost more to find than anybody reads; what takes too many steps is not checked at all."""
    check = compiled('{"items": {"type": "string"}}')
    assert [one.path for one in check(list(range(10_000)))] == ["/0"]
    assert len(check(list(range(1000)))) == module.MAX_FAULTS
    costly = {"$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, 40)}}
    steep = compiled(json.dumps({**costly, "$ref": "#/$defs/a39", "$defs": {"a0": {}, **costly["$defs"]}}))
    assert [one.message for one in steep({})] == ["checking it would take more than 1000000 steps"]
