"""
Bytes as a reader may read them: with escapes of urls, JSON and HTML undone, and each place traced back to its origin.

Whoever hides a text from a search by escaping it has to be undone first. Any character may be escaped or not, in
either case, once or several times: undoing kinds one after another, in every order, finds them all. Where an escape
stood is found out again for a view in which something was found, and only then: hardly any has to be traced.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from operator import ne
from typing import Final, NamedTuple

from toolbus_contracts.executing.escapes import Escapes

MAX_LAYERS: Final = 3  # JSON in a url in JSON, for instance
WIDENING: Final = 18  # so many bytes stand for one: \u0041 are six, and \u005c\u0075 and so on more; as a url, three


class _Escape(NamedTuple):
    """One escape that was undone: its place and length in the view, and in what it was read from."""

    at: int
    length: int
    origin: int
    origin_length: int


class View:
    """
    Some bytes, and where each of them comes from: these come from nowhere else.

    `escapes` tells how many were undone for it, not counting those of the views that it comes from; `traced` how many
    have to be found again before a place in it is known.
    """

    escapes = 0
    traced = 0

    def __init__(self, data: bytes) -> None:
        self.data = data

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of it stands in the bytes that all views come from; an escape is in it wholly or not at all."""
        return start, end

    def undone(self, kind: Escapes) -> "View | None":
        """What it reads when escapes of this kind are undone; nothing when it has none of them."""
        if kind.sign not in self.data:
            return None
        pieces = kind.pattern.split(self.data)
        written = pieces[1::2]
        plain = list(map(kind.meanings.__getitem__, written))
        escapes = sum(map(ne, written, plain)) if kind.is_wide else len(written)
        if not escapes:
            return None
        pieces[1::2] = plain
        return _Reading(b"".join(pieces), self, kind, escapes)


class _Reading(View):
    """What another view reads, with escapes of one kind undone."""

    def __init__(self, data: bytes, origin: View, kind: Escapes, escapes: int) -> None:
        super().__init__(data)
        self.escapes = escapes
        self.traced = escapes + origin.traced
        self._origin = origin
        self._kind = kind

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of it stands: it is where the part of the origin stands that reads like it."""
        return self._origin.place(self._before(start)[0], self._before(end - 1)[1])

    def _before(self, at: int) -> tuple[int, int]:
        """From where to where the byte at this place stands in the origin."""
        starts, escapes = self._undone
        index = bisect_right(starts, at) - 1
        if index < 0:
            return at, at + 1
        escape = escapes[index]
        beyond = at - escape.at - escape.length
        after = escape.origin + escape.origin_length
        return (escape.origin, after) if beyond < 0 else (after + beyond, after + beyond + 1)

    @cached_property
    def _undone(self) -> tuple[list[int], list[_Escape]]:
        """Every escape that was undone for it, and where each of them begins."""
        found: list[_Escape] = []
        shorter = 0
        for escape in self._kind.pattern.finditer(self._origin.data):
            begins, length = escape.start(), escape.end() - escape.start()
            meaning = self._kind.meanings[escape[0]]
            found.append(_Escape(begins - shorter, len(meaning), begins, length))
            shorter += length - len(meaning)
        return [escape.at for escape in found], found


def views_of(data: bytes, kinds: tuple[Escapes, ...]) -> Iterator[View]:
    """The bytes as they are, and as they read with up to three layers of escapes undone, each reading once."""
    layer = [View(data)]
    yield layer[0]
    seen = {data}
    for _ in range(MAX_LAYERS):
        deeper: list[View] = []
        for view in layer:
            for found in filter(None, map(view.undone, kinds)):
                if found.data not in seen:
                    seen.add(found.data)
                    deeper.append(found)
                    yield found
        layer = deeper
