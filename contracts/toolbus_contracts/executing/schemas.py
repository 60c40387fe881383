"""The schema of an answer: compiled once, without network and with expressions that end in linear time."""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

import jsonschema_rs

from toolbus_contracts.calls import Detail
from toolbus_contracts.requests.texts import invalid
from toolbus_contracts.schema_cost import MAX_KEPT_CHECKS, MAX_STEPS, StepCounter, is_listable, room_for_expression
from toolbus_contracts.values import Json, compact, fault_path

MAX_SCHEMA_CHARS = 64 * 1024
MAX_DETAILS = 20
MAX_MESSAGE_CHARS = 300
Check = Callable[[Json], tuple[Detail, ...]]


def compiled(schema: Json) -> Check:
    """
    The check that a schema stands for: it names what is wrong with a value, by path.

    Raises:
        Refused: `request_invalid` when it is no usable schema.
    """
    text = compact(schema)
    if len(text) > MAX_SCHEMA_CHARS:
        raise invalid(f"the schema of the answer is longer than {MAX_SCHEMA_CHARS} characters")
    try:
        return _compiled(text)
    except ValueError as error:
        raise invalid(
            f"the schema of the answer is not usable: {str(error).splitlines()[0][:MAX_MESSAGE_CHARS]}"
        ) from error


@lru_cache(maxsize=MAX_KEPT_CHECKS)
def _compiled(text: str) -> Check:
    schema = json.loads(text)
    counter = StepCounter(schema)
    expressions = jsonschema_rs.RegexOptions(size_limit=room_for_expression(schema))
    validator = jsonschema_rs.Draft202012Validator(text, retriever=_refuse_reference, pattern_options=expressions)

    def check(value: Json) -> tuple[Detail, ...]:
        if not counter.allows(value):
            return (Detail(path="", message=f"checking it would take more than {MAX_STEPS} steps"),)
        if validator.is_valid(value):
            return ()
        errors = validator.iter_errors(value) if is_listable(value) else _first_error(validator, value)
        return tuple(
            Detail(path=fault_path(*error.instance_path), message=error.message[:MAX_MESSAGE_CHARS])
            for error in islice(errors, MAX_DETAILS)
        )

    return check


def _first_error(validator: jsonschema_rs.Draft202012Validator, value: Json) -> Iterator[jsonschema_rs.ValidationError]:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        yield error


def _refuse_reference(uri: str) -> Json:
    """Validators fetch remote references by default; a schema must not make us do so."""
    raise ValueError(f"a schema may not refer to {uri}")
