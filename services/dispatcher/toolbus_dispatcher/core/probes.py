"""
Probes: what is asked about a call in doubt, and what the answer says. Expressions are CEL.

They are written by whoever defines the tool: their length and the number of loops in them are bounded, so
that evaluating one is a matter of milliseconds.
"""

import re
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Literal

from toolbus_contracts.calls import Call
from toolbus_contracts.errors import Fault
from toolbus_contracts.tools import JsonObject, Probe
from toolbus_contracts.values import MAX_INTEGER, Json, pointer

if TYPE_CHECKING:
    from cel import Program

MARK = "$ "  # what a text begins with that is an expression
MAX_CHARS = 1000
MAX_LOOPS = 2
_LOOP = re.compile(r"\.\s*(map|filter|all|exists|exists_one|transformList|transformMap)\s*\(")
EVALUATION_ERRORS = (LookupError, RuntimeError, TypeError, ValueError, ArithmeticError)  # as the library has them
Verdict = Literal["happened", "not_happened", "unclear"]


class Inexpressible(Exception):
    """An expression has no value for this call or this output."""


def faults_of(probe: Probe) -> tuple[Fault, ...]:
    """What is wrong with the expressions of a probe."""
    places = [("/probe/happened", probe.happened)]
    places += [
        (pointer("probe", "arguments", *place), text)
        for place, text in _texts(probe.arguments)
        if text.startswith(MARK)
    ]
    return tuple(Fault(path, fault) for path, text in places if (fault := _fault(text)) is not None)


def arguments_of(probe: Probe, call: Call) -> JsonObject:
    """
    The arguments of the probe for one call.

    Raises:
        Inexpressible: an expression has no value.
    """
    said = about(call)
    return {name: _filled(value, said) for name, value in probe.arguments.items()}


def verdict_on(probe: Probe, call: Call, output: Json) -> tuple[Verdict, str]:
    """What the output of the probe says, and a note for people."""
    try:
        value = _value(probe.happened, {"call": about(call), "output": output})
    except Inexpressible as error:
        return "unclear", str(error)
    if not isinstance(value, bool):
        return "unclear", f"{probe.happened} is neither true nor false"
    return ("happened" if value else "not_happened"), f"{probe.happened} is {'true' if value else 'false'}"


def about(call: Call) -> JsonObject:
    """What expressions may know of a call."""
    return {
        "id": call.id,
        "tool": call.tool,
        "arguments": call.arguments,
        "attempt": call.attempt,
        "execution_id": call.execution_id,
        "external_id": call.external_id,
        "idempotency_key": call.idempotency_key,
        "labels": dict(call.labels),
        "requested_at": call.requested_at.isoformat(),
    }


def _texts(value: Json, *place: str | int) -> list[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        return [(place, value)]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for name, part in parts for found in _texts(part, *place, name)]


def _filled(value: Json, said: JsonObject) -> Json:
    if isinstance(value, str):
        return _value(value, {"call": said}) if value.startswith(MARK) else value
    if isinstance(value, dict):
        return {name: _filled(part, said) for name, part in value.items()}
    return [_filled(part, said) for part in value] if isinstance(value, list) else value


def _fault(text: str) -> str | None:
    if len(text) > MAX_CHARS:
        return f"an expression has at most {MAX_CHARS} characters"
    if len(_LOOP.findall(text)) > MAX_LOOPS:
        return f"an expression has at most {MAX_LOOPS} loops"
    try:
        _program(text)
    except ValueError as error:
        return " ".join(str(error).split())[:500]
    return None


def _value(text: str, known: JsonObject) -> Json:
    try:
        value = _program(text).execute(known)
    except EVALUATION_ERRORS as error:
        raise Inexpressible(f"{text}: {type(error).__name__}: {error}"[:500]) from error
    if not _is_json(value):
        raise Inexpressible(f"{text} gives a {type(value).__name__}, which JSON does not know")
    return value


def _is_json(value: object) -> bool:
    """Whether a value could have come over the edges: the probe's call must not fail for what nobody can mend."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_json(part) for name, part in value.items())
    if isinstance(value, list):
        return all(_is_json(part) for part in value)
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, int):
        return -MAX_INTEGER <= value <= MAX_INTEGER
    return value is None or (isinstance(value, float) and isfinite(value))


@lru_cache(maxsize=512)
def _program(text: str) -> "Program":
    import cel  # reading it takes 0.3 s, and most processes never need it

    return cel.compile(text.removeprefix(MARK))
