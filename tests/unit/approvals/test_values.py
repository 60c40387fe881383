"""The values that a person supplies are checked against what was asked for."""

from typing import Any

import pytest

from toolbus_approvals.core.values import MAX_FAULTS, check_values
from toolbus_contracts.tools import AskUser

ASKED = AskUser(fields={"name": {"type": "string", "maxLength": 4}, "age": {"type": "integer"}}, required=("name",))


def paths(asked: AskUser, values: dict[str, Any]) -> list[str]:
    """Where something is wrong."""
    return [fault.path for fault in check_values(asked, values)]


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"name": "ana"}, []),
        ({"name": "ana", "age": 7}, []),
        ({}, ["/values/name"]),
        ({"name": "ana", "age": "7"}, ["/values/age"]),
        ({"name": "far too long", "age": 1.5}, ["/values/age", "/values/name"]),
        ({"name": "ana", "more": 1}, ["/values"]),
    ],
)
def test_every_fault_has_its_path(values: dict[str, Any], wrong: list[str]) -> None:
    """What is missing too; what was not asked for is refused."""
    assert sorted(paths(ASKED, values)) == wrong


def test_all_fields_are_needed_unless_said_otherwise() -> None:
    """Without `required` every one is."""
    asked = AskUser(fields={"a": {}, "b": {}})
    assert sorted(paths(asked, {})) == ["/values/a", "/values/b"]


def test_a_long_list_of_faults_is_cut() -> None:
    """An answer stays readable."""
    asked = AskUser(fields={"list": {"type": "array", "items": {"type": "integer"}}})
    assert len(check_values(asked, {"list": ["x"] * 100})) == MAX_FAULTS


@pytest.mark.parametrize("schema", [{"type": 5}, {"$ref": "https://example.com/schema.json"}])
def test_a_schema_that_is_none_is_told(schema: dict[str, Any]) -> None:
    """Nothing is fetched, and nothing fails of it."""
    (fault,) = check_values(AskUser(fields={"a": schema}), {"a": 1})
    assert fault.path == "/values"


def test_a_check_that_would_take_too_long_is_refused() -> None:
    """What a schema and a value cost together is counted before."""
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(8):
        nested = {"anyOf": [nested, {"type": "array", "items": nested}]}
    value: Any = "x"
    for _ in range(8):
        value = [value] * 8
    (fault,) = check_values(AskUser(fields={"a": nested}), {"a": value})
    assert "steps" in fault.message
