"""
The vault: values that must not lie readable in a database, under one key that is not in it.

AES-256-GCM with a fresh nonce for each value. What the value belongs to is authenticated with it: a row that was
copied to another tenant or webhook does not open there.
"""

import base64
import binascii
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from toolbus_contracts.errors import Unavailable

KEY_BYTES = 32
NONCE_BYTES = 12
VERSION = b"\x01"  # of the form of what is sealed


def new_vault_key() -> str:
    """Make a key, as the setting TOOLBUS_SECRETS_KEY takes it."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def read_vault_key(text: str) -> bytes:
    """
    Read the setting: base64 of 32 bytes; empty when there is none.

    Raises:
        ValueError: it is neither.
    """
    if not text:
        return b""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("not base64") from error
    if len(key) != KEY_BYTES:
        raise ValueError(f"not {KEY_BYTES} bytes")
    return key


class Vault:
    """Seals and opens values with one key; without a key it does neither."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key) if key else None

    def seal(self, text: str, *, belongs_to: str) -> bytes:
        """
        The value as it may be kept.

        Raises:
            Unavailable: there is no key.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        return VERSION + nonce + self._ready().encrypt(nonce, text.encode(), belongs_to.encode())

    def open(self, sealed: bytes, *, belongs_to: str) -> str:
        """
        The value again.

        Raises:
            Unavailable: there is no key, or another one than it was sealed with.
        """
        nonce, hidden = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            return self._ready().decrypt(nonce, hidden, belongs_to.encode()).decode()
        except InvalidTag as error:
            raise Unavailable("a secret does not open: TOOLBUS_SECRETS_KEY is another one than before") from error

    def _ready(self) -> AESGCM:
        if self._cipher is None:
            raise Unavailable("there is no key for secrets: set TOOLBUS_SECRETS_KEY to base64 of 32 random bytes")
        return self._cipher
