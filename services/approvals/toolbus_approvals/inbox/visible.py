"""
Text from models and strangers, made visible: what would hide, move or imitate other text is shown by its code point.

Source: Unicode TR 36 and TR 39 (bidirectional overrides, zero-width and blank-looking characters).
"""

import re
import unicodedata
from collections.abc import Iterator

from markupsafe import Markup, escape

# Letters and symbols that look like nothing at all, though their category is that of visible ones.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_PLAIN = re.compile(r"[\n\x20-\x7e]+")
MAX_MARKS_IN_A_ROW = 3  # beyond that, accents pile up over their neighbours


def is_hidden(character: str) -> bool:
    """True when a reader would not see that this character is there, or would see something else."""
    if character == "\n" or " " <= character <= "~":
        return False
    category = unicodedata.category(character)
    return category in _HIDDEN or category == "Zs" or character in _BLANKS or "\ufe00" <= character <= "\ufe0f"


def visible(text: str) -> Markup:
    """The text as HTML in which every hidden character is replaced by its code point, marked as such."""
    if _PLAIN.fullmatch(text):
        return escape(text)
    return Markup("").join(_pieces(text))


def _pieces(text: str) -> Iterator[Markup]:
    plain: list[str] = []
    accents = 0
    for character in text:
        accents = accents + 1 if unicodedata.combining(character) else 0
        if accents > MAX_MARKS_IN_A_ROW or is_hidden(character):
            yield escape("".join(plain))
            plain.clear()
            yield _mark(character)
        else:
            plain.append(character)
    yield escape("".join(plain))


def _mark(character: str) -> Markup:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "control character" if unicodedata.category(character) == "Cc" else "no name")
    return Markup('<span class="mark" title="{}">{}</span>').format(name, code)
