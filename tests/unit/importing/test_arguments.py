"""Parameters go where the document says, with the values that can be sent there."""

from typing import Any

import pytest

from tests.unit.importing.making import made, parameter, reason, section
from toolbus.importing.narrowing import narrowed

LIST = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}


def test_each_parameter_goes_to_its_place() -> None:
    """Path and query by their nature; header, cookie, and a query beside a body by `params_in`."""
    told = section(
        {
            "parameters": [
                parameter("id", "path", required=True),
                parameter("q", required=True),
                parameter("X-Trace", "header"),
                parameter("session", "cookie"),
            ]
        },
        at="post /things/{id}",
    )
    assert told["url"] == "https://api.example.com/v1/things/{id}"
    assert told["params_in"] == {"q": "query", "X-Trace": "header", "session": "cookie"}
    assert told["params_schema"]["required"] == ["id", "q"]
    assert told["params_schema"]["properties"]["id"] == {"type": "string", "minLength": 1}
    assert told["params_schema"]["additionalProperties"] is False


def test_an_operation_says_more_than_its_path() -> None:
    """A parameter of both is that of the operation; references lead into the document."""
    from tests.unit.importing.making import document
    from toolbus.importing.openapi import Made, tools_of
    from toolbus.importing.operations import operations_of

    paths = {
        "/a": {
            "parameters": [{"$ref": "#/components/parameters/q"}, parameter("page")],
            "get": {"parameters": [parameter("page", schema={"type": "integer"})]},
        }
    }
    whole = document(paths, components={"parameters": {"q": parameter("q", description="What to find.")}})
    one = next(tools_of(whole, operations_of(whole)))
    assert isinstance(one, Made)
    assert one.definition["api_call"]["params_schema"]["properties"] == {
        "q": {"type": "string", "description": "What to find."},
        "page": {"type": "integer"},
    }
    assert "params_in" not in one.definition["api_call"]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (parameter("a", schema=LIST, style="pipeDelimited", explode=True), "style 'pipeDelimited'"),
        (parameter("a", schema=LIST, style="matrix"), "style 'matrix'"),
        (parameter("a", schema=LIST, style=["form"]), "style"),
        (parameter("a", schema=OBJECT, explode=False), "or array, and cannot be sent"),
        (parameter("a", schema=False, style="deepObject"), "cannot be sent"),
        (parameter("a", schema=OBJECT), "or array, and cannot be sent"),
        (parameter("a", schema={"type": "array", "items": OBJECT}), "cannot be sent"),
        (parameter("a", "header", LIST), "cannot be sent"),
        (parameter("a b", "header"), "no name there"),
        (parameter("Host", "header"), "the connection sets it"),
        (parameter("a", "cookie", LIST), "cannot be sent"),
        ({"name": "a", "in": "query", "content": {"application/xml": {"schema": OBJECT}}}, "application/xml"),
        ({"name": "a", "in": "query", "content": {"application/json": {"schema": LIST}}}, "no object"),
        (parameter("b", "header"), "query b has the same name"),
    ],
)
def test_what_cannot_be_sent_is_left_out_or_leaves_the_operation(told: dict[str, Any], why: str) -> None:
    """An optional parameter is missing, with a note; one that is required takes the operation with it."""
    one = made({"parameters": [parameter("b"), told]})
    assert list(one.definition["api_call"]["params_schema"]["properties"]) == ["b"]
    assert [why in note and note.endswith("left out") for note in one.notes] == [True]
    assert why in reason({"parameters": [parameter("b"), {**told, "required": True}]})


@pytest.mark.parametrize("name", ["Accept", "content-type", "AUTHORIZATION"])
def test_headers_that_are_no_parameters_are_ignored(name: str) -> None:
    """OpenAPI says so of three names, even when they are required."""
    told = section({"parameters": [parameter(name, "header", required=True)]})
    assert told["params_schema"]["properties"] == {}


def test_the_idempotency_key_is_ours() -> None:
    """Every call that may not be repeated carries one already."""
    one = made({"parameters": [parameter("Idempotency-Key", "header", required=True)]})
    assert one.definition["api_call"]["params_schema"]["properties"] == {}
    assert one.notes == ("header Idempotency-Key: Toolbus sets it",)


def test_an_object_in_a_query_may_be_json() -> None:
    """A parameter with content of JSON is written so."""
    told = {"name": "filter", "in": "query", "content": {"application/json": {"schema": OBJECT}}}
    assert section({"parameters": [told]}, at="get /a")["params_schema"]["properties"]["filter"] == OBJECT


def test_a_list_that_is_required_in_a_query_is_not_empty() -> None:
    """An empty one would leave nothing there."""
    found = section({"parameters": [parameter("a", schema=LIST, required=True)]}, at="get /a")
    assert found["params_schema"]["properties"]["a"]["minItems"] == 1


