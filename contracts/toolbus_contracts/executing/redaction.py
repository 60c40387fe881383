"""
Redaction: secrets are taken out of what leaves an executor, in whatever form a target may send them back.

Looked for are the value itself, base64 and base64url at each alignment (inside a longer text too), hex, and UTF-16;
all of them also with characters escaped for urls, JSON or HTML, in part or wholly, up to three times. What is found
reads `[secret:name]` afterwards. A value that a target changes in another way, or packs, is not found by anybody.
"""

import base64
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from toolbus_contracts.executing.views import OF_ESCAPES, WIDENING, View, views_of
from toolbus_contracts.values import Json, compact

LEAST_CHARS: Final = 4  # anything shorter stands by chance in every second answer
WINDOW_BYTES: Final = 256 * 1024  # searched in one go: others have their turn in between
MAX_EFFORT: Final = 250_000  # escapes to undo, and places found, which cost ten times as much: about a second
_OF_PLACE: Final = 10
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class RedactionFailed(Exception):
    """What was to be searched could not be; it must not leave."""


class _Form(NamedTuple):
    """One way to write a secret: its bytes, and whether a character before and after holds some bits of it."""

    text: bytes
    is_lower: bool = False
    before: bool = False
    after: bool = False


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
        self._forms = tuple((name, forms_of(value)) for name, value in secrets)
        self._wanted = OF_ESCAPES.union(*(form.text for _, forms in self._forms for form in forms))
        longest = max((len(form.text) for _, forms in self._forms for form in forms), default=0)
        self.widest_bytes = longest * WIDENING

    def __bool__(self) -> bool:
        return bool(self._forms)

    def names_in(self, data: bytes) -> frozenset[str]:
        """Which of the secrets stand in the bytes."""
        return frozenset(span.name for span in self._spans(data)) if self._forms else frozenset()

    def in_bytes(self, data: bytes) -> bytes:
        """The bytes without the secrets; the same object when there was none in them."""
        spans = self._spans(data) if self._forms else []
        if not spans:
            return data
        pieces: list[bytes] = []
        last = 0
        for span in _merged(spans):
            pieces += (data[last : span.start], f"[secret:{span.name}]".encode())
            last = span.end
        return b"".join((*pieces, data[last:]))

    def in_broken(self, data: bytes) -> bytes:
        """As `in_bytes`, for bytes that broke off: the end is left out, where a part of a secret may stand."""
        return self.in_bytes(data)[: max(0, len(data) - self.widest_bytes)] if self._forms else data

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
        escapes = 0
        for start in range(0, max(len(data), 1), WINDOW_BYTES):
            window = data if len(data) <= WINDOW_BYTES else data[start : start + WINDOW_BYTES + self.widest_bytes]
            for view in views_of(window, self._wanted):
                escapes += view.escapes
                for name, forms in self._forms:
                    for begin, end in _places(view, forms):
                        found.append(_Span(start + begin, start + end, name))
                        if escapes + len(found) * _OF_PLACE > MAX_EFFORT:
                            raise RedactionFailed("too many secrets stand in it")
                if escapes > MAX_EFFORT:
                    raise RedactionFailed("too much of it is escaped")
        return found


def _places(view: View, forms: tuple[_Form, ...]) -> Iterator[tuple[int, int]]:
    data, lower = view.data, view.data.lower()
    for form in forms:
        searched = lower if form.is_lower else data
        at = searched.find(form.text)
        while at >= 0:
            end = at + len(form.text)
            begins = at - 1 if form.before and at > 0 and data[at - 1] in _BASE64 else at
            ends = end + 1 if form.after and end < len(data) and data[end] in _BASE64 else end
            yield view.place(begins, ends)
            at = searched.find(form.text, end)


def _merged(spans: list[_Span]) -> Iterator[_Span]:
    """Spans in order, one at least; those that overlap as one, which has the name of the longest."""
    group: list[_Span] = []
    end = 0
    for span in sorted(spans):
        if group and span.start >= end:
            yield _one(group)
            group = []
        group.append(span)
        end = max(end, span.end) if len(group) > 1 else span.end
    yield _one(group)


def _one(group: list[_Span]) -> _Span:
    longest = max(group, key=lambda span: span.end - span.start)
    return _Span(group[0].start, max(span.end for span in group), longest.name)


@lru_cache(maxsize=128)  # a secret is used by many calls; its forms are fourteen times as long
def forms_of(value: str) -> tuple[_Form, ...]:
    """The ways to write a value that are looked for, each once."""
    raw = value.encode()
    found = {_Form(raw), _Form(raw.replace(b" ", b"+")), _Form(raw.hex().encode(), is_lower=True)}
    found.add(_Form(value.encode("utf-16-le")[:-1]))
    if not value.isascii():
        found.add(_Form(value.encode("latin-1", "ignore") or raw))
    for ahead in range(3):
        found.update(_base64_forms(raw, ahead))
    return tuple(sorted(found, key=lambda form: (-len(form.text), form)))


def _base64_forms(raw: bytes, ahead: int) -> Iterator[_Form]:
    """What base64 makes of the bytes wherever they stand `ahead` bytes behind a multiple of three."""
    bits = 8 * (ahead + len(raw))
    shared = (0, 2, 3)[ahead]  # characters that hold bits of what stands before
    text = base64.b64encode(bytes(ahead) + raw)[shared : bits // 6]
    for written in (text, text.translate(bytes.maketrans(b"+/", b"-_"))):
        yield _Form(written, before=ahead > 0, after=bits % 6 > 0)
