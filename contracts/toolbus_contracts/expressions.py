"""
CEL expressions that people write into definitions and grants: what one may be, and what may come of it.

Their length and the number of loops in them are bounded, so that evaluating one is a matter of milliseconds. The
library that reads them is no part of the language: whoever evaluates hands in `compile_`.
"""

import re
from collections.abc import Callable
from math import isfinite
from typing import Final, Protocol

from toolbus_contracts.values import MAX_INTEGER, Json

MARK: Final = "$ "  # what a text begins with that is an expression, where other texts may stand too
MAX_CHARS: Final = 1000
MAX_LOOPS: Final = 2
_LOOP = re.compile(r"\.\s*(map|filter|all|exists|exists_one|transformList|transformMap)\s*\(")
EVALUATION_ERRORS = (LookupError, RuntimeError, TypeError, ValueError, ArithmeticError)  # as the library has them


class Inexpressible(Exception):
    """An expression has no value for what it was asked about."""


class Program(Protocol):
    """An expression that was read once and can be evaluated many times."""

    def execute(self, context: dict[str, Json]) -> Json:
        """Give the value, with these variables."""


Compile = Callable[[str], Program]  # raises ValueError for what is no expression


def expression_fault(text: str, compile_: Compile) -> str | None:
    """What is wrong with an expression before it is evaluated; nothing when it can be."""
    if len(text) > MAX_CHARS:
        return f"an expression has at most {MAX_CHARS} characters"
    if len(_LOOP.findall(text)) > MAX_LOOPS:
        return f"an expression has at most {MAX_LOOPS} loops"
    try:
        compile_(text)
    except ValueError as error:
        return " ".join(str(error).split())[:500]
    return None


def expression_value(text: str, known: dict[str, Json], compile_: Compile) -> Json:
    """
    The value of an expression.

    Raises:
        Inexpressible: it has none, or one that JSON does not know.
    """
    try:
        value = compile_(text).execute(known)
    except EVALUATION_ERRORS as error:
        raise Inexpressible(f"{text}: {type(error).__name__}: {error}"[:500]) from error
    if not _is_json(value):
        raise Inexpressible(f"{text} gives a {type(value).__name__}, which JSON does not know")
    return value


def _is_json(value: object) -> bool:
    """Whether a value could have come over the edges: what is made of it must not fail for what nobody can mend."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_json(part) for name, part in value.items())
    if isinstance(value, list):
        return all(_is_json(part) for part in value)
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, int):
        return -MAX_INTEGER <= value <= MAX_INTEGER
    return value is None or (isinstance(value, float) and isfinite(value))
