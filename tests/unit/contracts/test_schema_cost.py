"""Steps of a JSON Schema: counted before they are made, so that no schema makes work without end."""

from typing import Any

import pytest

from toolbus_contracts.schema_cost import MAX_EXPRESSIONS_BYTES, StepCounter, is_listable, room_for_expression

Schema = dict[str, Any]
TREE: Schema = {
    "$id": "urn:tree",
    "$defs": {"node": {"properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}


def ladder(rungs: int) -> Schema:
    """Each part refers twice to the one below."""
    below = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, rungs)}
    return {"$defs": {"a0": {"type": "object"}, **below}, "$ref": f"#/$defs/a{rungs - 1}"}


def nested(levels: int) -> Schema:
    """Objects in objects."""
    value: Schema = {}
    for _ in range(levels):
        value = {"a": value, "left": value}
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"not": False, "properties": 5, "allOf": 5},
        {"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}}},
        {"$defs": {"a": {"$anchor": "x", "type": "string"}}, "properties": {"a": {"$ref": "#x"}}},
        {"$defs": {"a/b~": {}}, "$ref": "#/$defs/a~1b~0"},
        {"prefixItems": [{"$ref": "#/prefixItems/1"}, {}], "items": {"type": "integer"}},
        {"patternProperties": {"^a": {}}, "additionalProperties": {}, "propertyNames": {"maxLength": 3}},
        {"unevaluatedProperties": False, "dependentSchemas": {"a": {"required": ["b"]}}},
        {"prefixItems": [True], "propertyNames": {"maxLength": 9}, "items": {"$ref": "#"}, "not": {"type": "null"}},
        {"properties": {"left": {"$ref": "#"}}, "propertyNames": {}, "prefixItems": [{}, True], "items": True},
        TREE,
        ladder(10),
    ],
)
def test_an_ordinary_schema_is_allowed(schema: Schema) -> None:
    """Whatever people write about arguments takes few steps."""
    counter = StepCounter(schema)
    assert counter.allows({"a": [1, "x", {"b": None}], "left": {"right": {}}})
    assert counter.allows([[], {}, 1])
    assert counter.allows(None)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
        {"$dynamicAnchor": "x", "not": {"$dynamicRef": "#x"}},
        {"$ref": "http://127.0.0.1/schema"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": 5},
        {"$ref": "#/nowhere"},
        {"$ref": "#unknown/x"},
        {"prefixItems": [], "items": {"$ref": "#/prefixItems/0"}},
        {"properties": {"a": {"$id": "urn:other"}}},
        {"$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(5000)}, "$ref": "#/$defs/a0"},
    ],
)
def test_references_that_lead_astray_are_refused(schema: Schema) -> None:
    """Outside, nowhere, in circles, or through more parts than anybody can follow."""
    with pytest.raises(ValueError, match=r".+"):
        StepCounter(schema)


def test_a_ladder_of_references_is_counted_not_climbed() -> None:
    """Forty rungs stand for 2^40 steps: refused at once."""
    assert not StepCounter(ladder(40)).allows({})
    assert StepCounter(ladder(15)).allows({})


def test_a_recursion_that_doubles_is_allowed_for_shallow_values_alone() -> None:
    """Each level of the value doubles the steps."""
    doubling = StepCounter({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}})
    assert doubling.allows(nested(10))
    assert not doubling.allows(nested(50))
    hidden = StepCounter({"unevaluatedProperties": {"$ref": "#"}, "anyOf": [{"items": {"$ref": "#"}}]})
    assert hidden.allows({"a": [{"a": 1}]})


def test_a_wide_schema_over_a_long_list_is_refused() -> None:
    """Thousands of parts times thousands of items; counting stops long before the end."""
    wide = StepCounter({"allOf": [{"items": {"type": "integer"}, "contains": {}} for _ in range(2000)]})
    assert wide.allows([1])
    assert not wide.allows([1] * 100_000)
    assert StepCounter({"items": {"type": "string"}}).allows(["x"] * 100_000)


def test_a_value_that_is_nested_too_deeply_for_counting_is_refused() -> None:
    """It never comes this far through strict JSON; nothing breaks when it does."""
    chain: Schema = {"items": {"$ref": "#"}}
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    assert not StepCounter(chain).allows(value)


def test_all_faults_are_looked_for_in_small_values_alone() -> None:
    """A validator finds all faults or the first; thousands of values can have thousands of faults."""
    assert is_listable({"a": [1, 2, {"b": 3}]})
    assert not is_listable(list(range(5000)))


def test_the_expressions_of_a_schema_share_their_room() -> None:
    """Each different one counts once, wherever it stands; a schema without any has all the room."""
    schema = {
        "items": [{"pattern": "a"}, {"pattern": "a"}, {"not": {"pattern": "b"}}],
        "patternProperties": {"c": {"pattern": 5}},
    }
    assert room_for_expression(schema) == MAX_EXPRESSIONS_BYTES // 3
    assert room_for_expression(True) == MAX_EXPRESSIONS_BYTES
