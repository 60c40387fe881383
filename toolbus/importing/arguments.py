"""
Parameters of an operation as arguments of an `api_call`: each in its place, with the values that can be sent there.

An `api_call` writes texts, numbers and booleans as they are, and repeats the name for each item of a list in a query
or a form. That is what the styles `simple` and `form` say of such values. Other values of these styles, and all values
of other styles, would reach the server in a form that it does not expect: the schema is narrowed to what can be sent.

Source: OpenAPI 3.1.1 §4.8.12 (Parameter Object; style, explode).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolbus.importing.schemas import Translation
from toolbus.importing.values import shortened
from toolbus_contracts.tools import JsonObject, Place
from toolbus_contracts.values import Json

SCALARS: Final = ("string", "number", "integer", "boolean")
LISTS: Final = (*SCALARS, "array")
IGNORED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})  # Source: OpenAPI 3.1.1 §4.8.12.1
SET_BY_US: Final = "idempotency-key"
# Source: RFC 9110 §7.6.1 and §7.2: these speak about the connection
UNSENDABLE_HEADERS: Final = frozenset(
    {"connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # Source: RFC 9110 §5.6.2
_PLACES: Final[Mapping[str, Place]] = {"path": "path", "query": "query", "header": "header", "cookie": "cookie"}
_USUAL_STYLE: Final = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}


class Unsendable(Exception):
    """An operation that cannot be called as its document says; the text says why."""


@dataclass(frozen=True)
class Argument:
    """One argument of a tool. Its name is the name under which it is sent, unless it is a whole body."""

    name: str
    place: Place
    schema: JsonObject
    is_required: bool


def arguments_of(of_path: Json, of_operation: Json, translation: Translation) -> list[Argument]:
    """
    The parameters of an operation that can be sent; an optional one that cannot be leaves a note.

    Raises:
        Unsendable: a required one cannot be.
    """
    found: dict[str, Argument] = {}
    for parameter in _declared(of_path, of_operation, translation):
        name, place, is_required = parameter["name"], parameter["in"], parameter.get("required") is True
        if place == "header" and name.lower() in IGNORED_HEADERS:
            continue
        if place == "header" and name.lower() == SET_BY_US:
            translation.notes[f"header {name}: Toolbus sets it"] = None
            continue
        try:
            found[name] = _argument(parameter, translation, found)
        except Unsendable as error:
            told = f"{place} {name}: {error}"
            if is_required or place == "path":
                raise Unsendable(told) from error
            translation.notes[f"{told}: left out"] = None
    return list(found.values())


def _declared(of_path: Json, of_operation: Json, translation: Translation) -> list[JsonObject]:
    """Every parameter once; what the operation says of one stands before what its path says."""
    found: dict[tuple[str, str], JsonObject] = {}
    for parameters in (of_path, of_operation):
        for told in parameters if isinstance(parameters, list) else ():
            try:
                parameter = translation.document.resolved(told)
            except LookupError as error:
                raise Unsendable(f"a parameter: {error}") from error
            name, place = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not isinstance(place, str) or place not in _PLACES:
                raise Unsendable(f"a parameter {str(name)[:100]} in {str(place)[:40]}")
            found[place, name] = parameter
    return list(found.values())


def _argument(parameter: JsonObject, translation: Translation, found: Mapping[str, Argument]) -> Argument:
    name, place = parameter["name"], parameter["in"]
    if name in found:
        raise Unsendable(f"{found[name].place} {name} has the same name")
    if place in {"header", "cookie"} and not _TOKEN.fullmatch(name):
        raise Unsendable("that is no name there")
    if place == "header" and name.lower() in UNSENDABLE_HEADERS:
        raise Unsendable("the connection sets it")
    is_required = parameter.get("required") is True or place == "path"
    schema = _sendable(parameter, translation, is_required=is_required)
    if isinstance(text := parameter.get("description"), str) and text.strip():
        schema["description"] = shortened(text, translation.max_text)
    return Argument(name, _PLACES[place], schema, is_required)


def _sendable(parameter: JsonObject, translation: Translation, *, is_required: bool) -> JsonObject:
    """The schema of the values that arrive as the parameter's style says."""
    place = parameter["in"]
    if "content" in parameter:
        return _written_as_json(parameter, translation)
    style = parameter.get("style", _USUAL_STYLE[place])
    if style != _USUAL_STYLE[place]:
        raise Unsendable(f"its style {style!r} cannot be sent")
    explodes = parameter.get("explode", style == "form") is True
    allowed = LISTS if place == "query" and explodes else SCALARS
    told = translation.translate(parameter.get("schema", True))
    schema = narrowed(told, allowed)
    if schema is None:
        raise Unsendable(f"its values are no {' or '.join(allowed)}, and cannot be sent in its style")
    if narrowed(told, (*allowed, "null")) != told:
        translation.notes[f"{place} {parameter['name']}: narrowed to {', '.join(allowed)}"] = None
    if place == "path" and schema.get("type") == "string":
        schema["minLength"] = max(1, schema.get("minLength", 0))  # nothing at all would name the whole collection
    elif is_required and schema.get("type") == "array":
        schema["minItems"] = max(1, schema.get("minItems", 0))  # an empty list leaves nothing in a query
    return schema


