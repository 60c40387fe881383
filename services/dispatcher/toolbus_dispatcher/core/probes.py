"""Probes: what is asked about a call in doubt, and what the answer says. Expressions are CEL."""

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from toolbus_contracts.calls import Call
from toolbus_contracts.errors import Fault
from toolbus_contracts.expressions import MARK, Inexpressible, expression_fault, expression_value
from toolbus_contracts.tools import JsonObject, Probe
from toolbus_contracts.values import Json, pointer

if TYPE_CHECKING:
    from cel import Program

Verdict = Literal["happened", "not_happened", "unclear"]


def faults_of(probe: Probe) -> tuple[Fault, ...]:
    """What is wrong with the expressions of a probe."""
    places = [("/probe/happened", probe.happened)]
    places += [
        (pointer("probe", "arguments", *place), text)
        for place, text in _texts(probe.arguments)
        if text.startswith(MARK)
    ]
    return tuple(Fault(path, fault) for path, text in places if (fault := expression_fault(text, _program)) is not None)


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
        value = expression_value(probe.happened, {"call": about(call), "output": output}, _program)
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
        return expression_value(value, {"call": said}, _program) if value.startswith(MARK) else value
    if isinstance(value, dict):
        return {name: _filled(part, said) for name, part in value.items()}
    return [_filled(part, said) for part in value] if isinstance(value, list) else value


@lru_cache(maxsize=512)
def _program(text: str) -> "Program":
    import cel  # reading it takes 0.3 s, and most processes never need it

    return cel.compile(text.removeprefix(MARK))
