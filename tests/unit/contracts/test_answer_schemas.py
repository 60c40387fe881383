"""The schema of an answer: bounded like that of arguments, because it is input too."""

from typing import Any

import pytest

from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.schemas import MAX_DETAILS, compiled


def test_of_a_large_answer_the_first_fault_is_named() -> None:
    """Thousands of faults cost more to find than anybody reads."""
    check = compiled({"items": {"type": "string"}})
    assert [one.path for one in check(list(range(10_000)))] == ["/0"]
    assert len(check(list(range(1000)))) == MAX_DETAILS


def test_a_schema_that_takes_too_many_steps_fits_nothing() -> None:
    """An answer that cannot be checked is not handed on as checked."""
    rungs: dict[str, Any] = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, 40)}
    check = compiled({"$defs": {"a0": {}, **rungs}, "$ref": "#/$defs/a39"})
    assert [one.message for one in check({})] == ["checking it would take more than 1000000 steps"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1/x"},
        {"$defs": {"unused": {"$ref": "http://127.0.0.1/x"}}},
        {"allOf": [{"$ref": "#"}]},
        {"type": 5},
    ],
)
def test_a_schema_that_leads_astray_is_found_out_before_anything_is_sent(schema: dict[str, Any]) -> None:
    """The request is refused instead of made and then not understood."""
    with pytest.raises(Refused):
        compiled(schema)
