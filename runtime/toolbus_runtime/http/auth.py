"""API keys on HTTP: `Authorization: Bearer tb_<tenant>_<id>_<secret>`; only a hash of the secret is kept."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request

from toolbus_contracts.errors import Fault, NotAllowed, Unreadable
from toolbus_contracts.keys import Actor, Key, Scope

FindKey = Callable[[str, str], Awaitable[Key | None]]  # (tenant, key id) → the key as it stands now
PREFIX = "tb"
_TOKEN = re.compile(r"tb_([a-z0-9-]{1,48})_([0-9a-f]{32})_([0-9a-f]{64})")


@dataclass(frozen=True)
class Token:
    """The parts of a token."""

    tenant: str
    key_id: str
    secret: str

    def text(self) -> str:
        """The token as it is shown once."""
        return f"{PREFIX}_{self.tenant}_{self.key_id.removeprefix('key_')}_{self.secret}"


def new_token(tenant: str, key_id: str) -> Token:
    """Mint a token with 256 random bits."""
    return Token(tenant, key_id, secrets.token_hex(32))


def secret_hash(secret: str) -> str:
    """What is kept of a secret: it has 256 random bits, so a plain SHA-256 cannot be reversed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def parse_token(text: str) -> Token | None:
    """Take a token apart; none when it is not one of ours."""
    found = _TOKEN.fullmatch(text)
    return Token(found[1], f"key_{found[2]}", found[3]) if found else None


@dataclass(frozen=True)
class Caller:
    """Who makes a request, and with which key."""

    key: Key
    actor: Actor

    @property
    def tenant(self) -> str:
        """The tenant, which never comes from a payload."""
        return self.key.tenant


def refuse_nul(request: Request) -> None:
    """
    Refuse NUL in path or query: no database takes it in text.

    Raises:
        Unreadable: `invalid_value`.
    """
    for place, text in (("/path", request.scope["path"].encode()), ("/query", request.scope["query_string"])):
        if b"\x00" in text or b"%00" in text:
            raise Unreadable("invalid_value", "NUL is not allowed in a URL", (Fault(place, "NUL"),))


def require(scope: Scope | None, find_key: FindKey) -> Callable[[Request], Awaitable[Caller]]:
    """
    A dependency that lets a request through when its key has the scope (`admin` has every scope).

    Raises:
        NotAllowed: `unauthenticated` or `forbidden`.
    """

    async def authenticate(request: Request) -> Caller:
        refuse_nul(request)
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        token = parse_token(text.strip()) if scheme.lower() == "bearer" else None
        key = await find_key(token.tenant, token.key_id) if token else None
        if token is None or key is None or not hmac.compare_digest(key.secret_hash, secret_hash(token.secret)):
            raise NotAllowed("send Authorization: Bearer with a valid key", "unauthenticated")
        if not key.is_valid(datetime.now(UTC)):
            raise NotAllowed("this key was revoked or has expired", "unauthenticated")
        if scope is not None and scope not in key.scopes and "admin" not in key.scopes:
            raise NotAllowed(f"this key lacks the scope {scope}")
        return Caller(key, Actor(subject=key.subject, key_id=key.key_id, via="http"))

    return authenticate
