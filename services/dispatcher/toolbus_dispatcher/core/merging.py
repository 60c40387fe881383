"""What a call runs with: what is stored over the definition over what the call itself says. Source: DESIGN §7."""

from collections.abc import Mapping
from typing import NamedTuple

from toolbus_contracts.stored import NOTHING, StoredValues, merged
from toolbus_contracts.tools import (
    QUERY_METHODS,
    ApiCallSection,
    JsonObject,
    ToolDefinition,
    ToolVersion,
    given_arguments,
    presets,
)
from toolbus_contracts.values import Json
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_dispatcher.core.arguments import PARTS, is_explicit


class Wanted(NamedTuple):
    """What a decision lacks that only the edge can bring: generations of secrets, or these arguments as they rest."""

    secrets: frozenset[str] = frozenset()
    arguments: JsonObject | None = None


def merged_arguments(version: ToolVersion, arguments: JsonObject, stored: StoredValues = NOTHING) -> JsonObject:
    """
    The arguments that hold for a call: per key, stored over definition over call.

    Where an `api_call` is given part by part, what is stored goes into the part that its method uses. What the
    definition of an `api_call` fixes is no argument: it is laid over them when the request is made.
    """
    given = given_arguments(version.definition)
    if not given and not stored.arguments:
        return arguments
    section = version.definition.api_call
    declared = _declared(section) if section is not None else {}
    if section is not None and is_explicit(arguments, declared) and not is_explicit(stored.arguments, declared):
        home = "params" if section.method in QUERY_METHODS else "json"
        inner = arguments.get(home)
        return {**arguments, home: merged(stored.arguments, {}, inner if isinstance(inner, dict) else {})}
    return merged(stored.arguments, given, arguments)


def filled_by(definition: ToolDefinition, stored: StoredValues) -> JsonObject:
    """The arguments that no model need give any more, since the definition or what is stored gives them."""
    return presets(definition, stored.setup) | stored.arguments


def is_slim(arguments: Json) -> bool:
    """Whether the arguments, as they rest, stand for a payload as a whole, or part by part: nothing goes into those."""
    if not isinstance(arguments, Mapping) or PAYLOAD_KEY in arguments:
        return True
    return any(isinstance(arguments.get(part), Mapping) and PAYLOAD_KEY in arguments[part] for part in PARTS)


def _declared(section: ApiCallSection) -> Mapping[str, Json]:
    declared = (section.params_schema or {}).get("properties")
    return declared if isinstance(declared, Mapping) else {}
