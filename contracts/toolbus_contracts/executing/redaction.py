"""
Redaction: secrets are taken out of what leaves an executor, in whatever form a target may send them back.

Looked for are the forms of `forms.py`, all of them also with characters escaped for urls, JSON or HTML, in part or
wholly, up to three times. What is found reads `[secret:name]` afterwards. A value that a target changes in another way,
or packs, is not found by anybody.

Searching takes a time that grows with the length of what is searched, and not with what a target makes of it: the rest
of it, which is work for each escape and each place, is bounded.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from toolbus_contracts.executing.escapes import OF_ESCAPES, escapes_of
from toolbus_contracts.executing.forms import forms_of
from toolbus_contracts.executing.needles import FEW, Needle, Needles, places
from toolbus_contracts.executing.views import WIDENING, View, views_of
from toolbus_contracts.values import Json, compact

LEAST_CHARS: Final = 4  # anything shorter stands by chance in every second answer
WINDOW_BYTES: Final = 256 * 1024  # searched in one go: others have their turn in between
MAX_EFFORT: Final = 700_000  # escapes to undo, and places found, which cost ten times as much: a fifth of a second
MAX_READINGS: Final = 8  # of all that is searched, with escapes undone in one way or another
_FREE_BYTES: Final = 32 * 1024 * 1024  # of readings besides: a short text may be escaped in every way there is
_OF_PLACE: Final = 10
_OF_TRACING: Final = 3  # an escape that is found again
_OF_NEEDLES: Final = 2048  # so many bytes searched for one text more than a few


class RedactionFailed(Exception):
    """What was to be searched could not be; it must not leave."""


class _Span(NamedTuple):
    start: int
    end: int
    name: str


class Redactor:
    """
    Takes these secrets, given as name and value, out of bytes, texts and JSON. It is false when there are none.

    Whatever searches raises `RedactionFailed` when so much is escaped that searching it would hold up others.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._forms = tuple(Needle(name, form) for name, value in secrets for form in forms_of(value))
        self._needles = Needles(self._forms)
        wanted = OF_ESCAPES.union(*(needle.form.text for needle in self._forms))
        self._kinds = escapes_of(wanted) if self._forms else ()
        self.widest_bytes = max((len(needle.form.text) for needle in self._forms), default=0) * WIDENING

    def __bool__(self) -> bool:
        return bool(self._forms)

    def names_in(self, data: bytes) -> frozenset[str]:
        """Which of the secrets stand in the bytes."""
        return frozenset(span.name for span in self._spans(data)) if self._forms else frozenset()

    def in_bytes(self, data: bytes) -> bytes:
        """The bytes without the secrets; the same object when there was none in them."""
        spans = self._spans(data) if self._forms else []
        return _without(_merged(spans), data) if spans else data

    def in_broken(self, data: bytes) -> bytes:
        """
        As `in_bytes`, for bytes that broke off: the end is left out, where a part of a secret may stand.

        So much of the bytes themselves, since what is found before makes them shorter; and never a part of what is
        found: a secret that the end of the rest would cut goes with the end.
        """
        if not self._forms:
            return data
        spans = list(_merged(self._spans(data)))
        end = max(0, len(data) - self.widest_bytes)
        end = next((span.start for span in spans if span.start < end < span.end), end)
        return _without((span for span in spans if span.end <= end), data[:end])

    def in_text(self, text: str) -> str:
        """The text without the secrets."""
        if not self._forms:
            return text
        data = text.encode()
        found = self.in_bytes(data)
        return text if found is data else found.decode(errors="replace")

    def in_json(self, value: Json) -> Json:
        """
        The value without the secrets, in keys and numbers too.

        Raises:
            RedactionFailed: a secret stands in it in a way that cannot be taken out.
        """
        if not self._forms or not self._spans(compact(value).encode()):
            return value
        cleaned = self._cleaned(value)
        if self._spans(compact(cleaned).encode()):
            raise RedactionFailed("a secret spans several values")
        return cleaned

    def _cleaned(self, value: Json) -> Json:
        match value:
            case str():
                return self.in_text(value)
            case dict():
                return {self.in_text(name): self._cleaned(item) for name, item in value.items()}
            case list() | tuple():
                return [self._cleaned(item) for item in value]
            case bool() | None:
                return value
            case _:
                text = compact(value)
                return value if (found := self.in_text(text)) == text else found

    def _spans(self, data: bytes) -> list[_Span]:
        """Every place where a secret stands, in windows that overlap by what the widest may take."""
        found: list[_Span] = []
        work = _Work()
        size = max(WINDOW_BYTES, self.widest_bytes)
        for start in range(0, max(len(data), 1), size):
            window = data if len(data) <= size else data[start : start + size + self.widest_bytes]
            work.readable += len(window)
            for view in views_of(window, self._kinds):
                work.read(view)
                found += (_Span(start + begin, start + end, name) for begin, end, name in self._places(view, work))
        return found

    def _places(self, view: View, work: "_Work") -> Iterator[tuple[int, int, str]]:
        """Where secrets stand in a view, as places in what it comes from."""
        is_traced = False
        for data, needles in self._needles.possible(view.data):
            work.spend(max(0, len(needles) - FEW) * len(data) // _OF_NEEDLES)
            for name, form in needles:
                for begin, end in places(data, form):
                    work.spend(_OF_PLACE if is_traced else _OF_PLACE + view.traced * _OF_TRACING)
                    is_traced = True
                    yield *view.place(begin, end), name


class _Work:
    """What a search has cost so far; it ends with `RedactionFailed` when it would hold up others."""

    def __init__(self) -> None:
        self.readable = 0  # bytes
        self._read = 0
        self._effort = 0

    def read(self, view: View) -> None:
        """One more view is searched."""
        self._read += len(view.data)
        if self._read > self.readable * MAX_READINGS + _FREE_BYTES:
            raise RedactionFailed("it is escaped in too many ways")
        self.spend(view.escapes)

    def spend(self, effort: int) -> None:
        """So much more is done."""
        self._effort += effort
        if self._effort > MAX_EFFORT:
            raise RedactionFailed("too much of it is escaped, or too many secrets stand in it")


def _without(spans: Iterable[_Span], data: bytes) -> bytes:
    """The bytes with a mark in the place of each span; they are in order, and do not overlap."""
    pieces: list[bytes] = []
    last = 0
    for span in spans:
        pieces += (data[last : span.start], f"[secret:{span.name}]".encode())
        last = span.end
    return b"".join((*pieces, data[last:]))


def _merged(spans: list[_Span]) -> Iterator[_Span]:
    """Spans in order; those that overlap as one, which has the name of the longest."""
    group: list[_Span] = []
    end = 0
    for span in sorted(spans):
        if group and span.start >= end:
            yield _one(group)
            group = []
        group.append(span)
        end = max(end, span.end) if len(group) > 1 else span.end
    if group:
        yield _one(group)


def _one(group: list[_Span]) -> _Span:
    longest = max(group, key=lambda span: span.end - span.start)
    return _Span(group[0].start, max(span.end for span in group), longest.name)
