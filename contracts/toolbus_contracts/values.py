"""Strict JSON: what may enter Toolbus, and how an answer from outside is made storable."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from toolbus_contracts.errors import Fault, Unreadable

Json: TypeAlias = Any  # a JSON value; `parse_json` checked it, pydantic need not do so again
MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1  # Source: RFC 7493 §2.2, integers that every JSON reader keeps exactly
TOO_LONG = "integer beyond 2^53 - 1; send it as a string"
TOO_LARGE = "number too large"
MAX_INTEGER_CHARS = len(str(-MAX_INTEGER))
MAX_FAULTS = 100  # a body full of faults must not become a larger answer
MAX_PATH_CHARS = 512  # nor may a fault under a key of a million characters


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Message(BaseModel):
    """Base of everything that is stored or sent: frozen, and closed to fields nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True, regex_engine="rust-regex")


def pointer(*parts: str | int) -> str:
    """Join keys and indexes to a JSON Pointer. Source: RFC 6901."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def refuse_number(value: object) -> object:
    """
    Let a time through to pydantic, but no number: it would be taken for seconds or milliseconds, by its size.

    Raises:
        ValueError: text that does not begin with a date, or a number.
    """
    if isinstance(value, int | float) or (isinstance(value, str) and not _DATE.match(value)):
        raise ValueError("not a time (RFC 3339)")
    return value


_WORDS = {"extra_forbidden": "there is no such field", "missing": "this field is missing"}


def fault_message(kind: str, message: str) -> str:
    """What pydantic found, in words for whoever wrote the input, not for whoever wrote the model."""
    return _WORDS.get(kind, message.removeprefix("Value error, "))


def fault_path(*parts: str | int) -> str:
    """The JSON Pointer to a fault; when it would be too long, the pointer to what holds the fault."""
    found = ""
    for part in parts:
        longer = found + pointer(part)
        if len(longer) > MAX_PATH_CHARS:
            break
        found = longer
    return found


class _Flaw:
    """Stands in the parsed tree where a value may not be, so that its path can be told."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class _Reader:
    """Hooks of the standard library's reader: each puts a flaw where a value may not be, and counts it."""

    def __init__(self) -> None:
        self.flaws = 0

    def flaw(self, message: str) -> _Flaw:
        self.flaws += 1
        return _Flaw(message)

    def integer(self, text: str) -> Json:
        value = int(text) if len(text) <= MAX_INTEGER_CHARS else MAX_INTEGER + 1  # int() of a million digits is slow
        inside = -MAX_INTEGER <= value <= MAX_INTEGER
        return value if inside else self.flaw(TOO_LONG)

    def number(self, text: str) -> Json:
        value = float(text)
        return value if isfinite(value) else self.flaw(TOO_LARGE)

    def constant(self, name: str) -> Json:
        return self.flaw(f"{name} is not JSON")

    def pairs(self, items: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(items)
        if len(found) != len(items):
            seen: set[str] = set()
            for key, _ in items:
                if key in seen:
                    found[key] = self.flaw("duplicate key")
                seen.add(key)
        return found


def parse_json(raw: bytes) -> Json:
    """
    Read strict JSON (I-JSON with a depth bound), naming every fault by its path.

    Raises:
        Unreadable: not JSON, not UTF-8, duplicate keys, NUL, lone surrogates, numbers that would
            change on the way, or more than 64 levels.

    Source: RFC 7493 §2.
    """
    reader = _Reader()
    try:
        text = raw.decode("utf-8")
        value = json.loads(
            text,
            parse_int=reader.integer,
            parse_float=reader.number,
            parse_constant=reader.constant,
            object_pairs_hook=reader.pairs,
        )
    except UnicodeDecodeError as error:
        raise Unreadable("not_utf8", f"the body is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise Unreadable("too_deep", f"nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:
        raise Unreadable("invalid_json", f"not JSON: {error}") from error
    escaped = "\\u" in text  # only an escape can bring NUL or half a surrogate pair into a string
    deep = text.count("[") + text.count("{") > MAX_DEPTH
    if reader.flaws or escaped or deep:
        faults = tuple(islice(find_faults(value), MAX_FAULTS))
        if faults:
            raise Unreadable("invalid_value", faults[0].message, faults)
    return value


def find_faults(value: Json, *path: str | int) -> Iterator[Fault]:
    """Walk a parsed value and name what strict JSON does not allow, with its path."""
    if len(path) > MAX_DEPTH:
        yield Fault(path=fault_path(*path[:8]), message=f"nested deeper than {MAX_DEPTH} levels")
        return
    match value:
        case _Flaw(message=message):
            yield Fault(path=fault_path(*path), message=message)
        case str():
            if (flaw := _text_flaw(value)) is not None:
                yield Fault(path=fault_path(*path), message=flaw)
        case dict():
            for key, item in value.items():
                if (flaw := _text_flaw(key)) is not None:
                    yield Fault(path=fault_path(*path), message=f"key: {flaw}")
                else:
                    yield from find_faults(item, *path, key)
        case list():
            for index, item in enumerate(value):
                yield from find_faults(item, *path, index)
        case int() if not -MAX_INTEGER <= value <= MAX_INTEGER:
            yield Fault(path=fault_path(*path), message=TOO_LONG)
        case float() if not isfinite(value):
            yield Fault(path=fault_path(*path), message=TOO_LARGE)
        case _:
            pass  # other numbers, booleans and null are always fine


def _text_flaw(text: str) -> str | None:
    if "\x00" in text:
        return "NUL is not allowed in text"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair is not text"
    return None


def storable(text: str) -> str:
    """The text with a sign in place of what no store keeps: NUL, and halves of surrogate pairs."""
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")


def compact(value: Json, *, sort_keys: bool = False) -> str:
    """Write a JSON value in its shortest form, keys in their own order unless sorted."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=sort_keys)
