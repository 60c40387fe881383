"""
Signatures of webhooks, over exactly the bytes that are sent. Source: Standard Webhooks 1.0.0, "Signature scheme".

What is signed is `{id}.{timestamp}.{body}`. While a secret is being changed there are two signatures, divided by a
space: a receiver is content with one that it can verify.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from toolbus_contracts.webhooks import PUBLIC_PREFIX, scheme_of, secret_bytes


def signed_headers(message_id: str, body: bytes, secrets: Sequence[str], *, now: datetime) -> dict[str, str]:
    """The three headers of a message: its id, when it is sent (seconds since 1970), and one signature a secret."""
    timestamp = str(int(now.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(_signature(secret, signed) for secret in secrets),
    }


def public_key(secret: str) -> str | None:
    """What receivers verify with (`whpk_…`), when the secret is an ed25519 key; none for a shared secret."""
    if scheme_of(secret) == "v1":
        return None
    raw = Ed25519PrivateKey.from_private_bytes(secret_bytes(secret)).public_key().public_bytes_raw()
    return PUBLIC_PREFIX + base64.b64encode(raw).decode()


def _signature(secret: str, signed: bytes) -> str:
    key, scheme = secret_bytes(secret), scheme_of(secret)
    if scheme == "v1":
        raw = hmac.new(key, signed, hashlib.sha256).digest()
    else:
        raw = Ed25519PrivateKey.from_private_bytes(key).sign(signed)
    return f"{scheme},{base64.b64encode(raw).decode()}"
