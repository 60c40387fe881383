"""Strict JSON: every fault is named by its path."""

import pytest

from toolbus_contracts.errors import Fault, Unreadable
from toolbus_contracts.values import (
    MAX_DEPTH,
    MAX_FAULTS,
    MAX_PATH_CHARS,
    compact,
    fault_message,
    find_faults,
    parse_json,
    pointer,
    storable,
)


@pytest.mark.parametrize(
    ("raw", "code", "path"),
    [
        (b"", "invalid_json", None),
        (b"{'a': 1}", "invalid_json", None),
        (b"\xef\xbb\xbf{}", "invalid_json", None),
        (b'"\xff"', "not_utf8", None),
        (b"[" * 100_000, "too_deep", None),
        (b'{"a": {"b": 1, "b": 2}}', "invalid_value", "/a/b"),
        (b'{"a": [1, NaN]}', "invalid_value", "/a/1"),
        (b"-Infinity", "invalid_value", ""),
        (b"[1e999]", "invalid_value", "/0"),
        (b'{"n": 9007199254740992}', "invalid_value", "/n"),
        (b'{"n": -9007199254740992}', "invalid_value", "/n"),
        (b'["\\u0000"]', "invalid_value", "/0"),
        (b'["\\ud800"]', "invalid_value", "/0"),
        (b'{"a": {"\\udc00": 1}}', "invalid_value", "/a"),
        (b'{"a/b~c": NaN}', "invalid_value", "/a~1b~0c"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_its_path(raw: bytes, code: str, path: str | None) -> None:
    """The code says which rule, the JSON Pointer says where."""
    with pytest.raises(Unreadable) as caught:
        parse_json(raw)
    assert caught.value.code == code
    assert [fault.path for fault in caught.value.faults] == ([] if path is None else [path])


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b'{"a": 1, "b": 1, "b": 2}', Fault("/b", "duplicate key")),
        (b"[NaN]", Fault("/0", "NaN is not JSON")),
        (b"[1e999]", Fault("/0", "number too large")),
        (b"[9007199254740992]", Fault("/0", "integer beyond 2^53 - 1; send it as a string")),
        (b'["\\u0000"]', Fault("/0", "NUL is not allowed in text")),
        (b'["\\ud800"]', Fault("/0", "half of a surrogate pair is not text")),
        (b'{"\\u0000": 1}', Fault("", "key: NUL is not allowed in text")),
    ],
)
def test_a_fault_is_told_in_words(raw: bytes, fault: Fault) -> None:
    """Each fault says what is wrong with this value alone; the first is the message of the whole."""
    with pytest.raises(Unreadable) as caught:
        parse_json(raw)
    assert caught.value.faults == (fault,)
    assert caught.value.message == fault.message


@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_sixty_four_levels_are_read_and_no_more(start: bytes, end: bytes) -> None:
    """The bound is exact, for lists and for objects."""
    assert parse_json(start * MAX_DEPTH + b"0" + end * MAX_DEPTH)
    with pytest.raises(Unreadable):
        parse_json(start * (MAX_DEPTH + 1) + b"0" + end * (MAX_DEPTH + 1))


def test_an_integer_of_very_many_digits_costs_nothing() -> None:
    """It is refused by its length: Python would refuse to read it, in other words, after some time."""
    with pytest.raises(Unreadable) as caught:
        parse_json(b"9" * 100_000)
    assert caught.value.code == "invalid_value"


def test_the_largest_safe_integers_are_read() -> None:
    """Both ends of I-JSON's range pass unchanged, and escapes of whole characters do too."""
    assert parse_json(b'[9007199254740991, -9007199254740991, "\\ud83d\\ude00"]') == [2**53 - 1, 1 - 2**53, "😀"]


def test_all_faults_are_told_at_once() -> None:
    """Somebody who mends a body sees everything that is wrong with it."""
    with pytest.raises(Unreadable) as caught:
        parse_json(b'{"a": NaN, "b": 1e999, "c": {"d": "\\u0000"}}')
    assert [fault.path for fault in caught.value.faults] == ["/a", "/b", "/c/d"]


def test_a_body_full_of_faults_makes_no_larger_answer() -> None:
    """Of very many faults only the first hundred are told."""
    with pytest.raises(Unreadable) as caught:
        parse_json(b"[" + b"NaN," * 10_000 + b"NaN]")
    assert len(caught.value.faults) == MAX_FAULTS


def test_a_fault_too_deep_down_is_told_by_the_beginning_of_its_path() -> None:
    """The path of a value beyond the depth bound is cut to eight steps."""
    with pytest.raises(Unreadable) as caught:
        parse_json(b"[" * (MAX_DEPTH + 1) + b"0" + b"]" * (MAX_DEPTH + 1))
    assert caught.value.faults[0].path == "/0" * 8


def test_the_path_to_a_fault_is_no_longer_than_the_answer_bears() -> None:
    """Under a very long key the path ends at what holds the fault."""
    with pytest.raises(Unreadable) as caught:
        parse_json(b'{"a": {"' + b"k" * MAX_PATH_CHARS + b'": NaN}}')
    assert caught.value.faults[0].path == "/a"
    with pytest.raises(Unreadable) as caught:
        parse_json(b'{"' + b"k" * (MAX_PATH_CHARS - 1) + b'": NaN}')
    assert len(caught.value.faults[0].path) == MAX_PATH_CHARS


@pytest.mark.parametrize(
    ("kind", "message", "told"),
    [
        ("extra_forbidden", "Extra inputs are not permitted", "there is no such field"),
        ("missing", "Field required", "this field is missing"),
        ("value_error", "Value error, url must start with http://", "url must start with http://"),
        ("enum", "Input should be 'GET' or 'POST'", "Input should be 'GET' or 'POST'"),
    ],
)
def test_faults_are_told_to_whoever_wrote_the_input(kind: str, message: str, told: str) -> None:
    """Pydantic speaks to whoever wrote the model."""
    assert fault_message(kind, message) == told


def test_many_brackets_are_no_depth() -> None:
    """A wide value with more brackets than levels is fine."""
    wide = b"[" + b"[]," * 200 + b"[]]"
    assert len(parse_json(wide)) == 201


def test_python_values_are_walked_too() -> None:
    """The walk serves for values that did not come as text."""
    assert [fault.path for fault in find_faults({"a": ["\x00", True, None, 1.5]})] == ["/a/0"]
    wrong = {"a": [2**53, -(2**53), 10**400], "b": float("nan"), "c": [-float("inf")], "d": [2**53 - 1, 1e308]}
    assert [fault.path for fault in find_faults(wrong)] == ["/a/0", "/a/1", "/a/2", "/b", "/c/0"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [("grüße\n\U0001f600", "grüße\n\U0001f600"), ("a\x00b", "a\ufffdb"), ("half \ud800", "half ?"), ("", "")],
)
def test_a_text_is_made_storable(text: str, kept: str) -> None:
    """What is said by somebody else is told as well as it can be, and never refused."""
    assert storable(text) == kept
    assert list(find_faults(kept)) == []


def test_pointers_escape_what_they_must() -> None:
    """Slash and tilde in a key do not look like steps. Source: RFC 6901 §3."""
    assert pointer("a/b", 0, "~") == "/a~1b/0/~0"
    assert pointer() == ""


def test_compact_keeps_order_and_letters() -> None:
    """The short form has no blanks, keeps the order of keys, and does not escape letters."""
    assert compact({"b": [1, None], "a": "é"}) == '{"b":[1,null],"a":"é"}'
    with pytest.raises(ValueError, match="JSON compliant"):
        compact(float("nan"))
