"""
The body of an operation as arguments of an `api_call`: each key an argument, or one argument for the whole.

JSON before forms, and those with files behind them; what is neither is bytes, unless it is text or XML: whoever writes
that would have to do so in base64.

Source: OpenAPI 3.1.1 §4.8.13 and §4.8.14.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from toolbus.importing.arguments import Argument
from toolbus.importing.forms import form_of
from toolbus.importing.keys import keys_of
from toolbus.importing.schemas import Translation
from toolbus.importing.styles import Unsendable
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

JSON: Final = "application/json"
MULTIPART: Final = "multipart/form-data"
FORMS: Final = ("application/x-www-form-urlencoded", MULTIPART)
_JSON_KIND: Final = re.compile(r"application/(?:[a-z0-9!#$&^_.+-]+\+)?json", re.IGNORECASE)
_WORDS: Final = re.compile(
    r"text/.*|(?:application|image)/(?:[a-z0-9!#$&^_.+-]+\+)?xml|multipart/.*|.*\*.*", re.IGNORECASE
)
_WHOLE_NAMES: Final = ("body", "request_body", "json_body", "whole_body")


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
    reasons: list[str] = []
    for kind in FORMS:
        part = next((part for name, part in kinds.items() if _bare(name) == kind), None)
        if part is None:
            continue
        before = dict(translation.notes)
        try:
            return _form(kind, part, translation, taken, is_required=is_required)
        except Unsendable as error:
            reasons.append(str(error))
            translation.notes = before
    of_bytes = next((name for name in kinds if not _WORDS.fullmatch(_bare(name))), None)
    if of_bytes is not None and not reasons:
        return _bytes(of_bytes, kinds[of_bytes], translation, taken, is_required=is_required)
    raise Unsendable("; ".join(reasons) or f"a body of {', '.join(kinds)[:200] or 'no type'} cannot be sent")


def _form(kind: str, part: JsonObject, translation: Translation, taken: Collection[str], *, is_required: bool) -> Body:
    is_multipart = kind == MULTIPART
    found = form_of(part, translation, taken, is_required=is_required, is_multipart=is_multipart)
    return Body(found, {"headers": {"Content-Type": MULTIPART}} if is_multipart and found else {})


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


def _bytes(kind: str, part: JsonObject, translation: Translation, taken: Collection[str], *, is_required: bool) -> Body:
    told = translation.translate(part.get("schema", True))
    schema: JsonObject = {"type": "string", "contentEncoding": "base64"}
    if isinstance(told, dict) and "description" in told:
        schema["description"] = told["description"]
    return Body((Argument(_free(taken), "content", schema, is_required),), {"headers": {"Content-Type": kind}})


def _free(taken: Collection[str]) -> str:
    """A name for a whole body that no parameter has."""
    name = next((name for name in _WHOLE_NAMES if name not in taken), None)
    if name is None:
        raise Unsendable("the body has no name that no parameter has")
    return name


def _whole(schema: Json, taken: Collection[str], *, is_required: bool) -> Argument:
    if schema is False:
        raise Unsendable("no body is valid")
    name = _free(taken)
    whole: JsonObject = {} if schema is True else dict(schema)
    if isinstance(types := whole.get("type"), list):
        whole["type"] = [kind for kind in types if kind != "null"]  # null would be no body at all
    return Argument(name, "body", whole, is_required)
