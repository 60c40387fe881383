"""Expressions that people write: bounds before they are read, and values that JSON knows."""

import pytest

from toolbus_contracts.expressions import (
    EVALUATION_ERRORS,
    MAX_CHARS,
    MAX_LOOPS,
    Inexpressible,
    expression_fault,
    expression_value,
)
from toolbus_contracts.values import Json


class Constant:
    """A program that gives what it was made with, or fails with it."""

    def __init__(self, value: object) -> None:
        self._value = value

    def execute(self, context: dict[str, Json]) -> Json:
        """Give the value; a key of the context when there is one of this name."""
        if isinstance(self._value, Exception):
            raise self._value
        return context.get(str(self._value), self._value)


def unreadable(text: str) -> Constant:
    """A reader that can read nothing."""
    raise ValueError(f"cannot   read\n{text}" + "!" * 1000)


def test_what_is_too_long_or_loops_too_often_is_not_even_read() -> None:
    """Reading it may be what is costly."""
    loops = "[1].all(a, true) && " * MAX_LOOPS + "true"
    assert expression_fault(loops, Constant) is None
    assert expression_fault("[1].map(a, a) == [1] && " + loops, unreadable) == "an expression has at most 2 loops"
    assert expression_fault("t" * MAX_CHARS, Constant) is None
    assert expression_fault("t" * (MAX_CHARS + 1), unreadable) == "an expression has at most 1000 characters"


def test_what_cannot_be_read_is_told_in_one_line() -> None:
    """Short enough for an answer."""
    fault = expression_fault("1 +", unreadable)
    assert fault is not None
    assert fault.startswith("cannot read 1 +!!!")
    assert len(fault) == 500


@pytest.mark.parametrize(
    "value", [None, True, 0, -(2**53) + 1, 1.5, "text", [], {}, {"a": [1, {"b": None}]}, ["x", 2**53 - 1]]
)
def test_a_value_that_json_knows_is_given(value: Json) -> None:
    """As it is."""
    assert expression_value("name", {"name": value}, Constant) == value


@pytest.mark.parametrize(
    "value",
    [b"a", 2**53, -(2**53), float("nan"), float("inf"), "a\0b", [b"a"], {"a": {1}}, {1: "a"}, ...],
    ids=repr,
)
def test_a_value_that_json_does_not_know_is_none(value: object) -> None:
    """What could not have come over the edges must not be made inside."""
    with pytest.raises(Inexpressible, match=rf"^name gives a {type(value).__name__}, which JSON does not know$"):
        expression_value("name", {"name": value}, Constant)


@pytest.mark.parametrize("kind", EVALUATION_ERRORS)
def test_an_expression_that_fails_has_no_value(kind: type[Exception]) -> None:
    """With the expression and the reason, in at most 500 characters."""
    with pytest.raises(Inexpressible) as caught:
        expression_value("name", {}, lambda _: Constant(kind("no" * 1000)))
    assert str(caught.value).startswith(f"name: {kind.__name__}: ")
    assert len(str(caught.value)) == 500
