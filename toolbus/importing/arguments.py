"""
Parameters of an operation as arguments of an `api_call`: each in its place, with the values that can be sent there.

An `api_call` writes texts, numbers and booleans as they are, which is what every style says of them; lists and objects
in a query as its `params_style` says. Other values would reach the server in a form that it does not expect: the schema
is narrowed to what can be sent.

Source: OpenAPI 3.1.1 §4.8.12 (Parameter Object; style, explode).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolbus.importing.narrowing import SCALARS, narrowed
from toolbus.importing.schemas import Translation
from toolbus.importing.styles import Unsendable, Written, kept, written
from toolbus.importing.values import shortened
from toolbus_contracts.tools import JsonObject, Place, Style
from toolbus_contracts.values import Json

IGNORED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})  # Source: OpenAPI 3.1.1 §4.8.12.1
SET_BY_US: Final = "idempotency-key"
# Source: RFC 9110 §7.6.1 and §7.2: these speak about the connection
UNSENDABLE_HEADERS: Final = frozenset(
    {"connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # Source: RFC 9110 §5.6.2
_PLACES: Final[Mapping[str, Place]] = {"path": "path", "query": "query", "header": "header", "cookie": "cookie"}
_USUAL_STYLE: Final = {"path": "simple", "header": "simple", "cookie": "form"}


@dataclass(frozen=True)
class Argument:
    """One argument of a tool. Its name is the name under which it is sent, unless it is a whole body."""

    name: str
    place: Place
    schema: JsonObject
    is_required: bool
    style: Style | None = None


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
    how = _sendable(parameter, translation)
    schema = dict(never_empty(how) if is_required else how.schema)
    if isinstance(text := parameter.get("description"), str) and text.strip():
        schema["description"] = shortened(text, translation.max_text)
    return Argument(name, _PLACES[place], schema, is_required, how.style)


def _sendable(parameter: JsonObject, translation: Translation) -> Written:
    """The schema of the values that arrive as the parameter's style says."""
    place, where = parameter["in"], f"{parameter['in']} {parameter['name']}"
    if "content" in parameter:
        return Written(_written_as_json(parameter, translation))
    told = translation.translate(parameter.get("schema", True))
    if place == "query":
        return written(where, told, parameter, translation)
    style = parameter.get("style", _USUAL_STYLE[place])
    if style != _USUAL_STYLE[place]:
        raise Unsendable(f"its style {str(style)[:40]!r} cannot be sent")
    schema = kept(where, told, SCALARS, translation)
    if place == "path" and schema.get("type") == "string":
        schema["minLength"] = max(1, schema.get("minLength", 0))  # nothing at all would name the whole collection
    return Written(schema)


def never_empty(found: Written) -> JsonObject:
    """The schema of what must be given: an empty list, or an object with names for its keys, would leave nothing."""
    schema = found.schema
    if schema.get("type") == "array":
        return {**schema, "minItems": max(1, schema.get("minItems", 0))}
    if schema.get("type") == "object" and found.style == "deep":
        return {**schema, "minProperties": max(1, schema.get("minProperties", 0))}
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
