"""What of a document can stand in a definition: texts, numbers and expressions that mean the same everywhere."""

import re
from math import isfinite
from typing import Final

from toolbus_contracts.values import MAX_INTEGER, Json, compact

MAX_VALUE_CHARS: Final = 500  # of an example or a default
MAX_VALUE_PARTS: Final = 16
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
# groups that capture nothing, no back references, no classes in classes, no long repetitions: any engine reads these
_PLAIN_EXPRESSION: Final = re.compile(
    r"(?:\\[dDwWsStnrfvbB]|\\[^A-Za-z0-9]|\(\?:|\((?!\?)|\{\d{0,3}(?:,\d{0,3})?\}|[^\\({\[]"
    r"|\[\^?(?:\\[dDwWsStnrfv]|\\[^A-Za-z0-9]|[^\\\[\]&~-]|-)+\])*"
)


def is_plain_expression(text: str) -> bool:
    """True for a regular expression that means the same to every engine, and ends in linear time in ours."""
    if not _PLAIN_EXPRESSION.fullmatch(text):
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def shortened(text: str, limit: int) -> str:
    """A text of at most `limit` characters; what is cut is told by an ellipsis."""
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def is_storable(value: Json) -> bool:
    """True for what JSON carries everywhere without a change."""
    match value:
        case str():
            return not _UNSTORABLE.search(value)
        case bool() | None:
            return True
        case int():
            return abs(value) <= MAX_INTEGER
        case float():
            return isfinite(value)
        case list():
            return all(is_storable(item) for item in value)
        case dict():
            return all(is_storable(key) and is_storable(item) for key, item in value.items())
        case _:
            return False


def is_small(value: Json) -> bool:
    """True for a storable value that is short enough for an example or a default."""
    if not is_storable(value):
        return False
    text = compact(value)
    return len(text) <= MAX_VALUE_CHARS and text.count("[") + text.count("{") <= MAX_VALUE_PARTS
