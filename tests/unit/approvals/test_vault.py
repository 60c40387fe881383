"""The vault: what rests in it cannot be read, moved or opened with another key."""

import pytest

from toolbus_approvals.adapters.vault import Vault
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.sealing import KeyRing

SEALED_THEN = "010a06e0d6239dd98743bc238a457dab3ac8cd3e46272889739bb356e2de0111bd5e8a3b"
KEY = KeyRing("a" * 32)


def test_what_was_sealed_opens_again() -> None:
    """With the same key, for the same owner."""
    vault = Vault(KEY)
    assert vault.open(vault.seal("whsec_1", belongs_to="acme"), belongs_to="acme") == "whsec_1"


def test_what_rests_tells_nothing() -> None:
    """Neither the value, nor that two values are the same."""
    vault = Vault(KEY)
    sealed = [vault.seal("whsec_1", belongs_to="acme") for _ in range(2)]
    assert sealed[0] != sealed[1]
    assert b"whsec_1" not in sealed[0]


def test_nothing_opens_for_another_owner_or_with_another_key_or_changed() -> None:
    """A row that was copied to another tenant is of no use there."""
    sealed = Vault(KEY).seal("whsec_1", belongs_to="acme")
    with pytest.raises(Unavailable):
        Vault(KEY).open(sealed, belongs_to="other")
    with pytest.raises(Unavailable):
        Vault(KeyRing("b" * 32)).open(sealed, belongs_to="acme")
    with pytest.raises(Unavailable):
        Vault(KEY).open(sealed[:-1] + bytes([sealed[-1] ^ 1]), belongs_to="acme")


def test_without_a_key_nothing_is_put_away() -> None:
    """Nor taken out; the message names the setting."""
    vault = Vault(KeyRing(""))
    with pytest.raises(Unavailable, match="TOOLBUS_SECRETS_KEY"):
        vault.seal("whsec_1", belongs_to="acme")
    with pytest.raises(Unavailable, match="TOOLBUS_SECRETS_KEY"):
        vault.open(Vault(KEY).seal("whsec_1", belongs_to="acme"), belongs_to="acme")


def test_keys_of_before_open_and_the_current_one_seals() -> None:
    """What is sealed with a former key is known as such."""
    sealed = Vault(KEY).seal("whsec_1", belongs_to="acme")
    both = Vault(KeyRing(f"{'b' * 32},{'a' * 32}"))
    assert both.open(sealed, belongs_to="acme") == "whsec_1"
    assert not both.is_current(sealed, belongs_to="acme")
    assert both.is_current(both.seal("whsec_1", belongs_to="acme"), belongs_to="acme")


def test_what_a_single_key_sealed_before_there_were_several_opens() -> None:
    """Pinned: a database that was written then goes on."""
    sealed = bytes.fromhex(SEALED_THEN)
    assert Vault(KEY).open(sealed, belongs_to="acme") == "whsec_1"
