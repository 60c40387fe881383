"""Structured content, held against the schema that its tool has for it."""

import base64
from typing import Any

import pytest

from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.mcp_answers import judge_result
from toolbus_integrations.core.mcp_outputs import unfit

UNSAFE = Terms()
READ = Terms(effect="read", idempotency="native", is_asserted=True, provenance="definition")
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
SECRET = "correct-horse-battery"
NOTHING = Redactor()
TOKEN = Redactor([("token", SECRET)])


def held(result: dict[str, Any], schema: Any = SCHEMA, *, terms: Terms = UNSAFE, redactor: Redactor = NOTHING) -> Any:
    """What comes of a result."""
    return unfit({"content": [], **result}, schema, terms, redactor)


def faults(found: Outcome | None) -> list[tuple[str, str]]:
    """The details of the failure."""
    assert found is not None
    assert found.error is not None
    assert (found.result, found.error.code, found.error.retryable) == ("failed", "response_invalid", False)
    return [(detail.path, detail.message) for detail in found.error.details]


@pytest.mark.parametrize(
    ("result", "schema"),
    [
        ({"structuredContent": {"id": 7}}, SCHEMA),
        ({"structuredContent": {"id": "x"}}, None),
        ({}, None),
        ({"structuredContent": {"id": "x"}, "isError": True}, SCHEMA),
        ({"resultType": "input_required", "inputRequests": {}}, SCHEMA),
        ({"structuredContent": {"id": "x"}}, {"type": "no such type"}),
        ({"structuredContent": {"id": "x"}}, {"$ref": "https://e.example/schema"}),
        ({"structuredContent": {"id": "x"}}, {**SCHEMA, "description": "x" * 100_000}),
    ],
    ids=["fits", "no schema", "nothing", "an error", "asks", "no type", "elsewhere", "too long"],
)
def test_what_fits_and_what_nothing_is_held_against(result: dict[str, Any], schema: Any) -> None:
    """An error of the tool, and a question, have no content; a schema that cannot be used checks nothing."""
    assert held(result, schema) is None


def test_content_that_does_not_fit_is_told_with_what_is_wrong() -> None:
    """Whoever has to find out what was done reads it there; the effect happened, unless it was a read."""
    found = held({"structuredContent": {"id": "i-7"}})
    assert faults(found) == [
        ("/structured/id", '"i-7" is not of type "integer"'),
        ("/structured", '{"id":"i-7"}'),
    ]
    assert found.error.effect_happened == "yes"
    assert '"i-7" is not of type "integer"' in found.error.message
    assert held({"structuredContent": {}}, terms=READ).error.effect_happened == "no"


def test_content_that_is_not_there_does_not_fit() -> None:
    """A tool that has a schema promises content."""
    assert faults(held({})) == [("/structured", "there is none, although the tool has a schema for it")]


@pytest.mark.parametrize("value", [float("nan"), 2**60, "a\0b"], ids=["no number", "large", "nul"])
def test_content_that_stays_raw_is_a_success(value: Any) -> None:
    """What no strict reader would keep as it is, nothing can be held against; it is handed on byte for byte."""
    result = {"content": [], "structuredContent": {"id": value}}
    assert held(result) is None
    found = judge_result(result, UNSAFE)
    assert (found.result, (found.output or {})["content"]) == ("succeeded", [])
    assert "structuredContent" in base64.b64decode((found.output or {})["raw"]).decode()


def test_content_is_told_without_secrets() -> None:
    """They are taken out before anything is cut off; whether it fits is found out with them."""
    told = faults(held({"structuredContent": {"id": f"{'x' * 280}{SECRET}"}}, redactor=TOKEN))
    assert SECRET[:6] not in str(told)
    assert "[secret:token]" in told[1][1]
    pattern = {"type": "object", "properties": {"id": {"pattern": "^[^c]*$"}}}
    assert faults(held({"structuredContent": {"id": SECRET}}, pattern, redactor=TOKEN))[0][1]
    only = {"type": "object", "properties": {"id": {"maxLength": 16}}}
    assert faults(held({"structuredContent": {"id": SECRET}}, only, redactor=TOKEN)) == [
        ("/structured", "it does not fit"),
        ("/structured", '{"id":"[secret:token]"}'),
    ]


def test_content_that_cannot_be_searched_is_not_told() -> None:
    """It is dropped rather than told with a secret in it."""
    spread = {"id": list(SECRET)}
    assert faults(held({"structuredContent": spread}, redactor=Redactor([("token", '"c","o","r"')]))) == [
        ("/structured", "it does not fit")
    ]
