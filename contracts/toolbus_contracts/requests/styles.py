"""
How lists and objects are written in a query or a form: the name repeated, items joined, or a name for each member.

Source: OpenAPI 3.1.1 §4.8.12.6 (style values); RFC 6570 §3.2.8 for the comma, which stands as it is between items.
"""

from collections.abc import Callable, Iterator
from typing import Final

from toolbus_contracts.requests.texts import invalid, pairs, plain
from toolbus_contracts.tools import Style
from toolbus_contracts.values import Json

MAX_LEVELS: Final = 32
_DELIMITERS: Final = {"comma": ",", "space": " ", "pipe": "|"}


def written_pairs(name: str, value: Json, style: Style | None, encode: Callable[[str], str]) -> list[str]:
    """
    `name=text` as often as it takes, each name and text encoded; null and what is empty leave nothing.

    Raises:
        Refused: `request_invalid` for what the style could not tell apart again.
    """
    if style == "comma" and isinstance(value, list):
        items = [encode(plain(item)) for item in value if item is not None]
        return [f"{encode(name)}={','.join(items)}"] if items else []
    return [f"{encode(one)}={encode(text)}" for one, text in styled(name, value, style)]


def styled(name: str, value: Json, style: Style | None) -> list[tuple[str, str]]:
    """
    Names and texts, not encoded yet.

    Raises:
        Refused: `request_invalid` for what the style could not tell apart again.
    """
    if style == "deep":
        return list(_members(name, value, 0))
    if style is None or not isinstance(value, list):
        return pairs(name, value)
    delimiter = _DELIMITERS[style]
    items = [plain(item) for item in value if item is not None]
    if divided := next((item for item in items if delimiter in item), None):
        raise invalid(f"{name}: {divided[:100]!r} holds the {style} by which its items are divided")
    return [(name, delimiter.join(items))] if items else []


def _members(name: str, value: Json, level: int) -> Iterator[tuple[str, str]]:
    """A name for each value inside: `name[key]` in objects, `name[0]` in lists."""
    if level > MAX_LEVELS:
        raise invalid(f"{name[:100]}: more than {MAX_LEVELS} levels cannot be written in one name")
    match value:
        case None:
            return
        case dict():
            for key, inner in value.items():
                if "[" in key or "]" in key:
                    raise invalid(f"{name[:100]}: the key {key[:100]!r} holds a bracket, which would begin another one")
                yield from _members(f"{name}[{key}]", inner, level + 1)
        case list():
            for number, inner in enumerate(value):
                yield from _members(f"{name}[{number}]", inner, level + 1)
        case _:
            yield name, plain(value)
