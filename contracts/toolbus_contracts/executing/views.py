"""
Bytes as a reader may read them: with escapes of urls, JSON and HTML undone, and each place traced back to its origin.

Whoever hides a text from a search by escaping it has to be undone first. Any character may be escaped or not, in
either case, once or several times: undoing kinds one after another, in every order, finds them all.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

MAX_LAYERS: Final = 3  # JSON in a url in JSON, for instance
WIDENING: Final = 18  # so many bytes stand for one: \u0041 are six, and \u005c\u0075 and so on more; as a url, three
OF_ESCAPES: Final = frozenset(b"%\\&#;0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

_URL = re.compile(rb"%[0-9A-Fa-f]{2}")
_JSON = re.compile(
    rb"\\(?:u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[\"'\\/bfnrt])"
)
_HTML = re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


@lru_cache(maxsize=4096)
def _from_url(escape: bytes) -> bytes:
    return bytes.fromhex(escape[1:].decode())


@lru_cache(maxsize=4096)
def _from_json(escape: bytes) -> bytes:
    match escape[1:2]:
        case b"u":
            units = b"".join(bytes.fromhex(part.decode()) for part in escape.split(b"\\u")[1:])
            return units.decode("utf-16-be", "replace").encode()
        case b"x":
            return bytes.fromhex(escape[2:].decode())
        case short:
            return _SHORT.get(short, short)


@lru_cache(maxsize=4096)
def _from_html(escape: bytes) -> bytes:
    return html.unescape(escape.decode()).encode(errors="replace")


_KINDS: tuple[tuple[bytes, re.Pattern[bytes], Callable[[bytes], bytes]], ...] = (
    (b"%", _URL, _from_url),
    (b"\\", _JSON, _from_json),
    (b"&", _HTML, _from_html),
)


class _Escape(NamedTuple):
    """One escape that was undone: its place and length in the view, and in what it was read from."""

    at: int
    length: int
    origin: int
    origin_length: int


class View:
    """Some bytes, and where each of them comes from."""

    def __init__(self, data: bytes, escapes: list[_Escape] | None = None, origin: "View | None" = None) -> None:
        self.data = data
        self._escapes = escapes or []
        self._starts = [escape.at for escape in self._escapes]
        self._origin = origin

    @property
    def escapes(self) -> int:
        """How many escapes were undone for it, not counting those of the views that it comes from."""
        return len(self._escapes)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of it stands in the bytes that all views come from; an escape is in it wholly or not at all."""
        if self._origin is None:
            return start, end
        return self._origin.place(self._before(start)[0], self._before(end - 1)[1])

    def decoded(self, wanted: frozenset[int]) -> Iterator["View"]:
        """What it reads when one kind of escapes of wanted bytes is undone; nothing for a kind of which it has none."""
        for sign, pattern, undone in _KINDS:
            if sign in self.data and (found := self._undone(pattern, undone, wanted)) is not None:
                yield found

    def _before(self, at: int) -> tuple[int, int]:
        """From where to where the byte at this place stands in the origin."""
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return at, at + 1
        escape = self._escapes[index]
        beyond = at - escape.at - escape.length
        after = escape.origin + escape.origin_length
        return (escape.origin, after) if beyond < 0 else (after + beyond, after + beyond + 1)

    def _undone(
        self, pattern: re.Pattern[bytes], undone: Callable[[bytes], bytes], wanted: frozenset[int]
    ) -> "View | None":
        pieces: list[bytes] = []
        escapes: list[_Escape] = []
        last, at = 0, 0
        for found in pattern.finditer(self.data):
            character = undone(found[0])
            if not wanted.issuperset(character):
                continue
            plain = self.data[last : found.start()]
            at += len(plain)
            pieces += (plain, character)
            escapes.append(_Escape(at, len(character), found.start(), len(found[0])))
            at += len(character)
            last = found.end()
        if not escapes:
            return None
        pieces.append(self.data[last:])
        return View(b"".join(pieces), escapes, self)


def views_of(data: bytes, wanted: frozenset[int]) -> Iterator[View]:
    """
    The bytes as they are, and as they read with up to three layers of escapes undone.

    `wanted` are the bytes that what is looked for consists of, and `OF_ESCAPES`: no others are undone.
    """
    layer = [View(data)]
    yield layer[0]
    for _ in range(MAX_LAYERS):
        layer = [found for view in layer for found in view.decoded(wanted)]
        yield from layer
