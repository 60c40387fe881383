"""
Sessions of people at the page: a sealed cookie that names a key, and the token that its forms carry.

A cookie holds tenant and key id, never the token of the key. Whoever has it can do what the key may do, as long as
the key is valid and no longer than eight hours. Nothing is kept of a session but that it was ended before its time.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from toolbus_contracts.values import Json, compact

LASTS = timedelta(hours=8)
NOTICE_LASTS = timedelta(minutes=1)
SIGN_IN_LASTS = timedelta(hours=1)
MIN_KEY_BYTES = 32


@dataclass(frozen=True)
class Session:
    """Who signed in: by which key, until when. `id` is random and names this one sign-in."""

    tenant: str
    key_id: str
    id: str
    ends_at: datetime


class Ended(Protocol):
    """Sessions that were ended before their time."""

    async def has(self, session_id: str) -> bool:
        """True when somebody signed out of it."""

    async def add(self, session_id: str, until: datetime, now: datetime) -> None:
        """Remember that it was ended; it would have lasted until then."""


class EndedHere:
    """Kept in this process only; they are forgotten when they would have ended anyhow."""

    def __init__(self) -> None:
        self._ended: dict[str, datetime] = {}

    async def has(self, session_id: str) -> bool:
        """True when somebody signed out of it."""
        return session_id in self._ended

    async def add(self, session_id: str, until: datetime, now: datetime) -> None:
        """Remember that it was ended."""
        self._ended = {known: ends_at for known, ends_at in self._ended.items() if ends_at > now}
        self._ended[session_id] = until


def new_session(tenant: str, key_id: str, now: datetime) -> Session:
    """A session that begins now."""
    return Session(tenant, key_id, secrets.token_urlsafe(18), now + LASTS)


class Seals:
    """
    Seals what goes through a browser, so that it comes back as it was given.

    Each purpose has a key of its own: what was sealed for one opens nothing else.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < MIN_KEY_BYTES:
            raise ValueError(f"a key of at least {MIN_KEY_BYTES} bytes is needed")
        self._key = key

    def _mac(self, purpose: str, text: str) -> str:
        key = hmac.new(self._key, f"toolbus inbox {purpose}".encode(), hashlib.sha256).digest()
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    def seal(self, purpose: str, content: Mapping[str, Json], until: datetime) -> str:
        """Seal a small JSON object until then."""
        body = compact({**content, "until": int(until.timestamp())}).encode()
        text = base64.urlsafe_b64encode(body).decode().rstrip("=")
        return f"{text}.{self._mac(purpose, text)}"

    def open(self, purpose: str, sealed: str, now: datetime) -> dict[str, Json] | None:
        """What was sealed; none when it was not sealed here for this purpose, or when its time is over."""
        text, _, mac = sealed.rpartition(".")
        if not hmac.compare_digest(mac.encode(), self._mac(purpose, text).encode()):
            return None
        try:
            content: dict[str, Json] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, ValueError):  # sealed by a key that somebody else has as well
            return None
        return content if content["until"] > now.timestamp() else None

    def seal_session(self, session: Session) -> str:
        """The value of the session's cookie."""
        content = {"tenant": session.tenant, "key": session.key_id, "id": session.id}
        return self.seal("session", content, session.ends_at)

    def open_session(self, sealed: str, now: datetime) -> Session | None:
        """The session of a cookie, if it is one of ours and not over."""
        content = self.open("session", sealed, now)
        if content is None:
            return None
        ends_at = datetime.fromtimestamp(content["until"], now.tzinfo)
        return Session(content["tenant"], content["key"], content["id"], ends_at)

    def form_token(self, session_id: str) -> str:
        """What every form of this session carries: a page of somebody else's cannot know it."""
        return self._mac("form", session_id)

    def is_form_token(self, session_id: str, token: str) -> bool:
        """True when a form carries the token of this session."""
        return hmac.compare_digest(token.encode(), self.form_token(session_id).encode())
