"""A law of imported schemas: what the document allows, the tool allows, however much had to be left out."""

from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbus.importing.arguments import LISTS, SCALARS, narrowed
from toolbus.importing.documents import Document
from toolbus.importing.schemas import Translation

NAMES = ("A", "B", "C")
KEYS = st.sampled_from(["a", "b"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a", "ab"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=2)),
    max_leaves=5,
)
plain = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer", ["string", "null"], "file"]),
        "enum": st.lists(values, min_size=1, max_size=2, unique_by=repr),
        "minimum": st.sampled_from([0, 1, 2**60]),
        "maxLength": st.integers(0, 1),
        "pattern": st.sampled_from(["^a", "b$"]),
        "required": st.lists(KEYS, unique=True, max_size=2),
        "minItems": st.integers(0, 1),
        "contains": st.just({"type": "string"}),
    },
)


def references(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    """References to schemas of the document, and out of it nowhere."""
    return st.sampled_from(names).map(lambda name: {"$ref": f"#/components/schemas/{name}"})


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A schema that holds others: below the value, where any reference may stand, or in its place."""
    deeper = st.one_of(inner, references(NAMES))
    return st.builds(
        lambda own, more: {**own, **more},
        plain,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(KEYS, deeper, max_size=2),
                "additionalProperties": st.one_of(st.just(False), deeper),
                "items": deeper,
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
                "if": inner,
                "then": inner,
            },
        ),
    )


schemas = st.recursive(plain, around, max_leaves=6)


@settings(max_examples=200)
@given(
    st.fixed_dictionaries(dict.fromkeys(NAMES, schemas)),
    st.lists(values, min_size=3, max_size=8),
    st.integers(0, 4),
)
def test_a_tool_takes_every_value_that_the_document_allows(parts: dict[str, Any], tried: list[Any], depth: int) -> None:
    """With references in circles, types that are none, and whatever lies too deep left out."""
    components = {"components": {"schemas": parts}}
    translation = Translation(Document({"openapi": "3.1.0", **components}, "law"), depth, 100)
    found = translation.translate({"$ref": "#/components/schemas/A"})
    tool = jsonschema_rs.Draft202012Validator(found)
    original = jsonschema_rs.Draft202012Validator({**_known(components), "$ref": "#/components/schemas/A"})
    for value in tried:
        if original.is_valid(value):
            assert tool.is_valid(value)
        elif not translation.notes:
            assert not tool.is_valid(value)


@settings(max_examples=200)
@given(schemas, st.lists(values, min_size=3, max_size=8), st.sampled_from([SCALARS, LISTS, ("object",)]))
def test_what_is_narrowed_takes_only_what_can_be_sent(schema: Any, tried: list[Any], allowed: tuple[str, ...]) -> None:
    """Of the values that the schema takes, those of the types; lists hold single values."""
    whole = Translation(Document({"openapi": "3.1.0"}, "law"), 20, 100).translate(schema)
    found = narrowed(whole, allowed)
    for value in tried:
        if found is not None and jsonschema_rs.Draft202012Validator(found).is_valid(value):
            assert is_sendable(value, allowed)


def is_sendable(value: Any, allowed: tuple[str, ...]) -> bool:
    """The definition, written a second time."""
    if isinstance(value, list):
        return "array" in allowed and all(is_sendable(item, SCALARS) for item in value)
    return value is not None and ("object" in allowed) == isinstance(value, dict)


def _known(value: Any) -> Any:
    """The document without the types that JSON Schema does not have: they allow any value."""
    if isinstance(value, dict):
        return {key: _known(part) for key, part in value.items() if not (key == "type" and part == "file")}
    return [_known(part) for part in value] if isinstance(value, list) else value
