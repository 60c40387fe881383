"""
The body of an operation as arguments of an `api_call`: each key an argument, or one argument for the whole.

JSON before forms; what is neither (files, raw bytes, XML) cannot be sent. Source: OpenAPI 3.1.1 §4.8.13 and §4.8.15.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from toolbus.importing.arguments import LISTS, SCALARS, Argument, Unsendable, narrowed
from toolbus.importing.schemas import Translation
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
_JSON_KIND: Final = re.compile(r"application/(?:[a-z0-9!#$&^_.+-]+\+)?json", re.IGNORECASE)
_WHOLE_NAMES: Final = ("body", "request_body", "json_body", "whole_body")
# a schema of these keywords alone says no more than which keys there are
_OF_KEYS: Final = frozenset(
    {"type", "properties", "required", "description", "additionalProperties", "default", "examples", "deprecated"}
)


@dataclass(frozen=True)
class Body:
    """The arguments that make the body, and what the definition fixes for it: parts of an `api_call`."""

    arguments: tuple[Argument, ...] = ()
    fixed: JsonObject = field(default_factory=dict)


def body_of(told: Json, translation: Translation, taken: Collection[str]) -> Body:
    """
    How the body of an operation is sent; `taken` are names of other arguments.

    Raises:
        Unsendable: it cannot be; an operation without its body, even an optional one, would do something else.
    """
    if told is None:
        return Body()
    try:
        body = translation.document.resolved(told)
    except LookupError as error:
        raise Unsendable(f"the body: {error}") from error
    content = body.get("content")
    kinds = content if isinstance(content, dict) else {}
    usable = {name: part for name, part in kinds.items() if isinstance(part, dict)}
    return _of_kinds(usable, translation, taken, is_required=body.get("required") is True)


def _of_kinds(kinds: JsonObject, translation: Translation, taken: Collection[str], *, is_required: bool) -> Body:
    for name, part in sorted(kinds.items(), key=lambda item: _bare(item[0]) != JSON):
        if _bare(name) == "*/*" or _JSON_KIND.fullmatch(_bare(name)):
            kind = JSON if _bare(name) == "*/*" else name
            return _json(part, translation, taken, kind, is_required=is_required)
    for name, part in kinds.items():
        if _bare(name) == FORM:
            return _form(part, translation, taken, is_required=is_required)
    raise Unsendable(f"a body of {', '.join(kinds)[:200] or 'no type'} cannot be sent")


def _bare(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _json(part: JsonObject, translation: Translation, taken: Collection[str], kind: str, *, is_required: bool) -> Body:
    fixed: JsonObject = {} if _bare(kind) == JSON else {"headers": {"Content-Type": kind}}
    schema = translation.translate(part.get("schema", True))
    keys = keys_of(schema)
    may_be_keys = keys is not None and keys.properties and not (keys.required and not is_required)
    if keys is None or not may_be_keys or not set(taken).isdisjoint(keys.properties):
        return Body((_whole(schema, taken, is_required=is_required),), fixed)
    if is_required and not keys.required:
        fixed["json"] = {}  # so that a body is sent when no argument is given
    return Body(
        tuple(
            Argument(name, "json", value if isinstance(value, dict) else {}, name in keys.required)
            for name, value in keys.properties.items()
            if value is not False
        ),
        fixed,
    )


def _whole(schema: Json, taken: Collection[str], *, is_required: bool) -> Argument:
    name = next((name for name in _WHOLE_NAMES if name not in taken), None)
    if name is None or schema is False:
        raise Unsendable("the body has no name that no parameter has")
    whole: JsonObject = {} if schema is True else dict(schema)
    if isinstance(types := whole.get("type"), list):
        whole["type"] = [kind for kind in types if kind != "null"]  # null would be no body at all
    return Argument(name, "body", whole, is_required)


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


def _form(part: JsonObject, translation: Translation, taken: Collection[str], *, is_required: bool) -> Body:
    """Each key of a form is an argument; lists repeat the key, as style `form` says."""
    keys = keys_of(translation.translate(part.get("schema", True)))
    if keys is None or not keys.properties:
        raise Unsendable("a form whose keys are not all known cannot be sent")
    if is_required and not keys.required:
        raise Unsendable("a form that must be sent, even when it is empty, cannot be sent")
    if keys.required and not is_required:
        raise Unsendable("a form that is optional with keys that are not cannot be sent")
    encodings = part.get("encoding")
    found = []
    for name, schema in keys.properties.items():
        try:
            encoding = encodings.get(name) if isinstance(encodings, dict) else None
            found.append(_field(name, schema, encoding, taken, is_required=name in keys.required))
        except Unsendable as error:
            if name in keys.required:
                raise
            translation.notes[f"{error}: left out"] = None
    if not found:
        raise Unsendable("no key of the form can be sent")
    return Body(tuple(found))


def _field(name: str, schema: Json, encoding: Json, taken: Collection[str], *, is_required: bool) -> Argument:
    told = encoding if isinstance(encoding, dict) else {}
    style = told.get("style", "form")
    allowed = LISTS if told.get("explode", style == "form") is True else SCALARS
    if name in taken:
        raise Unsendable(f"form {name}: a parameter has the same name")
    if style != "form" or "contentType" in told:
        raise Unsendable(f"form {name}: its encoding cannot be sent")
    kept = narrowed(schema, allowed)
    if kept is None:
        raise Unsendable(f"form {name}: its values are no {' or '.join(allowed)}, and cannot be sent in a form")
    return Argument(name, "form", kept, is_required)
