"""
The credentials of an operation as `secret://` references, which the definition fixes: no call names or sees them.

Source: OpenAPI 3.1.1 §4.8.27 (Security Scheme Object) and §4.8.30 (Security Requirement Object: one of the
requirements is enough, and each needs all of its schemes).
"""

import re
from dataclasses import dataclass, field
from typing import Final

from toolbus.importing.arguments import Unsendable
from toolbus.importing.documents import Document
from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.tools import JsonObject

MAX_SECRET_NAME: Final = 64
_PLACES: Final = {"header": "headers", "query": "params", "cookie": "cookies"}
# Source: RFC 6750 §2.1; OAuth 2.0 and OpenID Connect end in a token that is sent in the same way
_TOKEN_KINDS: Final = frozenset({"oauth2", "openIdConnect"})


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
        part, key, holds = _sent(document, name)
        fixed = found.fixed.setdefault(part, {})
        if key in fixed:
            raise Unsendable(f"security {name}: two schemes fill {key}")
        secret = secret_name(prefix + name)
        fixed[key] = SCHEME + secret
        found.secrets[secret] = holds
    return found


def _sent(document: Document, name: str) -> tuple[str, str, str]:
    """The part of an `api_call` that a scheme fills, the key there, and what the secret must hold."""
    components = document.root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    try:
        scheme = document.resolved(schemes.get(name) if isinstance(schemes, dict) else None)
    except LookupError as error:
        raise Unsendable(f"security {name}: the document does not describe it") from error
    kind, place = scheme.get("type"), scheme.get("in")
    if kind == "apiKey" and place in _PLACES and isinstance(scheme.get("name"), str):
        return _PLACES[place], scheme["name"], f"the key that is sent as {place} {scheme['name']}"
    http = str(scheme.get("scheme")).lower() if kind == "http" else "bearer" if kind in _TOKEN_KINDS else ""
    if http == "bearer":
        return "headers", "Authorization", "the whole header: Bearer and the token"
    if http == "basic":
        return "headers", "Authorization", "the whole header: Basic and user:password in base64"
    raise Unsendable(f"security {name}: {str(kind)[:40]} {http} cannot be sent".replace("  ", " "))


def secret_name(text: str) -> str:
    """A name that secrets may have."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text)[:MAX_SECRET_NAME]
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"[:MAX_SECRET_NAME]
