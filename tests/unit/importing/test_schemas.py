"""Schemas of both dialects as JSON Schema 2020-12: the same values, or more where something cannot be carried over."""

from typing import Any

import pytest

from tests.unit.importing.making import TEXT, body, document, made, reason
from toolbus.importing.openapi import MAX_SCHEMA_CHARS
from toolbus.importing.schemas import TooLarge, Translation
from toolbus.importing.values import is_plain_expression, is_storable
from toolbus_contracts.values import compact


def translated(schema: Any, version: str = "3.1.0", depth: int = 20, **components: Any) -> tuple[Any, list[str]]:
    """A schema after one pass, and its notes."""
    whole = document({}, version, components={"schemas": components})
    translation = Translation(whole, depth, 50)
    return translation.translate(schema), list(translation.notes)


def ref(name: str) -> dict[str, str]:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"nullable": True, "enum": ["a"]}, {"enum": ["a"]}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"exclusiveMaximum": True}, {}),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"$ref": "#/components/schemas/A", "description": "ignored"}, {"type": "string"}),
        ({"type": "string", "xml": {}, "x-own": 1, "externalDocs": {}}, {"type": "string"}),
    ],
)
def test_the_dialect_of_3_0(schema: Any, found: Any) -> None:
    """`nullable`, flags for exclusive bounds, one example, and nothing beside a reference."""
    assert translated(schema, "3.0.3", A={"type": "string"}) == (found, [])


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
        ({"exclusiveMinimum": 1, "multipleOf": 2}, {"exclusiveMinimum": 1, "multipleOf": 2}),
        ({"examples": [1, 2], "const": 1}, {"const": 1, "examples": [1]}),
        ({**ref("A"), "description": "mine"}, {"type": "string", "description": "mine"}),
        ({**ref("A"), "minLength": 1}, {"allOf": [{"type": "string"}, {"minLength": 1}]}),
        (True, True),
        ({"if": {"type": "string"}, "then": {"minLength": 1}}, {"if": {"type": "string"}, "then": {"minLength": 1}}),
        ({"not": {"type": "string"}}, {"not": {"type": "string"}}),
        ({"prefixItems": [TEXT], "items": False}, {"prefixItems": [TEXT], "items": False}),
        ({"propertyNames": TEXT, "dependentRequired": {"a": ["b"]}},) * 2,
        ({"patternProperties": {"^a": TEXT}, "additionalProperties": False},) * 2,
        ({"anyOf": [TEXT], "oneOf": [TEXT], "allOf": [TEXT], "uniqueItems": True},) * 2,
    ],
)
def test_the_dialect_of_3_1(schema: Any, found: Any) -> None:
    """JSON Schema itself, in which keywords may stand beside a reference."""
    assert translated(schema, A={"type": "string"}) == (found, [])


def test_references_in_a_circle_are_cut_where_they_close() -> None:
    """What refers to itself takes anything there; the note says which it was."""
    tree = {"type": "object", "properties": {"name": TEXT, "parent": ref("Tree")}}
    found, notes = translated(ref("Tree"), Tree=tree)
    assert found == {"type": "object", "properties": {"name": TEXT, "parent": {}}}
    assert notes == ["#/components/schemas/Tree refers to itself: cut there"]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"oneOf": [TEXT, ref("Gone")]}, {"allOf": [{"anyOf": [TEXT, {}]}]}),
        ({"allOf": [TEXT], "oneOf": [ref("Gone")]}, {"allOf": [TEXT, {"anyOf": [{}]}]}),
        ({"not": ref("Gone")}, {}),
        ({"if": ref("Gone"), "then": TEXT}, {}),
        ({"type": "file"}, {}),
        ({"items": [TEXT]}, {}),
        ({"contains": TEXT}, {}),
        ({"pattern": "(?=a)b"}, {}),
        ({"patternProperties": {"(?=a)b": TEXT}, "additionalProperties": False}, {"patternProperties": {}}),
        ({"enum": ["\ud800"]}, {}),
        ({"minimum": 2**53}, {}),
        ({"minLength": -1, "multipleOf": 0}, {}),
        ({"$ref": "https://example.com/x.json"}, {}),
        (7, {}),
    ],
)
def test_what_cannot_be_carried_over_makes_it_looser(schema: Any, found: Any) -> None:
    """Never stricter: a branch that takes anything must not make `oneOf` or `not` refuse. Each leaves a note."""
    told, notes = translated(schema)
    assert told == found
    assert notes