@pytest.mark.parametrize(
    ("told", "style"),
    [
        ({}, None),
        ({"explode": False}, "comma"),
        ({"style": "form", "explode": False}, "comma"),
        ({"style": "spaceDelimited"}, "space"),
        ({"style": "pipeDelimited", "explode": False}, "pipe"),
        ({"style": "deepObject", "explode": True}, "deep"),
        ({"style": "deepObject"}, "deep"),
    ],
)
def test_a_list_is_written_in_the_style_of_its_parameter(told: dict[str, Any], style: str | None) -> None:
    """Repeated, joined, or by number; a single value looks the same in each, and needs none."""
    found = section({"parameters": [parameter("a", schema=LIST, **told), parameter("b", **told)]}, at="get /a")
    assert found["params_schema"]["properties"]["a"] == LIST
    assert found.get("params_style") == (None if style is None else {"a": style})


@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        (OBJECT, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({**OBJECT, "additionalProperties": False}, False),
        ({"anyOf": [OBJECT, {"enum": [""]}]}, False),
        ({"type": "object"}, True),
        ({"type": "object", "additionalProperties": OBJECT}, True),
        ({"type": "object", "properties": {"a": LIST}}, True),
        ({"anyOf": [OBJECT, LIST]}, True),
        ({**OBJECT, "allOf": [{"properties": {"b": OBJECT}}]}, True),
        (True, True),
    ],
)
def test_an_object_is_written_deep(schema: Any, is_open: bool) -> None:
    """With whatever is in it; where OpenAPI leaves open how that is written, it is told."""
    one = made({"parameters": [parameter("a", schema=schema, style="deepObject")]}, at="get /a")
    assert one.definition["api_call"]["params_style"] == {"a": "deep"}
    assert ["OpenAPI leaves open" in note for note in one.notes if "narrowed" not in note] == [True] * is_open


def test_what_must_be_given_is_not_empty() -> None:
    """An empty list or object in a query would leave nothing there."""
    deep = [
        parameter(name, schema=told, style="deepObject", required=True) for name, told in (("a", OBJECT), ("b", LIST))
    ]
    found = section({"parameters": deep})
    assert found["params_schema"]["properties"] == {"a": {**OBJECT, "minProperties": 1}, "b": {**LIST, "minItems": 1}}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"parameters": []}, "names id, which no parameter"),
        ({"parameters": [parameter("id", "path", LIST, required=True)]}, "path id"),
        ({"parameters": [parameter("id", "path", style="label", required=True)]}, "style 'label'"),
        ({"parameters": [{"$ref": "other.yaml#/x"}]}, "leads out of the document"),
        ({"parameters": [{"$ref": "#/nowhere"}]}, "leads nowhere"),
        ({"parameters": [{"name": "x", "in": "body"}]}, "a parameter x in body"),
        ({"parameters": ["x"]}, "where an object must"),
    ],
)
def test_a_path_that_cannot_be_filled_leaves_the_operation(told: dict[str, Any], why: str) -> None:
    """No parameter for a name, one in a form that cannot be sent, references that lead nowhere."""
    assert why in reason(told, at="get /a/{id}")


@pytest.mark.parametrize(("path", "why"), [("/a#b", "#"), ("/a{?q}", "begins no name"), ("/a/{b", "begins no name")])
def test_a_path_that_says_something_else_leaves_the_operation(path: str, why: str) -> None:
    """A fragment is never sent; a { must begin a name."""
    assert why in reason({}, at=f"get {path}")


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        (True, {"type": ["string", "integer"]}),
        (False, None),
        ({"type": ["string", "null"]}, {"type": "string"}),
        ({"type": "object"}, None),
        ({"properties": {}}, None),
        ({"items": {}}, None),
        ({"enum": ["a", 1, None, 2.5, [], {}, True]}, {"enum": ["a", 1], "type": ["string", "integer"]}),
        ({"enum": [None]}, None),
        ({"const": "a"}, {"const": "a", "type": "string"}),
        ({"const": []}, None),
        ({"type": "string", "enum": [None]}, None),
        ({"anyOf": [{"type": "object"}, {"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
        ({"oneOf": [{"type": "object"}, False]}, None),
        ({"allOf": [{"type": "string"}]}, {"allOf": [{"type": "string"}]}),
        ({"allOf": [{"type": "object"}]}, None),
    ],
)
def test_a_schema_is_narrowed_to_the_types_that_can_be_sent(schema: Any, kept: Any) -> None:
    """Types, values and branches that cannot be sent go; nothing is left when all do."""
    assert narrowed(schema, ("string", "integer")) == kept


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "array"}, {"type": "array", "items": {"type": ["string", "number", "integer", "boolean"]}}),
        ({"type": "array", "items": {"type": "array"}}, None),
        ({"type": ["array", "string"], "prefixItems": [{}]}, {"type": "string", "prefixItems": [{}]}),
    ],
)
def test_items_of_lists_are_single_values(schema: Any, kept: Any) -> None:
    """A list in a list has no form in a query."""
    assert narrowed(schema, ("string", "array")) == kept
    assert narrowed({"type": "array", "items": {"type": "array"}}, ("array",), None) is not None
