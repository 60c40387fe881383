"""The part of a schema whose values can be written in some place: of the allowed types, with items that can be too."""

from typing import Final

from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

SCALARS: Final = ("string", "number", "integer", "boolean")
LISTS: Final = (*SCALARS, "array")
ANYTHING: Final = (*LISTS, "object")


def narrowed(schema: Json, allowed: tuple[str, ...], items: tuple[str, ...] | None = SCALARS) -> JsonObject | None:
    """
    The part of a translated schema that only takes values of the allowed types; none when nothing is left.

    Items of lists are narrowed to the types of `items`; none: they stay as they are.
    """
    if schema is False:
        return None
    found: JsonObject = {} if schema is True else dict(schema)
    types = types_in(found)
    if types is not None and not _keep_types(found, types, allowed, items):
        return None
    for name in ("anyOf", "oneOf"):
        if name in found:
            found[name] = [part for branch in found[name] if (part := narrowed(branch, allowed, items)) is not None]
            if not found[name]:
                return None
    if types is None and "allOf" in found:
        parts = [narrowed(part, allowed, items) for part in found["allOf"]]
        if None in parts:
            return None
        found["allOf"] = parts
    elif types is None and "anyOf" not in found and "oneOf" not in found:
        found["type"] = [name for name in allowed if name != "array" or items is None]
    return found


def types_in(schema: JsonObject) -> list[str] | None:
    """The types that a schema names itself, or that its keywords are about; none when it leaves that open."""
    if "type" in schema:
        return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "const" in schema or "enum" in schema:
        return list(dict.fromkeys(_type_of(value) for value in schema.get("enum", [schema.get("const")])))
    if "properties" in schema:
        return ["object"]
    return ["array"] if "items" in schema else None


def _keep_types(found: JsonObject, types: list[str], allowed: tuple[str, ...], items: tuple[str, ...] | None) -> bool:
    """Narrow the types of a schema, and with them its items and its enum; false when nothing is left."""
    kept = [name for name in types if name in allowed]
    if "array" in kept and not _keep_items(found, items):
        kept.remove("array")
    if "enum" in found:
        found["enum"] = [value for value in found["enum"] if _type_of(value) in {*kept, *_also(kept)}]
        if not found["enum"]:
            return False
    if kept:
        found["type"] = kept[0] if len(kept) == 1 else kept
    return bool(kept)


def _keep_items(found: JsonObject, wanted: tuple[str, ...] | None) -> bool:
    if wanted is None:
        return True
    items = None if "prefixItems" in found else narrowed(found.get("items", True), wanted)
    if items is None:
        return False
    found["items"] = items
    return True


def _also(types: list[str]) -> tuple[str, ...]:
    return ("integer",) if "number" in types else ()


def _type_of(value: Json) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"
