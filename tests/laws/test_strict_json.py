"""Laws of the strict reader: exactly I-JSON of at most 64 levels, in agreement with the standard library."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import json_values
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import MAX_DEPTH, MAX_INTEGER, parse_json

SURROGATE = re.compile("[\ud800-\udfff]")
FRAGMENTS = (
    *("{", "}", "[", "]", ",", ":", " ", "\n", '"', '"a"', '"a":', "0", "-1", "1.5", "1e400", "-1e400", "01", "1."),
    *("9007199254740991", "9007199254740992", "-9007199254740992", "9" * 30, "NaN", "-Infinity", "true", "null"),
    *('"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\udc00\\ud800"', '"\x00"', '"\\x"', "'a'", "\ufeff", "é", "//"),
)
documents = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def is_strict(text: str) -> bool:
    """The definition, written a second time: slow, and from the standard library alone."""
    try:
        tree = json.loads(
            text, object_pairs_hook=lambda pairs: ("object", pairs), parse_constant=lambda _: float("nan")
        )
    except (ValueError, RecursionError):
        return False
    return _is_strict(tree, 0)


def _is_strict(value: Any, depth: int) -> bool:
    if depth > MAX_DEPTH:
        return False
    match value:
        case ("object", list(pairs)):
            keys = [key for key, _ in pairs]
            fine = len(set(keys)) == len(keys) and all(_is_strict(key, 0) for key in keys)
            return fine and all(_is_strict(item, depth + 1) for _, item in pairs)
        case list():
            return all(_is_strict(item, depth + 1) for item in value)
        case str():
            return "\x00" not in value and not SURROGATE.search(value)
        case bool() | None:
            return True
        case int():
            return abs(value) <= MAX_INTEGER
        case float():
            return abs(value) < float("inf")
    raise AssertionError(value)


def read(raw: bytes) -> Any:
    """What the reader makes of it: the value, or its refusal."""
    try:
        return parse_json(raw)
    except Unreadable as error:
        return error


@given(value=json_values, indent=st.none() | st.integers(0, 2), is_ascii=st.booleans())
def test_strict_json_is_read_as_the_standard_library_reads_it(value: Any, indent: int | None, is_ascii: bool) -> None:
    """Whatever is strict JSON is accepted, and no value changes, however it was written."""
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert parse_json(text.encode()) == json.loads(text)


@settings(max_examples=500)
@given(text=documents)
def test_nothing_else_is_accepted(text: str) -> None:
    """On any text the reader says yes exactly when the definition does, and otherwise refuses in its own words."""
    found = read(text.encode())
    assert is_strict(text) != isinstance(found, Unreadable), found
    assert isinstance(found, Unreadable) or found == json.loads(text)


@given(raw=st.binary(max_size=60))
def test_any_bytes_are_either_read_or_refused(raw: bytes) -> None:
    """Bytes from outside cause no other error than `Unreadable`."""
    found = read(raw)
    assert not isinstance(found, Unreadable) or found.status == 422


@given(depth=st.integers(1, 200), is_object=st.booleans())
def test_depth_is_bounded(depth: int, is_object: bool) -> None:
    """64 levels are read, one more is refused."""
    start, end = ('{"a":', "}") if is_object else ("[", "]")
    text = start * depth + "0" + end * depth
    assert isinstance(read(text.encode()), Unreadable) == (depth > MAX_DEPTH)
