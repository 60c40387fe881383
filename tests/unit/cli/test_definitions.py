"""Reading definitions as people write them."""

from pathlib import Path

import pytest

from toolbus.definitions import difference, read_definitions, to_yaml
from toolbus_contracts.errors import Unreadable

TWO = """\
# two tools
name: get_weather
api_call: {method: GET, url: "https://api.example.com/{city}"}
timeout_s: 10
---
name: refund
contract: {effect: dangerous, idempotency: required}
api_call: {method: POST, url: https://pay.example.com/refunds}
---
"""


def test_many_in_one_file_each_with_its_line(tmp_path: Path) -> None:
    """An empty document at the end is none; the line is where a definition begins."""
    path = tmp_path / "tools.yaml"
    path.write_text(TWO)
    found = read_definitions(str(path), bytes)
    assert [(item.name, item.place) for item in found] == [("get_weather", f"{path}:2"), ("refund", f"{path}:6")]
    assert found[0].definition["timeout_s"] == 10


def test_json_one_or_a_list() -> None:
    """By the name of the file or by its first character."""
    assert read_definitions("-", lambda: b' {"name": "a"}')[0].definition == {"name": "a"}
    assert [item.name for item in read_definitions("-", lambda: b'[{"name": "a"}, {"name": "b"}]')] == ["a", "b"]


@pytest.mark.parametrize("word", ["no", "on", "off", "yes", "2026-01-01", "1:30", "0x1F", "1_000", "=", "0o7"])
def test_words_that_yaml_once_took_for_values_are_text(word: str) -> None:
    """A country is not a boolean, a time is no number. Source: YAML 1.2.2 §10."""
    found = read_definitions("-", f"name: a\ndescription: {word}\n".encode)
    assert found[0].definition["description"] == word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("010", 10),
    ],
)
def test_values_of_json_are_values(text: str, value: object) -> None:
    """Numbers, booleans and null."""
    assert read_definitions("-", f"name: a\nx: {text}\n".encode)[0].definition["x"] == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\nname: b\n", "standard input:2:1: 'name' stands there twice"),
        ("name: a\napi_call: {url: 1, url: 2}\n", "'url' stands there twice"),
        ("name: a\n1: x\n", "the key 1 is no text"),
        ("name: [a\n", "standard input:2"),
        ("name: a\nx: !!python/object:os.system {}\n", "could not determine a constructor"),
        ("name: a\nx: .inf\n", None),
        ("name: a\nx: 99999999999999999999\n", "integer beyond"),
        ('name: a\nx: "\\0"\n', "NUL"),
        ("x: a\n", "object with a name"),
        ("- 1\n", "object with a name"),
        ("", "holds no definition"),
        ("# nothing\n", "holds no definition"),
        ('{"name": "a", "name": "b"}', "duplicate key"),
        ("[]", "holds no definition"),
        ("name: a\nx: &loop [*loop]\n", "recursive"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, told: str | None) -> None:
    """File, line and column where YAML knows them; nothing dangerous is ever built."""
    if told is None:
        assert read_definitions("-", text.encode)[0].definition["x"] == ".inf"
        return
    with pytest.raises(Unreadable) as caught:
        read_definitions("-", text.encode)
    assert told in caught.value.message


def test_a_file_that_is_not_there_is_named() -> None:
    """The path and what the system says."""
    with pytest.raises(Unreadable, match=r"/nowhere/at\.yaml cannot be read: No such file"):
        read_definitions("/nowhere/at.yaml", bytes)


def test_what_is_shown_can_be_applied_again() -> None:
    """Writing and reading a definition gives the same one, whatever stands in it."""
    definition: dict[str, object] = {
        "name": "a",
        "description": "no: yes\n# é ☂",
        "x": ["1", "true", "2026-01-01", None, 1.5, {"k": []}],
    }
    assert read_definitions("-", to_yaml(definition).encode)[0].definition == definition


def test_differences() -> None:
    """None when both say the same; otherwise lines as people know them."""
    assert difference({"a": 1}, {"a": 1}, name="t", version=3) == ""
    told = difference({"a": 1, "b": 2}, {"a": 1, "b": 3}, name="t", version=3)
    assert told.splitlines()[:2] == ["--- t version 3", "+++ t (file)"]
    assert {"-b: 2", "+b: 3"} <= set(told.splitlines())
    assert "(not registered)" in difference(None, {"a": 1}, name="t", version=None)
