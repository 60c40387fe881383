"""Master keys and what they seal: nothing opens with another key, or under another name, tenant or binding."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.secrets import PutSecret, SealedSecret
from toolbus_runtime.master_keys import parse_master_keys
from toolbus_runtime.sealing import KeyRing, open_sealed, seal
from toolbus_runtime.settings import SecretKeySettings

OLD, NEW = "o" * 44, "n" * 44
VALUE = "sk-live-7a5ebf"
SECRET = PutSecret(value=VALUE, hosts=("api.example.com",), tools=("refund",))


def sealed_with(ring: KeyRing, tenant: str = "acme", **changes: Any) -> SealedSecret:
    """A secret as it is kept."""
    return seal(ring.current(), tenant, SECRET, **{"name": "pay", "generation": 3, **changes})


def test_what_was_sealed_opens_again_and_shows_nothing() -> None:
    """Two sealings of one value have nothing in common, and neither holds the value."""
    ring = KeyRing(f"k1 {NEW}")
    one, two = sealed_with(ring), sealed_with(ring)
    assert open_sealed(ring, "acme", one) == open_sealed(ring, "acme", two) == VALUE
    assert one.sealed != two.sealed
    assert (one.key_id, one.generation, one.hosts) == ("k1", 3, ("api.example.com",))
    assert VALUE not in one.model_dump_json()
    assert VALUE not in repr(SECRET)
    assert NEW not in repr(ring.current())


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"generation": 4},
        {"hosts": ()},
        {"hosts": ("evil.example.com",)},
        {"tools": ()},
        {"tools": ("refund", "other")},
        {"sealed": "AAAA"},
        {"sealed": "not base64"},
    ],
    ids=str,
)
def test_a_sealed_secret_that_was_changed_does_not_open(change: dict[str, Any]) -> None:
    """Whoever can write the table or the stream can give a value neither another name nor another binding."""
    ring = KeyRing(NEW)
    sealed = sealed_with(ring)
    with pytest.raises(Unavailable, match="does not open"):
        open_sealed(ring, "acme", sealed.model_copy(update=change))


def test_a_secret_of_one_tenant_does_not_open_for_another() -> None:
    """The tenant is authenticated with it."""
    ring = KeyRing(NEW)
    with pytest.raises(Unavailable, match="does not open"):
        open_sealed(ring, "other", sealed_with(ring, "acme"))


def test_the_key_is_found_by_its_id() -> None:
    """The first key seals; what an older one sealed opens as long as that one is there; a wrong one opens nothing."""
    sealed = sealed_with(KeyRing(f"old {OLD}"))
    both = KeyRing(f"new {NEW}, old {OLD}")
    assert both.current().id == "new"
    assert open_sealed(both, "acme", sealed) == VALUE
    with pytest.raises(Unavailable, match="the master key old is not here"):
        open_sealed(KeyRing(f"new {NEW}"), "acme", sealed)
    with pytest.raises(Unavailable, match="does not open"):
        open_sealed(KeyRing(f"old {NEW}"), "acme", sealed)


def test_without_a_key_nothing_is_sealed() -> None:
    """What to set is told."""
    with pytest.raises(Unavailable, match="TOOLBUS_SECRETS_KEY"):
        KeyRing("").current()


def test_keys_are_read_by_line_and_by_comma() -> None:
    """A key without an id has always the same one; remarks and empty lines count for nothing."""
    lines = parse_master_keys(f"# two keys\n\n2026-11 {NEW}\n{OLD}\n")
    assert [key.id for key in lines] == ["2026-11", parse_master_keys(OLD)[0].id]
    assert parse_master_keys(f" 2026-11  {NEW} ,{OLD}") == lines
    assert lines[1].id not in OLD


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("short", "key 1 has fewer than 32"),
        (f"k {NEW}\nk {OLD}", "key 2 has an id that another one has"),
        (f"a b {NEW}", "key 1 has an id that is none"),
        (f"{'k' * 33} {NEW}", "key 1 has an id that is none"),
    ],
)
def test_keys_that_are_none_are_refused_without_being_told(text: str, message: str) -> None:
    """The place is named, and no character of a key."""
    with pytest.raises(ValueError, match=message) as raised:
        parse_master_keys(text)
    assert NEW not in str(raised.value)


def test_a_file_of_keys_is_looked_at_again_when_it_changed(tmp_path: Path) -> None:
    """A new key is used without a restart; a file that is gone or broken is told, and mended as soon as it is back."""
    path = tmp_path / "keys"
    path.write_text(f"old {OLD}\n")
    ring = KeyRing(path=path)
    sealed = sealed_with(ring)
    assert sealed.key_id == "old"
    path.write_text(f"new {NEW}\nold {OLD}\n")
    assert sealed_with(ring).key_id == "new"
    assert open_sealed(ring, "acme", sealed) == VALUE
    path.write_text("too short\n")
    with pytest.raises(Unavailable, match="does not hold keys"):
        ring.current()
    path.unlink()
    with pytest.raises(Unavailable, match="cannot be read"):
        ring.named("old")
    path.write_text(f"new {NEW}\n")
    os.utime(path, ns=(1, 1))
    assert [key.id for key in ring.all()] == ["new"]


def test_a_key_that_is_none_stops_a_service_and_is_not_told() -> None:
    """A service that cannot open secrets must not look well."""
    with pytest.raises(ValidationError, match="key 1 has fewer than 32 characters") as raised:
        SecretKeySettings(secrets_key=SecretStr("guessable"))
    assert "guessable" not in str(raised.value)
