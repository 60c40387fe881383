"""The catalogue is complete, and published kinds never change."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolbus_contracts
from toolbus_contracts.catalogue import COMMANDS, UNIONS, VIEWS, event_reader, event_types
from toolbus_contracts.values import Message

GOLDEN = Path(__file__).parent / "golden"


def messages() -> Iterator[type[Message]]:
    """Every message class that the contracts define."""
    for module in pkgutil.walk_packages(toolbus_contracts.__path__, "toolbus_contracts."):
        for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(found, Message) and found.__module__ == module.name:
                yield found


def is_named(found: type[Message]) -> bool:
    """Whether the class stands for one kind of event: a wait, too, has a kind, which is one of several."""
    return not found.model_fields["kind"].is_required()


def test_every_event_is_in_a_union() -> None:
    """A class with a kind that no reader decodes would be stored and never read again."""
    with_kind = {found for found in messages() if "kind" in found.model_fields and is_named(found)}
    assert set(event_types().values()) == with_kind


def test_every_view_is_catalogued() -> None:
    """What people see is documented."""
    shown = {found for found in messages() if found.__name__.endswith("View")}
    assert shown - set(VIEWS.values()) <= {VIEWS["call"].model_fields["wait"].annotation.__args__[0]}  # type: ignore[union-attr]


def test_names_tell_the_category() -> None:
    """A kind is `<category>.<past verb>.v<number>`, a command `<noun>.<verb>`."""
    for kind, found in event_types().items():
        category, verb, version = kind.split(".")
        assert category in UNIONS
        assert verb.replace("_", "").isalpha()
        assert version[0] == "v"
        assert version[1:].isdigit()
        assert found.model_fields["kind"].default == kind
    assert all(len(name.split(".")) == 2 for name in COMMANDS)


def test_every_kind_has_a_golden_file_and_every_file_a_kind() -> None:
    """A new kind is pinned before it is published; a kind never disappears."""
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(event_types())


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_a_golden_event_is_read_and_written_unchanged(path: Path) -> None:
    """What an older version stored is read by this one; every field keeps its name, its type and its value."""
    event = event_reader(path.stem).validate_json(path.read_bytes())
    assert type(event) is event_types()[path.stem]
    assert json.loads(event.model_dump_json(exclude_unset=True)) == json.loads(path.read_text())


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_a_golden_event_shows_every_field(path: Path) -> None:
    """The file has each field of its kind, so that none can be renamed unseen."""
    assert set(json.loads(path.read_text())) == set(event_types()[path.stem].model_fields)
