"""Bodies become arguments: a key each, or one for the whole."""

from typing import Any

import pytest

from tests.unit.importing.making import TEXT, body, made, parameter, reason, section

ITEM = {"type": "object", "properties": {"name": TEXT, "size": {"type": "integer"}}, "required": ["name"]}
FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data"
LIST = {"type": "array", "items": TEXT}
BINARY = {"type": "string", "format": "binary", "description": "The photo."}


def test_the_keys_of_an_object_become_arguments() -> None:
    """With what is required; nothing needs to be said of where they go in a POST, but in a DELETE."""
    told = section({"requestBody": body(ITEM, required=True)})
    assert told["params_schema"] == {**ITEM, "additionalProperties": False}
    assert "params_in" not in told
    told = section({"requestBody": body(ITEM, required=True)}, at="delete /things")
    assert told["params_in"] == {"name": "json", "size": "json"}


def test_parts_of_allof_are_keys_together() -> None:
    """Unless one says more than which keys there are, or two have the same one."""
    other = {"type": "object", "properties": {"color": TEXT}, "required": ["color"]}
    told = section({"requestBody": body({"allOf": [ITEM, other], "description": "x"}, required=True)})
    assert sorted(told["params_schema"]["properties"]) == ["color", "name", "size"]
    for parts in ([ITEM, ITEM], [ITEM, {"minProperties": 1}], [{**ITEM, "additionalProperties": False}, other]):
        told = section({"requestBody": body({"allOf": parts}, required=True)})
        assert told["params_in"] == {"body": "body"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": TEXT},
        True,
        TEXT,
        {**ITEM, "minProperties": 1},
        {**ITEM, "additionalProperties": TEXT},
        {**ITEM, "type": ["object", "null"]},
        {**ITEM, "required": ["unknown"]},
        {"type": "object"},
        {"anyOf": [ITEM, {"type": "object"}]},
    ],
)
def test_any_other_body_is_one_argument(schema: Any) -> None:
    """A list, any value, an object that may have other keys: `body` is sent as it is, and null never."""
    told = section({"requestBody": body(schema, required=True)})
    assert told["params_in"] == {"body": "body"}
    assert told["params_schema"]["required"] == ["body"]
    assert "null" not in told["params_schema"]["properties"]["body"].get("type", [])


def test_names_that_meet_make_the_body_one_argument() -> None:
    """A parameter called like a key; the whole has a name that no parameter has."""
    told = section({"parameters": [parameter("name"), parameter("body")], "requestBody": body(ITEM)})
    assert told["params_in"] == {"name": "query", "body": "query", "request_body": "body"}


def test_a_body_that_may_be_missing_asks_for_nothing() -> None:
    """With required keys it is one optional argument; without, each key is optional."""
    told = section({"requestBody": body(ITEM)})
    assert told["params_in"] == {"body": "body"}
    assert "required" not in told["params_schema"]
    assert section({"requestBody": body({**ITEM, "required": []})})["params_schema"]["properties"] == ITEM["properties"]


def test_a_body_that_must_be_there_is_sent_without_arguments_too() -> None:
    """Required, with no key that is: an empty object."""
    assert section({"requestBody": body({**ITEM, "required": []}, required=True)})["json"] == {}


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("application/json; charset=utf-8", None),
        ("*/*", None),
        ("application/merge-patch+json", {"Content-Type": "application/merge-patch+json"}),
    ],
)
def test_kinds_of_json(kind: str, headers: Any) -> None:
    """Each is JSON; one with a name of its own is sent under it."""
    assert section({"requestBody": body(ITEM, kind)}).get("headers") == headers


def test_json_stands_before_forms() -> None:
    """Whichever of them the document names first."""
    kinds = {FORM: {"schema": {"properties": {"f": TEXT}}}, "application/json": {"schema": {"properties": {"j": TEXT}}}}
    assert list(section({"requestBody": {"content": kinds}})["params_schema"]["properties"]) == ["j"]


def form(fields: dict[str, Any], encoding: Any = None, kind: str = FORM, **more: Any) -> dict[str, Any]:
    """An operation that takes a form with these keys, of which `a` must be there."""
    part = {"schema": {"type": "object", "properties": fields, "required": ["a"]}, "encoding": encoding}
    return {"requestBody": {"content": {kind: part}, "required": True, **more}}


