"""Laws of imports: what a document allows, its tools allow; whatever stands in it, nothing of ours breaks."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import jsonschema_rs
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.source import ROOT
from toolbus.importing.documents import Document
from toolbus.importing.narrowing import ANYTHING, LISTS, SCALARS, narrowed
from toolbus.importing.openapi import Made, tools_of
from toolbus.importing.operations import operations_of
from toolbus.importing.schemas import Translation
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.core.resources import check_definition

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
@given(schemas, st.lists(values, min_size=3, max_size=8), st.sampled_from([SCALARS, LISTS, ("object",), ANYTHING]))
def test_what_is_narrowed_takes_only_what_can_be_sent(schema: Any, tried: list[Any], allowed: tuple[str, ...]) -> None:
    """Of the values that the schema takes, those of the types; lists hold single values, unless left alone."""
    whole = Translation(Document({"openapi": "3.1.0"}, "law"), 20, 100).translate(schema)
    found = narrowed(whole, allowed)
    for value in tried:
        if found is not None and jsonschema_rs.Draft202012Validator(found).is_valid(value):
            assert is_sendable(value, allowed)
    deep = narrowed(whole, ANYTHING, None)
    assert deep is None or not jsonschema_rs.Draft202012Validator(deep).is_valid(None)


def is_sendable(value: Any, allowed: tuple[str, ...]) -> bool:
    """The definition, written a second time."""
    if isinstance(value, list):
        return "array" in allowed and all(is_sendable(item, SCALARS) for item in value)
    return value is not None and ("object" if isinstance(value, dict) else "string") in allowed


def _known(value: Any) -> Any:
    """The document without the types that JSON Schema does not have: they allow any value."""
    if isinstance(value, dict):
        return {key: _known(part) for key, part in value.items() if not (key == "type" and part == "file")}
    return [_known(part) for part in value] if isinstance(value, list) else value


FORM = """
post:
  tags: [forms]
  servers: [{url: "https://{a}.example", variables: {a: {default: x, enum: [x]}}}]
  security: [{key: [], login: []}, {}]
  parameters:
    - {name: j, in: query, content: {application/json: {schema: {type: object}}}}
    - {name: d, in: query, style: deepObject, schema: {type: object, properties: {e: {type: [string, "null"]}}}}
    - {name: p, in: query, style: pipeDelimited, explode: false, schema: {type: array, items: {enum: [a, 1]}}}
  requestBody:
    content:
      application/x-www-form-urlencoded:
        schema: {allOf: [{properties: {a: {type: [string, "null"], enum: [a]}}}, {oneOf: [{not: {}}], if: {}}]}
        encoding: {a: {style: form}}
      multipart/form-data:
        schema: {properties: {f: {type: string, format: binary}, o: {type: object, properties: {b: {}}}}, required: [f]}
        encoding: {f: {contentType: image/png}, o: {style: deepObject}}
"""
DOCUMENT: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "shop_openapi.yaml").read_text())
DOCUMENT["paths"]["/forms"] = yaml.safe_load(FORM)
DOCUMENT["components"]["securitySchemes"] |= {
    "key": {"type": "apiKey", "in": "query", "name": "key"},
    "login": {"type": "http", "scheme": "basic"},
}
JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "#/paths",
    [],
    ["x"],
    [[]],
    {},
    {"$ref": "#/a"},
    {"x": 1},
    {"": {}},
)


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """The path of every part below the top."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, *path, key)


PLACES = tuple(places(DOCUMENT))


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(JUNK)), min_size=1, max_size=4))
def test_whatever_stands_in_a_document_each_operation_is_a_tool_or_is_told(changes: list[tuple[Any, Any]]) -> None:
    """With anything in any place: valid definitions and reasons, never a fault of ours."""
    root = deepcopy(DOCUMENT)
    for path, junk in changes:
        found: Any = root
        try:
            for key in path[:-1]:
                found = found[key]
            found[path[-1]] = deepcopy(junk)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    whole = Document({**root, "openapi": "3.1.0"}, "law")
    try:
        operations = operations_of(whole)
    except Unreadable:
        return
    for one in tools_of(whole, operations, server="https://a.example"):
        if isinstance(one, Made):
            check_definition(ToolDefinition.model_validate(one.definition))
        else:
            assert one.reason
