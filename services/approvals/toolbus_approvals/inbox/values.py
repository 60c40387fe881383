"""JSON values as people read them: laid out, shortened with size and digest named, and compared line by line."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolbus_approvals.inbox.visible import is_hidden
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.values import Json, compact
from toolbus_contracts.work import PAYLOAD_KEY

MAX_CHARS = 16 * 1024  # of one value on a page; a person reads no more, and a browser stays quick
MAX_DIFF_LINES = 2000  # comparing takes time by the square of them
SUMMARY_CHARS = 160
SUMMARY_DEPTH = 2
SUMMARY_ITEMS = 6


@dataclass(frozen=True)
class Shown:
    """A value as text; when it was shortened, how large it is (bytes of compact JSON) and its digest."""

    text: str
    is_shortened: bool = False
    size_bytes: int = 0
    digest: str = ""


@dataclass(frozen=True)
class DiffLine:
    """A line that was kept, taken away or added."""

    sign: Literal[" ", "-", "+"]
    text: str


def laid_out(value: Json) -> str:
    """A JSON value over several lines, keys in their own order, nothing escaped that need not be."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def for_editing(value: Json) -> str:
    """As `laid_out`, with every hidden character as its escape: in a field it would not be seen."""
    return "".join(_escaped(character) if is_hidden(character) else character for character in laid_out(value))


def _escaped(character: str) -> str:
    return json.dumps(character).strip('"')


def show(value: Json) -> Shown:
    """Show a value whole, or its beginning with its size and the digest of its compact form."""
    text = laid_out(value)
    if len(text) <= MAX_CHARS:
        return Shown(text)
    body = compact(value).encode()
    return Shown(text[:MAX_CHARS], is_shortened=True, size_bytes=len(body), digest=digest_bytes(body))


def is_moved(value: Json) -> bool:
    """True for a large value that a reference stands for, whole or among the fields."""
    if not isinstance(value, Mapping):
        return False
    return PAYLOAD_KEY in value or any(isinstance(part, Mapping) and PAYLOAD_KEY in part for part in value.values())


def summary(value: Json) -> str:
    """A value on one line, cut after 160 characters; takes no longer for a large value."""
    text = compact(_small(value, SUMMARY_DEPTH))
    return text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1] + "…"


def _small(value: Json, depth: int) -> Json:
    match value:
        case str():
            return value[:SUMMARY_CHARS]
        case Mapping() if depth == 0:
            return {"…": len(value)} if value else {}
        case list() if depth == 0:
            return ["…"] if value else []
        case Mapping():
            names = list(value)[:SUMMARY_ITEMS]
            return {name[:SUMMARY_CHARS]: _small(value[name], depth - 1) for name in names}
        case list():
            return [_small(part, depth - 1) for part in value[:SUMMARY_ITEMS]]
        case _:
            return value


def compare(before: Json, after: Json) -> tuple[DiffLine, ...] | None:
    """What an edit changed, line by line; empty when nothing, none when it is too much to compare."""
    old, new = laid_out(before).splitlines(), laid_out(after).splitlines()
    if old == new:
        return ()
    if len(old) + len(new) > MAX_DIFF_LINES or max(map(len, (*old, *new))) > MAX_CHARS:
        return None
    return tuple(_lines(old, new))


def _lines(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    found: list[DiffLine] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.extend(DiffLine(" ", text) for text in old[i1:i2])
        else:
            found.extend(DiffLine("-", text) for text in old[i1:i2])
            found.extend(DiffLine("+", text) for text in new[j1:j2])
    return found
