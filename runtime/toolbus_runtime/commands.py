"""Commands from outside: read as messages with every fault by its path, and given ids that sort by time."""

from typing import Final, TypeVar

import uuid_utils
from pydantic import BaseModel, ValidationError

from toolbus_contracts.errors import Fault, Unreadable
from toolbus_contracts.values import MAX_FAULTS, Json, fault_message, fault_path

M = TypeVar("M", bound=BaseModel)
_KEY_MARK: Final = "[key]"  # what pydantic puts behind a key that is wrong itself


def new_id(prefix: str) -> str:
    """A fresh id that sorts by time: prefix, underscore, 32 hex digits (UUIDv7)."""
    return f"{prefix}_{uuid_utils.uuid7().hex}"


def faults_of(error: ValidationError, *path: str) -> tuple[Fault, ...]:
    """The first faults that pydantic found, each with its JSON Pointer."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return tuple(
        Fault(fault_path(*path, *_place(one["loc"])), fault_message(one["type"], one["msg"]))
        for one in found[:MAX_FAULTS]
    )


def _place(loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where a fault is, without what pydantic adds: which form of `tool` was read, and the mark of a bad key."""
    place = (loc[0], *loc[2:]) if loc[:1] == ("tool",) else loc
    return place[:-1] if place[-1:] == (_KEY_MARK,) else place


def parsed(model: type[M], value: Json | bytes) -> M:
    """
    Read a request body, or the bytes of an executor's message, as a message.

    Raises:
        Unreadable: `invalid_request`, with every fault by its path.
    """
    try:
        return model.model_validate_json(value) if isinstance(value, bytes) else model.model_validate(value)
    except ValidationError as error:
        faults = faults_of(error)
        raise Unreadable("invalid_request", faults[0].message, faults) from error