def test_a_form() -> None:
    """Keys are arguments in the form: lists repeat the key, objects are JSON; what no form carries is left out."""
    fields = {"a": TEXT, "l": LIST, "o": {"type": "object"}, "x": {"type": "array", "items": LIST}, "d": TEXT}
    one = made(form(fields, {"d": {"contentType": "application/xml"}}))
    told = one.definition["api_call"]
    assert told["params_in"] == {"a": "form", "l": "form", "o": "form"}
    assert "params_style" not in told
    assert "headers" not in told
    assert [note.partition(":")[0] for note in one.notes] == ["form x", "form d"]


def test_a_form_in_the_styles_of_its_encoding() -> None:
    """As Stripe has them; objects that are JSON, and values that are text, are told by their type."""
    fields = {"a": {"type": "object", "properties": {"b": LIST}}, "c": LIST, "d": TEXT, "j": True, "t": True, "n": LIST}
    encoding = {
        "a": {"style": "deepObject", "explode": True},
        "c": {"style": "form", "explode": False},
        "d": {"style": "deepObject"},
        "j": {"contentType": "application/json"},
        "t": {"contentType": "text/plain"},
        "n": {"explode": True},
    }
    one = made(form(fields, encoding))
    told = one.definition["api_call"]
    assert told["params_style"] == {"a": "deep", "c": "comma"}
    shapes = told["params_schema"]["properties"]
    assert shapes["a"]["minProperties"] == 1
    assert (shapes["j"]["type"], shapes["n"], "object" in shapes["t"]["type"]) == (["object"], LIST, False)


def test_a_form_that_may_be_left_out_is_sent_with_what_it_needs() -> None:
    """As Twilio writes it; one that takes nothing is none."""
    one = made(form({"a": TEXT}, required=False))
    assert one.definition["api_call"]["params_schema"]["required"] == ["a"]
    assert one.notes == ("the form is optional, and always sent",)
    nothing = body({"type": "object", "properties": {}, "additionalProperties": False}, FORM)
    told = section({"requestBody": nothing})
    assert told["params_schema"]["properties"] == {}
    assert "params_in" not in told


def test_a_form_in_parts() -> None:
    """Files are base64, alone or with name and type; lists may hold several; other keys are fields."""
    fields = {
        "a": BINARY,
        "many": {"type": "array", "items": BINARY, "maxItems": 2},
        "note": TEXT,
        "o": {"type": "object"},
    }
    told = section(form({**fields, "l": {"type": "array", "items": {"type": "object"}}}, kind=PARTS))
    assert told["params_in"] == {"a": "file", "many": "file", "note": "form", "o": "form", "l": "form"}
    assert told["headers"] == {"Content-Type": PARTS}
    shapes = told["params_schema"]["properties"]
    assert shapes["a"]["anyOf"][0] == {"type": "string", "contentEncoding": "base64"}
    assert shapes["a"]["anyOf"][1]["required"] == ["content"]
    assert shapes["a"]["description"] == "The photo."
    assert (shapes["many"]["items"]["anyOf"], shapes["many"]["maxItems"]) == (shapes["a"]["anyOf"], 2)


@pytest.mark.parametrize(
    ("schema", "encoding", "kind"),
    [
        ({"type": "string", "contentMediaType": "image/png"}, None, {"enum": ["image/png"]}),
        (True, {"contentType": "image/png, image/jpeg"}, {"enum": ["image/png", "image/jpeg"]}),
        (TEXT, {"contentType": "image/*"}, {"type": "string"}),
        ({"contentMediaType": "application/octet-stream"}, None, {"type": "string"}),
    ],
)
def test_the_type_of_a_file(schema: Any, encoding: Any, kind: Any) -> None:
    """One of those that the document names must be told with it; where any will do, none need be."""
    shape = section(form({"a": schema}, {"a": encoding}, PARTS))["params_schema"]["properties"]["a"]
    whole = shape if "properties" in shape else shape["anyOf"][1]
    assert whole["properties"]["content_type"] == kind
    assert whole["required"] == (["content"] if kind == {"type": "string"} else ["content", "content_type"])


