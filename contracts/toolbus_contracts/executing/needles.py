"""Searching bytes for many texts at once, in a time that hardly depends on how many there are."""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from toolbus_contracts.executing.forms import Form

BLOCK: Final = 8
EVERY: Final = 2  # blocks: one of two is looked at
LEAST_BLOCKED: Final = (EVERY + 1) * BLOCK - 1  # wherever a text of this length stands, it fills one of these
FEW: Final = 16  # texts that are found faster one by one
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class Needle(NamedTuple):
    """A form of the secret of this name."""

    name: str
    form: Form


class Needles:
    """What is looked for in bytes."""

    def __init__(self, needles: Iterable[Needle]) -> None:
        found = tuple(needles)
        self._as_is = _Sought([one for one in found if not one.form.is_lower])
        self._in_lower = _Sought([one for one in found if one.form.is_lower])

    def possible(self, data: bytes) -> tuple[tuple[bytes, Sequence[Needle]], ...]:
        """Bytes to search, each with the needles that may stand in them: all that do, and some more."""
        lower = data.lower()
        return (data, self._as_is.possible(data)), (lower, self._in_lower.possible(lower))


def places(data: bytes, form: Form) -> Iterator[tuple[int, int]]:
    """Where a form stands in the bytes, with the characters around it that hold some bits of it."""
    at = data.find(form.text)
    while at >= 0:
        end = at + len(form.text)
        begins = at - 1 if form.before and at > 0 and data[at - 1] in _BASE64 else at
        ends = end + 1 if form.after and end < len(data) and data[end] in _BASE64 else end
        yield begins, ends
        at = data.find(form.text, end)


class _Sought:
    """Needles, by the blocks of eight bytes that can stand first in them: one look at each block rules most out."""

    def __init__(self, needles: Sequence[Needle]) -> None:
        long = [one for one in needles if len(one.form.text) >= LEAST_BLOCKED]
        is_few = len(long) <= FEW
        self._always = tuple(one for one in needles if is_few or len(one.form.text) < LEAST_BLOCKED)
        self._by_block: dict[int, list[Needle]] = {}
        for one in () if is_few else long:
            for at in range(EVERY * BLOCK):
                block = int.from_bytes(one.form.text[at : at + BLOCK], sys.byteorder)
                self._by_block.setdefault(block, []).append(one)
        self._blocks = frozenset(self._by_block)

    def possible(self, data: bytes) -> tuple[Needle, ...]:
        """The needles that may stand in the bytes."""
        if not self._blocks:
            return self._always
        blocks = array("Q", data[: len(data) // BLOCK * BLOCK])[::EVERY]
        if self._blocks.isdisjoint(blocks):
            return self._always
        found = {one: None for block in self._blocks.intersection(blocks) for one in self._by_block[block]}
        return (*self._always, *found)
