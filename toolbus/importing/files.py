"""Files in forms, as arguments: base64 alone, or with a name and a type."""

from typing import Final

from toolbus.importing.narrowing import types_in
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

_WORDS: Final = frozenset({"application/json", "text/plain"})
_BASE64: Final = {"type": "string", "contentEncoding": "base64"}


def file_of(schema: Json, encoding: JsonObject) -> JsonObject | None:
    """
    The schema of the argument that fills a key with a file, or with a list of files; none where it takes no file.

    Source: OpenAPI 3.0.4 §4.7.14.4 (format binary), OpenAPI 3.1.1 §4.8.14.3 (contentMediaType), §4.8.15 (contentType).
    """
    told = schema if isinstance(schema, dict) else {}
    if types_in(told) == ["array"]:
        one = file_of(told.get("items", {}), encoding)
        bounds = {name: told[name] for name in ("description", "minItems", "maxItems") if name in told}
        return None if one is None else {"type": "array", "items": one, **bounds}
    types = types_in(told)
    kinds = _kinds(told, encoding)
    is_named = told.get("format") == "binary" or any(kind not in _WORDS for kind in kinds)
    if schema is False or not is_named or "contentEncoding" in told or not (types is None or "string" in types):
        return None
    return {**_file(kinds), **({"description": told["description"]} if "description" in told else {})}


def _kinds(told: JsonObject, encoding: JsonObject) -> list[str]:
    """The types that the file may have; none: any."""
    named = encoding.get("contentType", told.get("contentMediaType"))
    return [kind.strip() for kind in named.split(",") if kind.strip()] if isinstance(named, str) else []


def _file(kinds: list[str]) -> JsonObject:
    is_any = not kinds or "application/octet-stream" in kinds or any("*" in kind for kind in kinds)
    kind: JsonObject = {"type": "string"} if is_any else {"enum": kinds}
    whole: JsonObject = {
        "type": "object",
        "properties": {"content": _BASE64, "filename": {"type": "string"}, "content_type": kind},
        "required": ["content"] if is_any else ["content", "content_type"],
        "additionalProperties": False,
    }
    return {"anyOf": [_BASE64, whole]} if is_any else whole
