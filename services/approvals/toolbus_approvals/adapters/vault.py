"""
The vault: values that must not lie readable in a database, under one key that is not in it.

AES-256-GCM with a fresh nonce for each value. What the value belongs to is authenticated with it: a row that was
copied to another tenant or webhook does not open there.
"""

import hashlib
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from toolbus_contracts.errors import Unavailable

LEAST_CHARS = 32  # of the setting: so many random characters cannot be guessed
NONCE_BYTES = 12
VERSION = b"\x01"  # of the form of what is sealed
PURPOSE = "toolbus vault"  # the same text may be the key of other things too


def vault_key(text: str) -> bytes:
    """
    The key that the setting TOOLBUS_SECRETS_KEY stands for, 32 bytes; none when it is empty.

    Raises:
        ValueError: it is too short to be a random one.
    """
    if not text:
        return b""
    if len(text) < LEAST_CHARS:
        raise ValueError(f"TOOLBUS_SECRETS_KEY has fewer than {LEAST_CHARS} characters")
    return hashlib.sha256(f"{PURPOSE}\n{text}".encode()).digest()


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
            raise Unavailable("there is no key for secrets: set TOOLBUS_SECRETS_KEY to 32 random characters or more")
        return self._cipher
