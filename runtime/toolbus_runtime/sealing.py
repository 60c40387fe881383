"""
Sealing: secrets under master keys that lie neither in a database nor on the bus.

Whoever stores secrets seals them with the current key; whoever uses them opens them with the key that the sealed
one names. Keys come from the environment or from a file, which is looked at again when it changed: a new key needs
no restart.
"""

import base64
import binascii
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.secrets import PutSecret, SealedSecret, associated_data
from toolbus_runtime.master_keys import MasterKey, parse_master_keys
from toolbus_runtime.settings import SecretKeySettings

NONCE_BYTES = 12
PURPOSE = "toolbus secrets"  # the same text is the key of other things too
_HINT = "set TOOLBUS_SECRETS_KEY or TOOLBUS_SECRETS_KEY_FILE"


class KeyRing:
    """The master keys of an installation, the current one and those of before."""

    def __init__(self, text: str = "", path: Path | None = None) -> None:
        """
        The keys of a file, or of a text where no file is named.

        Raises:
            ValueError: the text cannot be read as keys.
        """
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._keys = {key.id: key for key in parse_master_keys(text)} if path is None else {}

    @classmethod
    def of(cls, settings: SecretKeySettings) -> "KeyRing":
        """The keys that these settings name."""
        return cls(settings.secrets_key.get_secret_value(), settings.secrets_key_file)

    def all(self) -> tuple[MasterKey, ...]:
        """
        Every key, the current one first.

        Raises:
            Unavailable: the file is not there, or cannot be read as keys.
        """
        self._look()
        return tuple(self._keys.values())

    def current(self) -> MasterKey:
        """
        The key that is sealed with.

        Raises:
            Unavailable: there is none.
        """
        keys = self.all()
        if not keys:
            raise Unavailable(f"there is no master key for secrets: {_HINT} to 32 random characters or more")
        return keys[0]

    def named(self, key_id: str) -> MasterKey:
        """
        The key with this id.

        Raises:
            Unavailable: it is not among them.
        """
        self._look()
        if key_id not in self._keys:
            raise Unavailable(f"the master key {key_id} is not here: {_HINT} to hold it")
        return self._keys[key_id]

    def _look(self) -> None:
        if self._path is None:
            return
        try:
            stat = self._path.stat()
            if (stat.st_mtime_ns, stat.st_size) == self._seen:
                return
            self._keys = {key.id: key for key in parse_master_keys(self._path.read_text())}
            self._seen = (stat.st_mtime_ns, stat.st_size)
        except OSError as error:
            raise Unavailable(f"the file of master keys cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise Unavailable("the file of master keys does not hold keys: `id key`, one a line") from error


def seal(key: MasterKey, tenant: str, secret: PutSecret, *, name: str, generation: int) -> SealedSecret:
    """The secret as it may be kept and sent: sealed with the key for this tenant, name, generation and its binding."""
    draft = SealedSecret(
        name=name, generation=generation, hosts=secret.hosts, tools=secret.tools, key_id=key.id, sealed=""
    )
    nonce = secrets.token_bytes(NONCE_BYTES)
    hidden = AESGCM(key.bytes_for(PURPOSE)).encrypt(nonce, secret.value.encode(), _belongs_to(tenant, draft))
    return draft.model_copy(update={"sealed": base64.b64encode(nonce + hidden).decode()})


def open_sealed(keys: KeyRing, tenant: str, secret: SealedSecret) -> str:
    """
    The value of a sealed secret.

    Raises:
        Unavailable: its master key is not here, or it was sealed for another tenant, name, generation or binding.
    """
    try:
        raw = base64.b64decode(secret.sealed, validate=True)
        cipher = AESGCM(keys.named(secret.key_id).bytes_for(PURPOSE))
        return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _belongs_to(tenant, secret)).decode()
    except (InvalidTag, binascii.Error, ValueError) as error:
        raise Unavailable(
            f"secret {secret.name} (generation {secret.generation}) does not open with the master key {secret.key_id}"
        ) from error


def _belongs_to(tenant: str, secret: SealedSecret) -> bytes:
    return associated_data(tenant, secret.name, secret.generation, hosts=secret.hosts, tools=secret.tools)