@pytest.mark.parametrize(
    ("schema", "encoding"),
    [
        ({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}, None),
        ({"type": "string", "contentMediaType": "text/plain"}, None),
        (TEXT, {"contentType": "text/plain"}),
        ({"type": "integer", "format": "binary"}, None),
    ],
)
def test_what_is_no_file_is_a_field(schema: Any, encoding: Any) -> None:
    """Text that stands for one, text itself, and what is no text at all."""
    assert section(form({"a": schema}, {"a": encoding}, PARTS))["params_in"] == {"a": "form"}


@pytest.mark.parametrize("is_required", [True, False])
def test_a_body_of_bytes_is_one_argument(is_required: bool) -> None:
    """In base64, under its own type; of several types the first that is no text."""
    kinds = {
        "text/plain": {},
        "application/cbor": {"schema": {"type": "string", "description": "All."}},
        "image/png": {},
    }
    told = section({"requestBody": {"content": kinds, "required": is_required}, "parameters": [parameter("body")]})
    assert told["params_in"] == {"body": "query", "request_body": "content"}
    assert told["headers"] == {"Content-Type": "application/cbor"}
    shape = {"type": "string", "contentEncoding": "base64", "description": "All."}
    assert told["params_schema"]["properties"]["request_body"] == shape
    assert ("request_body" in told["params_schema"].get("required", [])) == is_required


def test_a_form_that_cannot_be_sent_gives_way_to_one_in_parts() -> None:
    """The first kind that can be sent is taken, and only its notes are told."""
    schema = {"type": "object", "properties": {"a": TEXT, "z": {"type": "array", "items": LIST}}, "required": ["a"]}
    encoding = {"a": {"contentType": "application/xml"}}
    kinds = {FORM: {"schema": schema, "encoding": encoding}, PARTS: {"schema": schema}}
    one = made({"requestBody": {"content": kinds, "required": True}})
    assert one.definition["api_call"]["headers"] == {"Content-Type": PARTS}
    assert [note.partition(":")[0] for note in one.notes] == ["form z"]
    both = {
        FORM: {"schema": schema, "encoding": encoding},
        PARTS: {"schema": schema, "encoding": {"a": {"style": "x"}}},
    }
    told = reason({"requestBody": {"content": both, "required": True}})
    assert told == "form a: its encoding application/xml cannot be sent; form a: its style 'x' cannot be sent"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (body({}, "text/plain"), "a body of text/plain cannot be sent"),
        (body({}, PARTS, required=True), "not all known"),
        (body({"type": "object"}, "application/xml"), "a body of application/xml cannot be sent"),
        ({"content": {}}, "no type"),
        ({"content": []}, "no type"),
        ({"$ref": "#/nowhere"}, "the body: #/nowhere leads nowhere"),
        (body(TEXT, FORM), "not all known"),
        (body({"properties": {}}, FORM), "not all known"),
        (body({"properties": {"a": TEXT}}, FORM, required=True), "even when it is empty"),
        (body({"properties": {}, "additionalProperties": False}, FORM, required=True), "even when it is empty"),
        (body({"properties": {"a": {"type": "null"}}}, FORM), "no key of the form"),
        (body({"properties": {"a": False}, "required": ["a"]}, FORM, required=True), "form a"),
        (body({"properties": {"q": TEXT}}, FORM), "no key of the form"),
        (body(False), "no body is valid"),
        (body({}, "image/svg+xml"), "a body of image/svg+xml cannot be sent"),
        (body({}, "multipart/mixed"), "a body of multipart/mixed cannot be sent"),
    ],
)
def test_a_body_that_cannot_be_sent_leaves_the_operation(told: dict[str, Any], why: str) -> None:
    """Even an optional one: without it the operation would do something else."""
    assert why in reason({"parameters": [parameter("q")], "requestBody": told})


def test_a_request_that_only_reads_has_no_body() -> None:
    """An optional one is left out; one that is required leaves the operation."""
    one = made({"requestBody": body(ITEM)}, at="get /a")
    assert one.definition["api_call"]["params_schema"]["properties"] == {}
    assert one.notes == ("the body of a request that only reads: left out",)
    assert made({"requestBody": {"$ref": "#/nowhere"}}, at="get /a").notes == one.notes
    assert "needs a body" in reason({"requestBody": body(ITEM, required=True)}, at="get /a")
