"""Secrets of a request: who may name one, and where it may be sent."""

import re
from collections.abc import Iterable

from toolbus_contracts.egress import place_of
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.requests.arguments import PLACEHOLDER, Parts
from toolbus_contracts.secrets import SCHEME, name_in
from toolbus_contracts.tools import ApiCallSection
from toolbus_contracts.values import Json

_MENTIONED = re.compile(r"secret://[A-Za-z0-9_.-]+")
_AUTHORITY = re.compile(r"[^:]*://[^/?#\\]*")


def refuse_references(section: ApiCallSection, parts: Parts, json_bytes: bytes) -> None:
    """
    Let pass what refers to no secret, once the definition's own references are filled in: the rest came with the call.

    `json_bytes` is the JSON body as it would be sent, searched first because walking a large one is slow.

    Raises:
        Refused: `secret_not_allowed`, naming the reference.
    """
    if section.secrets:
        raise _not_allowed(next(iter(section.secrets)))
    for value in parts.headers.values():
        if isinstance(value, str) and (found := _MENTIONED.search(value)):
            raise _not_allowed(found[0])
    body = parts.json if SCHEME.encode() in json_bytes else None
    elsewhere = (parts.raw_query, parts.path, parts.query, parts.headers, parts.form, parts.cookies)
    for value in (body, parts.content, parts.url, *elsewhere):
        if value and (reference := _reference(value)) is not None:
            raise _not_allowed(reference)


def check_addressee(own_url: str, url: str, secrets: Iterable[Secret]) -> None:
    """
    Let pass what goes to the origin that the definition names; where a call chooses it, each secret must be bound.

    Without that, whoever may call a tool with an open host could have its secrets sent to a host of theirs.

    Raises:
        Refused: `secret_not_allowed`.
    """
    origin = _AUTHORITY.match(own_url)
    named = "" if origin is None else origin[0]
    if not PLACEHOLDER.search(named) and place_of(named) == place_of(origin_of(url)):
        return
    for secret in secrets:
        if not secret.hosts:
            message = f"secret {secret.name} is bound to no host, and goes only where the definition itself says"
            raise Refused("secret_not_allowed", message)


def origin_of(url: str) -> str:
    """Scheme, host and port of a composed url, whose path begins with a slash."""
    end = url.find("/", len("https://"))
    return url if end < 0 else url[:end]


def _reference(value: Json) -> str | None:
    """The first text in a value that is wholly a reference."""
    match value:
        case str():
            return value if value.startswith(SCHEME) and name_in(value) else None  # most texts are asked no further
        case dict():
            return next((found for item in value.values() if (found := _reference(item))), None)
        case list():
            return next((found for item in value if (found := _reference(item))), None)
        case _:
            return None


def _not_allowed(reference: str) -> Refused:
    message = f"{reference}: a call cannot name a secret; only definitions and stored setup can, as a whole text"
    return Refused("secret_not_allowed", message)
