"""Text from outside steers no terminal."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbus.cli.text import duration, json_text, printable, printable_lines

ANY = st.text(st.characters(exclude_categories=()), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def is_active(text: str) -> bool:
    """Whether some character could move the cursor, colour, or turn the direction of writing."""
    return any(
        unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or unicodedata.bidirectional(char) in BIDI
        for char in text
    )


BIDI = {"LRE", "LRO", "PDF", "RLE", "RLO", "LRI", "RLI", "FSI", "PDI"}


@given(ANY)
def test_one_line_without_active_characters(text: str) -> None:
    """Whatever comes in, what goes out is inert; what was inert is unchanged."""
    told = printable(text)
    assert not is_active(told)
    if told != text:
        assert "\\" in told


@given(ANY)
def test_lines_stay_lines(text: str) -> None:
    """Line breaks are kept where they are meant to be."""
    told = printable_lines(text)
    assert told.count("\n") == text.count("\n")
    assert not is_active(told.replace("\n", ""))


@given(JSON, st.sampled_from([None, 2]))
def test_json_reads_back_and_is_inert(value: object, indent: int | None) -> None:
    """Escaping changes no value."""
    told = json_text(value, indent)
    assert json.loads(told) == value
    assert not is_active(told.replace("\n", ""))


def test_json_keeps_other_scripts_readable() -> None:
    """Only what is active is escaped."""
    value = {"city": "Zürich 東京", "x": "\x1b[2J\x9b31m\u202e\U000e0041\x7f"}
    told = json_text(value)
    assert "Zürich 東京" in told
    assert "\\u001b[2J\\u009b31m\\u202e\\udb40\\udc41\\u007f" in told
    assert json.loads(told) == value


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s"),
        (0.0004, "0 ms"),
        (0.312, "312 ms"),
        (1.25, "1.25 s"),
        (59.94, "59.9 s"),
        (61, "1m 1s"),
        (3660, "1h 1m"),
        (90000, "1d 1h"),
    ],
)
def test_durations(seconds: float, told: str) -> None:
    """Three digits that matter, in the unit that fits."""
    assert duration(seconds) == told
