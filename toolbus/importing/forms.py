"""
Forms: each key is an argument, written as its encoding says; files are base64.

Source: OpenAPI 3.1.1 §4.8.14.4 and §4.8.14.5 (urlencoded and multipart), §4.8.15 (Encoding Object): without a style,
objects are JSON and lists repeat their key.
"""

from collections.abc import Collection
from typing import Final

from toolbus.importing.arguments import Argument, never_empty
from toolbus.importing.files import file_of
from toolbus.importing.keys import Keys, keys_of
from toolbus.importing.narrowing import ANYTHING, SCALARS
from toolbus.importing.schemas import Translation
from toolbus.importing.styles import Unsendable, Written, kept, written
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_OF_STYLES: Final = frozenset({"style", "explode"})


def form_of(
    part: JsonObject, translation: Translation, taken: Collection[str], *, is_required: bool, is_multipart: bool
) -> tuple[Argument, ...]:
    """
    The arguments that make a form, none for one without keys; `taken` are names of other arguments.

    Raises:
        Unsendable: it cannot be sent with what must be in it.
    """
    schema = translation.translate(part.get("schema", True))
    keys = _known(keys_of(schema), schema, is_required=is_required)
    if keys.required and not is_required:
        translation.notes["the form is optional, and always sent"] = None
    found: list[Argument] = []
    for name in keys.properties:
        try:
            found.append(_argument(name, keys, part, translation, taken=taken, is_multipart=is_multipart))
        except Unsendable as error:
            if name in keys.required:
                raise Unsendable(f"form {name}: {error}") from error
            translation.notes[f"form {name}: {error}: left out"] = None
    if keys.properties and not found:
        raise Unsendable("no key of the form can be sent")
    return tuple(found)


def _argument(
    name: str, keys: Keys, part: JsonObject, translation: Translation, *, taken: Collection[str], is_multipart: bool
) -> Argument:
    if name in taken:
        raise Unsendable("a parameter has the same name")
    schema, encoding, must = keys.properties[name], _encoding(part, name), name in keys.required
    if is_multipart and (file := file_of(schema, encoding)) is not None:
        return Argument(name, "file", never_empty(Written(file)) if must else file, must)
    # in a form in parts each object of a list is JSON, and says so
    items = (*SCALARS, "object") if is_multipart else SCALARS
    how = _field(f"form {name}", schema, encoding, translation, items=items)
    return Argument(name, "form", never_empty(how) if must else how.schema, must, how.style)


def _known(keys: Keys | None, schema: Json, *, is_required: bool) -> Keys:
    is_closed = isinstance(schema, dict) and schema.get("additionalProperties") is False
    if keys is None or not (keys.properties or is_closed):
        raise Unsendable("a form whose keys are not all known cannot be sent")
    if is_required and not keys.required:
        raise Unsendable("a form that must be sent, even when it is empty, cannot be sent")
    return keys


def _encoding(part: JsonObject, name: str) -> JsonObject:
    encodings = part.get("encoding")
    found = encodings.get(name) if isinstance(encodings, dict) else None
    return found if isinstance(found, dict) else {}


def _field(
    where: str, schema: Json, encoding: JsonObject, translation: Translation, *, items: tuple[str, ...]
) -> Written:
    """How the values of a key are written that is no file; `items`: the types of those in a list."""
    if not _OF_STYLES.isdisjoint(encoding):
        return written(where, schema, encoding, translation)
    match encoding.get("contentType"):
        case None:
            return Written(kept(where, schema, ANYTHING, translation, items=items))
        case kind if kind == _JSON:
            return Written(kept(where, schema, ("object",), translation))
        case kind if kind == _TEXT:
            return Written(kept(where, schema, SCALARS, translation))
        case kind:
            raise Unsendable(f"its encoding {str(kind)[:100]} cannot be sent")
