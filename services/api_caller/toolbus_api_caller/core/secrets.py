"""References to secrets: they are resolved or the call fails, and are never sent as they stand."""

import re

from toolbus_api_caller.core.arguments import Parts
from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import ApiCallSection
from toolbus_contracts.values import Json

PREFIX = "secret://"
_REFERENCE = re.compile(r"secret://[A-Za-z0-9_.-]+")


def refuse_secrets(section: ApiCallSection, parts: Parts, json_bytes: bytes) -> None:
    """
    Let pass what refers to no secret. There is no secret store yet, so that every reference fails.

    `json_bytes` is the JSON body as it would be sent, searched first because walking a large one is slow.

    Raises:
        Refused: `secret_unavailable`, naming the reference.
    """
    if section.secrets:
        raise _unavailable(next(iter(section.secrets)))
    for value in parts.headers.values():
        if isinstance(value, str) and (found := _REFERENCE.search(value)):
            raise _unavailable(found[0])
    body = parts.json if PREFIX.encode() in json_bytes else None
    elsewhere = (parts.raw_query, parts.path, parts.query, parts.headers, parts.form, parts.cookies)
    for value in (body, parts.content, parts.url, *elsewhere):
        if value and (reference := _reference(value)) is not None:
            raise _unavailable(reference)


def _reference(value: Json) -> str | None:
    """The first text in a value that is wholly a reference."""
    match value:
        case str():
            return value if value.startswith(PREFIX) and _REFERENCE.fullmatch(value) else None
        case dict():
            return next((found for item in value.values() if (found := _reference(item))), None)
        case list():
            return next((found for item in value if (found := _reference(item))), None)
        case _:
            return None


def _unavailable(name: str) -> Refused:
    return Refused("secret_unavailable", f"{name} cannot be resolved: there is no store of secrets yet")
