"""
Escapes of urls, JSON and HTML: which stand for bytes that somebody looks for, and what they stand for.

Only those are found, so that a text full of others (Cyrillic in JSON, say) costs no more than reading it.
"""

import html
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from html.entities import html5
from typing import Final, NamedTuple

OF_ESCAPES: Final = frozenset(b"%\\&#;0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
MAX_KEPT: Final = 8192  # meanings of a kind; an escape can be written in many ways
_ASCII: Final = 0x80
_SHORT: Final = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WIDE_JSON: Final = r"u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}"
_WIDE_HTML: Final = r"#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}"


class Meanings(dict[bytes, bytes]):
    """What escapes of one kind stand for, each read once. One that stands for unwanted bytes stands for itself."""

    def __init__(self, read: Callable[[bytes], bytes], wanted: frozenset[int]) -> None:
        super().__init__()
        self._read = read
        self._wanted = wanted

    def __missing__(self, escape: bytes) -> bytes:
        """Read it, and keep what it means."""
        found = self._read(escape)
        meaning = found if self._wanted.issuperset(found) else escape
        if len(self) >= MAX_KEPT:
            self.clear()
        self[escape] = meaning
        return meaning


class Escapes(NamedTuple):
    """
    One kind of escapes: the byte that each begins with, an expression that captures each, and what they mean.

    `is_wide`: the expression finds unwanted ones too, which stand for themselves.
    """

    sign: bytes
    pattern: re.Pattern[bytes]
    meanings: Meanings
    is_wide: bool


@lru_cache(maxsize=128)  # secrets are made of much the same bytes, and expressions are slow to compile
def escapes_of(wanted: frozenset[int]) -> tuple[Escapes, ...]:
    """The kinds of escapes, as far as they stand for wanted bytes; `wanted` holds `OF_ESCAPES` besides."""
    ascii_ = sorted(byte for byte in wanted if byte < _ASCII)
    is_wide = len(ascii_) < len(wanted)
    return (
        Escapes(b"%", _capturing(f"%(?:{_pairs(wanted)})"), Meanings(_from_url, wanted), is_wide=False),
        Escapes(
            b"\\",
            _capturing(rf"\\(?:{_of_json(ascii_, wanted, is_wide=is_wide)})"),
            Meanings(_from_json, wanted),
            is_wide,
        ),
        Escapes(
            b"&",
            _capturing(f"&(?:{_of_html(ascii_, wanted, is_wide=is_wide)});"),
            Meanings(_from_html, wanted),
            is_wide,
        ),
    )


def _capturing(expression: str) -> re.Pattern[bytes]:
    return re.compile(f"({expression})".encode())


def _of_json(ascii_: list[int], wanted: frozenset[int], *, is_wide: bool) -> str:
    units = _WIDE_JSON if is_wide else f"u00(?:{_pairs(ascii_)})"
    short = "".join(re.escape(letter) for letter, meaning in _SHORT.items() if ord(meaning) in wanted)
    return f"{units}|x(?:{_pairs(wanted)})|[{short}]"


def _of_html(ascii_: list[int], wanted: frozenset[int], *, is_wide: bool) -> str:
    decimal = "|".join(map(str, ascii_))
    single = "".join(_digits(byte) for byte in ascii_ if byte < 16)  # noqa: PLR2004 - one hexadecimal digit
    hexadecimal = "|".join(filter(None, (_pairs(ascii_), single and f"[{single}]")))
    numbers = _WIDE_HTML if is_wide else f"#0{{0,6}}(?:{decimal})|#[xX]0{{0,5}}(?:{hexadecimal})"
    return "|".join((numbers, *_entities(wanted)))


def _entities(wanted: frozenset[int]) -> list[str]:
    """The names of the characters that are made of wanted bytes, without the semicolon behind them."""
    return sorted(name[:-1] for name, text in html5.items() if name[-1] == ";" and wanted.issuperset(text.encode()))


def _pairs(values: Iterable[int]) -> str:
    """An expression for two hexadecimal digits that write one of these bytes, in either case."""
    seconds: dict[int, str] = {}
    for value in sorted(values):
        seconds[value >> 4] = seconds.get(value >> 4, "") + _digits(value & 15)
    return "|".join(f"[{_digits(first)}][{second}]" for first, second in seconds.items())


def _digits(value: int) -> str:
    """A hexadecimal digit in both cases."""
    digit = f"{value:x}"
    return digit if digit.isdecimal() else digit + digit.upper()


def _from_url(escape: bytes) -> bytes:
    return bytes.fromhex(escape[1:].decode())


def _from_json(escape: bytes) -> bytes:
    match escape[1:2]:
        case b"u":
            units = b"".join(bytes.fromhex(part.decode()) for part in escape.split(b"\\u")[1:])
            return units.decode("utf-16-be", "replace").encode()
        case b"x":
            return bytes.fromhex(escape[2:].decode())
        case short:
            return _SHORT[short.decode()].encode()


def _from_html(escape: bytes) -> bytes:
    return html.unescape(escape.decode()).encode(errors="replace")
