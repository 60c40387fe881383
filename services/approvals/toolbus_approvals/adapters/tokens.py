"""
Tokens of function calls: whoever holds one may complete this call, and do nothing else.

`wt_<tenant>_<wait>_<signature>`: the signature is HMAC-SHA256 in hex, by a key that only the service knows.
Nothing is kept of a token. It lasts as long as its wait, for an answer to a closed one has no effect.
"""

import hashlib
import hmac
import re

from toolbus_contracts.errors import NotAllowed, Unavailable

PREFIX = "wt"
MIN_KEY_BYTES = 32  # a shorter one, or none, can be guessed by whoever has a token to try it on
_PURPOSE = "toolbus token of a wait"  # the same key signs other things too: no signature stands for two of them
_TOKEN = re.compile(r"wt_([a-z0-9-]{1,48})_([0-9a-f]{32})_([0-9a-f]{64})")


def make_token(key: bytes, tenant: str, wait_id: str) -> str:
    """
    Make the token of a wait; the same one each time.

    Raises:
        Unavailable: the service has no key.
    """
    return f"{PREFIX}_{tenant}_{wait_id.removeprefix('wait_')}_{_signature(key, tenant, wait_id)}"


def read_token(key: bytes, text: str) -> tuple[str, str]:
    """
    Read the tenant and the wait that a token speaks of.

    Raises:
        NotAllowed: `unauthenticated`, it is none of ours.
        Unavailable: the service has no key.
    """
    found = _TOKEN.fullmatch(text)
    if found is not None:
        tenant, wait_id, signature = found[1], f"wait_{found[2]}", found[3]
        if hmac.compare_digest(signature, _signature(key, tenant, wait_id)):
            return tenant, wait_id
    raise NotAllowed("this is no token of a call", "unauthenticated")


def _signature(key: bytes, tenant: str, wait_id: str) -> str:
    if len(key) < MIN_KEY_BYTES:
        raise Unavailable("tokens need TOOLBUS_TOKEN_KEY, at least 32 bytes")
    return hmac.new(key, f"{_PURPOSE}\n{tenant}\n{wait_id}".encode(), hashlib.sha256).hexdigest()