def test_what_only_answers_have_is_left_out() -> None:
    """A read-only property is not sent, and so is not required."""
    schema = {"properties": {"id": {**TEXT, "readOnly": True}, "name": TEXT}, "required": ["id", "name", "name", 3]}
    assert translated(schema)[0] == {"properties": {"name": TEXT}, "required": ["name"]}
    assert translated({"properties": {"id": ref("Gone")}, "required": ["id"]})[0]["required"] == ["id"]


def test_long_texts_and_large_examples_are_bounded() -> None:
    """Descriptions end in an ellipsis; an example that is too large, or that JSON cannot carry, is none."""
    found, _ = translated({"description": "x" * 60, "default": "y" * 600, "examples": [[[[[["deep"] * 9]] * 9]] * 9]})
    assert found == {"description": "x" * 49 + "…"}
    assert translated({"description": "\x00", "default": float("inf"), "deprecated": True})[0] == {"deprecated": True}


def test_depth_is_bounded() -> None:
    """What lies deeper takes anything."""
    schema = {"properties": {"a": {"properties": {"b": TEXT}}}}
    found, notes = translated(schema, depth=1)
    assert found == {"properties": {"a": {"properties": {"b": {}}}}}
    assert notes == ["what lies deeper than 1 levels is left out"]


def test_a_schema_that_grows_without_end_is_given_up() -> None:
    """Forty schemas that each refer twice to the next have 2^40 parts, and become few levels of them."""
    schemas: dict[str, Any] = {
        f"S{n}": {"properties": {"a": ref(f"S{n + 1}"), "b": ref(f"S{n + 1}")}} for n in range(40)
    }
    with pytest.raises(TooLarge):
        translated(ref("S0"), **schemas)
    one = made({"requestBody": body(ref("S0"), required=True)}, components={"schemas": schemas})
    assert len(compact(one.definition)) < MAX_SCHEMA_CHARS
    assert any("deeper" in note for note in one.notes)


def test_a_schema_that_is_large_in_breadth_leaves_the_operation() -> None:
    """Ten thousand properties are no tool for a model."""
    schema = {"properties": {f"p{n}": TEXT for n in range(10_000)}}
    assert "larger than" in reason({"requestBody": body(schema)})


@pytest.mark.parametrize("text", [r"^[a-z0-9._-]{1,20}$", r"^(?:a|b)+$", r"\d+\.\d*", "", r"^[^\s/]+/[\w.-]+$", "a|b"])
def test_expressions_that_every_engine_reads(text: str) -> None:
    """Classes, groups and short repetitions."""
    assert is_plain_expression(text)


@pytest.mark.parametrize(
    "text",
    [r"(?!a)b", r"(?<n>a)", r"(a)\1", r"\p{L}", r"a{1,5000}", r"[a[b]]", "(", "[a", r"\u0041", "{", "*a", "[z-a]"],
)
def test_expressions_that_some_engine_does_not_read(text: str) -> None:
    """Looking around, going back, names, long repetitions, and what is no expression."""
    assert not is_plain_expression(text)


def test_what_json_carries_everywhere() -> None:
    """Values of YAML that are none of JSON, numbers that change, and half characters are not stored."""
    assert is_storable({"a": [1, 2.5, None, True, "é"]})
    for value in (b"x", {"a": {1}}, [2**60], float("nan"), {"\ud800": 1}, "\x00"):
        assert not is_storable(value)
