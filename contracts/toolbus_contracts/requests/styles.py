"""
How lists and objects are written in a query or a form: the name repeated, items joined, or a name for each member.

Source: OpenAPI 3.1.1 §4.8.12.6 (style values); RFC 6570 §3.2.8 for the comma, which stands as it is between items.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from toolbus_contracts.requests.texts import invalid, pairs, plain
from toolbus_contracts.tools import JsonObject, Style
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


def beside(given: JsonObject, taken: Collection[str], styles: Mapping[str, Style]) -> JsonObject:
    """
    What of `given` is written under none of the names that are taken, nor inside of one, nor around one.

    Whoever reads `a[b]` may take `a` and `a[b][0]` for the same value, and the last of them for the one that counts.
    """
    own = {name: value for name, value in given.items() if name not in taken}
    if not taken or ("deep" not in styles.values() and not any("[" in name for name in (*own, *taken))):
        return own
    left = {name: _left(name, value, taken, 0 if styles.get(name) == "deep" else None) for name, value in own.items()}
    return {name: value for name, value in left.items() if value is not None or own[name] is None}


def refuse_twice(values: JsonObject, styles: Mapping[str, Style]) -> None:
    """
    Let pass values of which none with the style `deep` writes a name that another one writes.

    One may be the definition's and one stored, or one stored and one the call's: nobody could say which is obeyed.

    Raises:
        Refused: `request_invalid`.
    """
    for name in styles.keys() & values.keys():
        inner = [one for one in values if one.startswith(f"{name}[")]
        others = {told for one in inner for told, _ in styled(one, values[one], styles.get(one))}
        for told, _ in styled(name, values[name], styles[name]) if others else ():
            if is_taken(told, others):
                raise invalid(f"{told[:100]} would be written twice, for {name[:100]} and for another name")


def is_taken(name: str, taken: Collection[str]) -> bool:
    """Whether a name is one of those that are taken, or inside of one, or around one: `a` is around `a[b]`."""
    return name in taken or any(_is_inside(name, one) or _is_inside(one, name) for one in taken)


def _is_inside(name: str, outer: str) -> bool:
    return name.startswith(outer) and (outer.endswith("]") or name[len(outer) :].startswith("["))


def _left(name: str, value: Json, taken: Collection[str], level: int | None) -> Json:
    """What of a value is not written under a name that is taken: null leaves nothing. A deep one has levels."""
    if level is None or not isinstance(value, dict | list) or level > MAX_LEVELS:
        return None if is_taken(name, taken) else value
    if isinstance(value, dict):
        return {key: _left(f"{name}[{key}]", inner, taken, level + 1) for key, inner in value.items()}
    return [_left(f"{name}[{number}]", inner, taken, level + 1) for number, inner in enumerate(value)]


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
