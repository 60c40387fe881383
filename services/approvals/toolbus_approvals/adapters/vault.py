"""
The vault: values that must not lie readable in a database, under master keys that are not in it.

AES-256-GCM with a fresh nonce for each value. What the value belongs to is authenticated with it: a row that was
copied to another tenant or webhook does not open there.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from toolbus_contracts.errors import Unavailable
from toolbus_runtime.master_keys import MasterKey
from toolbus_runtime.sealing import KeyRing

NONCE_BYTES = 12
VERSION = b"\x01"  # of the form of what is sealed
PURPOSE = "toolbus vault"  # the same text is the key of other things too


class Vault:
    """Seals values with the current master key, and opens them with whichever fits; without a key it does neither."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def seal(self, text: str, *, belongs_to: str) -> bytes:
        """
        The value as it may be kept.

        Raises:
            Unavailable: there is no key.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        return VERSION + nonce + _cipher(self._keys.current()).encrypt(nonce, text.encode(), belongs_to.encode())

    def open(self, sealed: bytes, *, belongs_to: str) -> str:
        """
        The value again.

        Raises:
            Unavailable: there is no key, or none that it was sealed with.
        """
        self._keys.current()
        for key in self._keys.all():
            if (text := _opened(key, sealed, belongs_to)) is not None:
                return text
        raise Unavailable("a secret does not open: the master key that it was sealed with is not here any more")

    def is_current(self, sealed: bytes, *, belongs_to: str) -> bool:
        """Whether it was sealed with the current key."""
        return _opened(self._keys.current(), sealed, belongs_to) is not None


def _opened(key: MasterKey, sealed: bytes, belongs_to: str) -> str | None:
    nonce, hidden = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
    try:
        return _cipher(key).decrypt(nonce, hidden, belongs_to.encode()).decode()
    except InvalidTag:
        return None


def _cipher(key: MasterKey) -> AESGCM:
    return AESGCM(key.bytes_for(PURPOSE))
