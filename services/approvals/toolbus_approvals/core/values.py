"""Check the values that a person supplies; every fault is named by its path."""

import json
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Final

import jsonschema_rs

from toolbus_approvals.core.answering import answer_schema
from toolbus_contracts.errors import Fault
from toolbus_contracts.schema_cost import MAX_KEPT_CHECKS, MAX_STEPS, StepCounter, room_for_expression
from toolbus_contracts.tools import AskUser, JsonObject
from toolbus_contracts.values import compact, fault_path

MAX_FAULTS: Final = 20
MAX_MESSAGE_CHARS: Final = 300
Check = Callable[[JsonObject], tuple[Fault, ...]]


def check_values(ask_user: AskUser, values: JsonObject) -> tuple[Fault, ...]:
    """What is wrong with the values of an answer; nothing when they are what was asked for."""
    try:
        check = _compiled(compact(answer_schema(ask_user)))
    except ValueError as error:
        return (Fault("/values", f"what is asked for is no usable schema: {str(error).splitlines()[0]}"),)
    return check(values)


@lru_cache(maxsize=MAX_KEPT_CHECKS)
def _compiled(text: str) -> Check:
    schema = json.loads(text)
    counter = StepCounter(schema)
    expressions = jsonschema_rs.RegexOptions(size_limit=room_for_expression(schema))
    validator = jsonschema_rs.Draft202012Validator(text, retriever=_refuse_reference, pattern_options=expressions)

    def check(values: JsonObject) -> tuple[Fault, ...]:
        if not counter.allows(values):
            return (Fault("/values", f"checking it would take more than {MAX_STEPS} steps"),)
        return tuple(_fault(error) for error in islice(validator.iter_errors(values), MAX_FAULTS))

    return check


def _fault(error: jsonschema_rs.ValidationError) -> Fault:
    """Name the fault by its path; a missing value by the path that it would have."""
    missing = getattr(error.kind, "property", None) if error.kind.name == "required" else None
    path = fault_path("values", *error.instance_path, *([missing] if missing else []))
    return Fault(path, error.message[:MAX_MESSAGE_CHARS])


def _refuse_reference(uri: str) -> JsonObject:
    """Validators fetch remote references by default; a schema is input and must not make us do so."""
    raise ValueError(f"a schema may not refer to {uri}")
