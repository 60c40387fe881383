"""
The credentials of an operation as `secret://` references, which the definition fixes: no call names or sees them.

Source: OpenAPI 3.1.1 §4.8.27 (Security Scheme Object) and §4.8.30 (Security Requirement Object: one of the
requirements is enough, and each needs all of its schemes).
"""

import re
from dataclasses import dataclass, field
from typing import Final

from toolbus.importing.documents import Document
from toolbus.importing.styles import Unsendable
from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.tools import JsonObject

MAX_SECRET_NAME: Final = 64
_PLACES: Final = {"header": "headers", "query": "params", "cookie": "cookies"}
_BASIC: Final = ("username", "password")


@dataclass(frozen=True)
class Credentials:
    """What a definition fixes so that calls are let in: parts of an `api_call`; and what each secret must hold."""

    fixed: JsonObject = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)


def credentials_of(document: Document, operation: JsonObject, prefix: str = "") -> Credentials:
    """
    The first way in that can be sent; `prefix` stands before the name of each secret.

    Raises:
        Unsendable: there is no way in without credentials, and none of those that need some can be sent.
    """
    told = operation.get("security", document.root.get("security"))
    requirements = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    reasons: list[str] = []
    for requirement in requirements:
        if requirement:
            try:
                return _together(document, list(requirement), prefix)
            except Unsendable as error:
                reasons.append(str(error))
    if reasons and {} not in requirements:
        raise Unsendable("; ".join(dict.fromkeys(reasons)))
    return Credentials()


def _together(document: Document, names: list[str], prefix: str) -> Credentials:
    found = Credentials()
    for name in names:
        scheme = _described(document, name)
        kind, secret = _kind(scheme), secret_name(prefix + name)
        if kind == "apiKey":
            fixed = found.fixed.setdefault(_PLACES[scheme["in"]], {})
            if scheme["name"] in fixed:
                raise Unsendable(f"security {name}: two schemes fill {scheme['name']}")
            fixed[scheme["name"]] = SCHEME + secret
            found.secrets[secret] = f"the key, sent as {scheme['in']} {scheme['name']}"
        elif kind in {"bearer", "basic"} and "auth" not in found.fixed:
            found.fixed["auth"] = _bearer(found, secret) if kind == "bearer" else _basic(found, secret)
        else:
            raise Unsendable(f"security {name}: {kind} cannot be sent")
    if "auth" in found.fixed and any(name.lower() == "authorization" for name in found.fixed.get("headers", {})):
        raise Unsendable("security: two schemes fill the header Authorization")
    return found


def _bearer(found: Credentials, secret: str) -> JsonObject:
    found.secrets[secret] = "the token, sent as Authorization: Bearer"
    return {"bearer": SCHEME + secret}


def _basic(found: Credentials, secret: str) -> JsonObject:
    names = {part: secret_name(secret[: MAX_SECRET_NAME - len(part) - 1] + f"_{part}") for part in _BASIC}
    found.secrets.update({name: f"the {part}, sent as Authorization: Basic" for part, name in names.items()})
    return {"basic": {part: SCHEME + name for part, name in names.items()}}


def _described(document: Document, name: str) -> JsonObject:
    components = document.root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    try:
        return document.resolved(schemes.get(name) if isinstance(schemes, dict) else None)
    except LookupError as error:
        raise Unsendable(f"security {name}: the document does not describe it") from error


def _kind(scheme: JsonObject) -> str:
    """`apiKey`, `bearer` or `basic`; any other text for what cannot be sent."""
    match scheme.get("type"):
        case "apiKey" if str(scheme.get("in")) in _PLACES and isinstance(scheme.get("name"), str):
            return "apiKey"
        case "http":
            return str(scheme.get("scheme")).lower()[:40]
        case "oauth2" | "openIdConnect":
            return "bearer"  # both end in a token that is sent so. Source: RFC 6750 §2.1
        case other:
            return f"a scheme of type {str(other)[:40]}"


def secret_name(text: str) -> str:
    """A name that secrets may have."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text)[:MAX_SECRET_NAME]
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"[:MAX_SECRET_NAME]
