"""The vault: what rests in it cannot be read, moved or opened with another key."""

import pytest

from toolbus_approvals.adapters.vault import Vault, vault_key
from toolbus_contracts.errors import Unavailable

KEY = vault_key("a key of thirty-two characters..")


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
        Vault(vault_key("b" * 32)).open(sealed, belongs_to="acme")
    with pytest.raises(Unavailable):
        Vault(KEY).open(sealed[:-1] + bytes([sealed[-1] ^ 1]), belongs_to="acme")


def test_without_a_key_nothing_is_put_away() -> None:
    """The message names the setting; a short key is a mistake."""
    vault = Vault(vault_key(""))
    with pytest.raises(Unavailable, match="TOOLBUS_SECRETS_KEY"):
        vault.seal("whsec_1", belongs_to="acme")
    with pytest.raises(ValueError, match="TOOLBUS_SECRETS_KEY"):
        vault_key("short")
