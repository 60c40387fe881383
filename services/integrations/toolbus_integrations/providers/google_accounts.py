"""
Service accounts of Google: a key file, what it signs, and the tokens that it gets for that.

A token is kept until shortly before it ends, in this process alone, for the tenant and the key that got it.
Source: https://developers.google.com/identity/protocols/oauth2/service-account, "HTTP/REST".
"""

import asyncio
import base64
import binascii
import json
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from toolbus.provider import Call, ToolFailed
from toolbus_integrations.providers.vendor import Key, Vendor, beforehand

GOOGLE: Final = Vendor("Google", told_at=(("error", "message"), ("error_description",), ("error",)))
GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFETIME: Final = timedelta(hours=1)  # the most that Google allows
MARGIN: Final = timedelta(minutes=1)
TOKEN_TIMEOUT_S: Final = 15.0
MAX_TOKENS: Final = 1000


class ServiceAccount(BaseModel):
    """What is needed of a key file."""

    client_email: str = Field(min_length=1)
    private_key: Key
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address


class _Granted(BaseModel):
    access_token: str = Field(min_length=1)
    expires_in: int = Field(ge=1)


@dataclass
class _Kept:
    """The token of a key, and until when it is good; the lock is held by whoever asks for another."""

    token: str = ""
    until: datetime | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_kept: OrderedDict[str, _Kept] = OrderedDict()


def read_account(text: str) -> ServiceAccount:
    """
    The account of a key file, given as JSON or base64 of it.

    Raises:
        ValueError: it is no key file; the message holds nothing of it.
    """
    try:
        written = text if text.lstrip().startswith("{") else base64.b64decode(text, validate=True)
        return ServiceAccount.model_validate_json(written)
    except binascii.Error:
        raise ValueError("neither JSON nor base64 of it") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = "/".join(map(str, first["loc"])) or "body"
        raise ValueError(f"not the key file of a service account: {place}: {first['msg']}") from None


async def token(account: ServiceAccount, scope: str, call: Call) -> tuple[str, bool]:
    """
    A token of the account, and whether it was at hand.

    Raises:
        ToolFailed: there is none; nothing else has been asked for.
    """
    name = _name(account, scope, call.tenant)
    kept = _kept.setdefault(name, _Kept())
    _kept.move_to_end(name)
    while len(_kept) > MAX_TOKENS:
        _kept.popitem(last=False)
    async with kept.lock:
        if kept.until is not None and call.now < kept.until:
            return kept.token, True
        granted = await _granted(account, scope, call)
        kept.token = granted.access_token
        kept.until = call.now + timedelta(seconds=granted.expires_in) - MARGIN
        return kept.token, False


def forget(account: ServiceAccount, scope: str, call: Call) -> None:
    """The token of the account is not at hand any more: it was refused."""
    _kept.pop(_name(account, scope, call.tenant), None)


async def _granted(account: ServiceAccount, scope: str, call: Call) -> _Granted:
    form = {"grant_type": GRANT, "assertion": _signed(account, scope, call.now)}
    async with beforehand(f"no token of {account.token_uri}", within_s=TOKEN_TIMEOUT_S):
        answer = await GOOGLE.answer(call.post(account.token_uri, data=form))
        try:
            return GOOGLE.read(answer, _Granted)
        except ToolFailed as failure:
            failure.response = None  # a token may stand in it, which nobody would know for a secret
            raise


def _signed(account: ServiceAccount, scope: str, now: datetime) -> str:
    """A statement about the account, signed by it: RFC 7523 in the form of RFC 7515, with RS256."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    head = {"alg": "RS256", "typ": "JWT", "kid": account.private_key_id}
    claims = {
        "iss": account.client_email,
        "scope": scope,
        "aud": account.token_uri,
        "iat": int(now.timestamp()),
        "exp": int((now + LIFETIME).timestamp()),
    }
    told = f"{_packed(json.dumps(head).encode())}.{_packed(json.dumps(claims).encode())}"
    try:
        key = serialization.load_pem_private_key(account.private_key.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise ToolFailed("private_key is not a key in PEM without a password", code="request_invalid") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ToolFailed("private_key is not an RSA key", code="request_invalid")
    return f"{told}.{_packed(key.sign(told.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _name(account: ServiceAccount, scope: str, tenant: str) -> str:
    return sha256(json.dumps([tenant, scope, account.model_dump()]).encode()).hexdigest()
