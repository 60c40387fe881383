"""
The styles in which a document writes values, as the `params_style` of an `api_call`, with the values that each carries.

Source: OpenAPI 3.1.1 §4.8.12.6 (style values) and §4.8.15.1.2 (Encoding Object: the same in forms).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolbus.importing.narrowing import ANYTHING, LISTS, SCALARS, narrowed, types_in
from toolbus.importing.schemas import Translation
from toolbus_contracts.tools import JsonObject, Style
from toolbus_contracts.values import Json

FORM: Final = "form"
DEEP: Final = "deepObject"
_JOINED: Final[Mapping[str, Style]] = {FORM: "comma", "spaceDelimited": "space", "pipeDelimited": "pipe"}
_SINGLE: Final = frozenset({*SCALARS, "null"})


class Unsendable(Exception):
    """An operation that cannot be called as its document says; the text says why."""


@dataclass(frozen=True)
class Written:
    """The part of a schema whose values a style carries, and the style where it makes a difference."""

    schema: JsonObject
    style: Style | None = None


def written(where: str, schema: Json, told: Mapping[str, Json], translation: Translation) -> Written:
    """
    How the values of a translated schema are written in a query or a form; `told` may have a style, and explode.

    Raises:
        Unsendable: none of them can be.
    """
    style = _style(told.get("style", FORM), told)
    allowed, items = (ANYTHING, None) if style == "deep" else (LISTS, SCALARS)
    found = kept(where, schema, allowed, translation, items=items)
    if narrowed(schema, SCALARS) == found:
        return Written(found)  # one value is written in the same way in every style
    if style == "deep" and not _is_flat(found):
        name = where.rpartition(" ")[2]
        told_so = f"what lies deeper is sent as {name}[key][key] and {name}[0], which OpenAPI leaves open"
        translation.notes[f"{where}: {told_so}"] = None
    return Written(found, style)


def kept(
    where: str,
    schema: Json,
    allowed: tuple[str, ...],
    translation: Translation,
    *,
    items: tuple[str, ...] | None = SCALARS,
) -> JsonObject:
    """
    A schema narrowed to the allowed types; that it was is noted.

    Raises:
        Unsendable: nothing is left.
    """
    found = narrowed(schema, allowed, items)
    if found is None:
        raise Unsendable(f"its values are no {' or '.join(allowed)}, and cannot be sent so")
    if narrowed(schema, (*allowed, "null"), items) != schema:
        translation.notes[f"{where}: narrowed to {', '.join(allowed)}"] = None
    return found


def _style(name: Json, told: Mapping[str, Json]) -> Style | None:
    explodes = told.get("explode", name == FORM) is True
    if name == DEEP:
        return "deep"
    if name == FORM and explodes:
        return None
    if isinstance(name, str) and name in _JOINED and not explodes:
        return _JOINED[name]
    raise Unsendable(f"its style {str(name)[:40]!r} cannot be sent")


def _is_flat(schema: Json) -> bool:
    """Whether it only takes single values, and objects of single values."""
    if not isinstance(schema, dict):
        return False
    branches = [part for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, ())]
    types = types_in(schema)
    if types is None:
        return bool(branches) and all(map(_is_flat, branches))
    if "array" in types or not all(map(_is_flat, branches)):
        return False
    inner = [*schema.get("properties", {}).values(), schema.get("additionalProperties", not schema.get("properties"))]
    return "object" not in types or all(part is False or _is_single(part) for part in inner)


def _is_single(schema: Json) -> bool:
    types = types_in(schema) if isinstance(schema, dict) else None
    return types is not None and _SINGLE.issuperset(types)
