"""Bodies become arguments: a key each, or one for the whole."""

from typing import Any

import pytest

from tests.unit.importing.making import TEXT, body, made, parameter, reason, section

ITEM = {"type": "object", "properties": {"name": TEXT, "size": {"type": "integer"}}, "required": ["name"]}
FORM = "application/x-www-form-urlencoded"


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


def test_a_form() -> None:
    """Keys are arguments in the form; a key with values that no form carries is left out."""
    fields = {"a": TEXT, "l": {"type": "array", "items": TEXT}, "o": {"type": "object"}, "d": TEXT}
    part = {
        "schema": {"type": "object", "properties": fields, "required": ["a"]},
        "encoding": {"d": {"style": "deepObject"}},
    }
    one = made({"requestBody": {"content": {FORM: part}, "required": True}})
    assert one.definition["api_call"]["params_in"] == {"a": "form", "l": "form"}
    assert [note.partition(":")[0] for note in one.notes] == ["form o", "form d"]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (body({}, "text/plain"), "a body of text/plain cannot be sent"),
        (body({}, "multipart/form-data", required=True), "multipart/form-data"),
        ({"content": {}}, "no type"),
        ({"content": []}, "no type"),
        ({"$ref": "#/nowhere"}, "the body: #/nowhere leads nowhere"),
        (body(TEXT, FORM), "not all known"),
        (body({"properties": {}}, FORM), "not all known"),
        (body({"properties": {"a": TEXT}}, FORM, required=True), "even when it is empty"),
        (body({"properties": {"a": TEXT}, "required": ["a"]}, FORM), "optional with keys that are not"),
        (body({"properties": {"a": {"type": "object"}}}, FORM), "no key of the form"),
        (body({"properties": {"a": {"type": "object"}}, "required": ["a"]}, FORM, required=True), "form a"),
        (body({"properties": {"q": TEXT}}, FORM), "no key of the form"),
        (body(False), "no name"),
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