def _written_as_json(parameter: JsonObject, translation: Translation) -> JsonObject:
    """A parameter that is JSON: an object in a query is written so, and a text would lack its quotes."""
    content = parameter["content"]
    kinds = list(content) if isinstance(content, dict) else []
    if parameter["in"] != "query" or kinds != ["application/json"] or not isinstance(content[kinds[0]], dict):
        raise Unsendable(f"content {', '.join(kinds)[:100]} cannot be sent")
    schema = narrowed(translation.translate(content[kinds[0]].get("schema", True)), ("object",))
    if schema is None:
        raise Unsendable("JSON that is no object cannot be sent")
    return schema


def narrowed(schema: Json, allowed: tuple[str, ...]) -> JsonObject | None:
    """
    The part of a translated schema that only takes values of the allowed types; none when nothing is left.

    Items of lists are narrowed to texts, numbers and booleans.
    """
    if schema is False:
        return None
    found: JsonObject = {} if schema is True else dict(schema)
    types = _types_in(found)
    if types is not None and not _keep_types(found, types, allowed):
        return None
    for name in ("anyOf", "oneOf"):
        if name in found:
            found[name] = [part for branch in found[name] if (part := narrowed(branch, allowed)) is not None]
            if not found[name]:
                return None
    if types is None and "allOf" in found:
        parts = [narrowed(part, allowed) for part in found["allOf"]]
        if None in parts:
            return None
        found["allOf"] = parts
    elif types is None and "anyOf" not in found and "oneOf" not in found:
        found["type"] = [name for name in allowed if name != "array"]
    return found


def _types_in(schema: JsonObject) -> list[str] | None:
    """The types that a schema names itself, or that its keywords are about; none when it leaves that open."""
    if "type" in schema:
        return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "const" in schema or "enum" in schema:
        return list(dict.fromkeys(_type_of(value) for value in schema.get("enum", [schema.get("const")])))
    if "properties" in schema:
        return ["object"]
    return ["array"] if "items" in schema else None


def _keep_types(found: JsonObject, types: list[str], allowed: tuple[str, ...]) -> bool:
    """Narrow the types of a schema, and with them its items and its enum; false when nothing is left."""
    kept = [name for name in types if name in allowed]
    if "array" in kept and not _keep_items(found):
        kept.remove("array")
    if "enum" in found:
        found["enum"] = [value for value in found["enum"] if _type_of(value) in {*kept, *_also(kept)}]
        if not found["enum"]:
            return False
    if kept:
        found["type"] = kept[0] if len(kept) == 1 else kept
    return bool(kept)


def _keep_items(found: JsonObject) -> bool:
    items = None if "prefixItems" in found else narrowed(found.get("items", True), SCALARS)
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
