"""The keys that an object may have, where its schema says no more than that."""

from dataclasses import dataclass
from typing import Final

from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

# a schema of these keywords alone says no more than which keys there are
_OF_KEYS: Final = frozenset(
    {"type", "properties", "required", "description", "additionalProperties", "default", "examples", "deprecated"}
)


@dataclass(frozen=True)
class Keys:
    """The keys that an object may have, with a schema for each."""

    properties: JsonObject
    required: frozenset[str]


def keys_of(schema: Json) -> Keys | None:
    """The keys of a schema that says no more than which there are; parts of `allOf` together. None for any other."""
    if not isinstance(schema, dict) or not (_OF_KEYS | {"allOf"}).issuperset(schema):
        return None
    own = {name: value for name, value in schema.items() if name != "allOf"}
    if own.get("type", "object") != "object" or own.get("additionalProperties", False) is not False:
        return None
    told = schema.get("allOf", [])
    parts = [keys for part in told if (keys := keys_of(part)) is not None]
    if len(parts) < len(told) or (told and any("additionalProperties" in part for part in (own, *told))):
        return None  # one says more than which keys there are, or would refuse the keys of the others
    properties, required = dict(own.get("properties", {})), set(own.get("required", []))
    for keys in parts:
        if not properties.keys().isdisjoint(keys.properties):
            return None
        properties.update(keys.properties)
        required |= keys.required
    return Keys(properties, frozenset(required)) if required <= properties.keys() else None
