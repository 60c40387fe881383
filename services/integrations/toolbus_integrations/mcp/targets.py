"""A server as it is spoken to: its settings, with the values of secrets in their places."""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from toolbus_contracts.digests import digest
from toolbus_contracts.egress import place_of
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret, check_place
from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.secrets import SCHEME, names_in

Resolve = Callable[[Iterable[str]], Awaitable[Mapping[str, Secret]]]


@dataclass(frozen=True, slots=True)
class Target:
    """
    One server of one tenant, ready to be spoken to.

    `key` tells it from every other, and from itself with other settings or another value of a secret. `redactor` takes
    the secrets out of what the server says. `is_sse`: it speaks the transport before streamable HTTP, in which answers
    come over a stream of events of their own.
    """

    key: str
    name: str
    settings: PutMcpServer
    headers: Mapping[str, str] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    redactor: Redactor = field(repr=False)
    is_sse: bool = False


async def target_of(tenant: str, name: str, settings: PutMcpServer, resolve: Resolve) -> Target:
    """
    The server with its secrets, as `resolve` gives them.

    Raises:
        Refused: `secret_unavailable`, or `secret_not_allowed`: it is bound to other hosts, or to any where a program
            would get it.
        Unavailable: they cannot be looked up now.
    """
    said = settings.model_dump(mode="json")
    names = sorted(set(names_in(said)))
    found = [*(await resolve(names)).values()] if names else []
    if settings.url is not None:
        check_place(found, place_of(settings.url))
    elif bound := next((secret for secret in found if secret.hosts), None):
        message = f"secret {bound.name} is bound to hosts, and nobody sees where a program sends it"
        raise Refused("secret_not_allowed", message)
    values = {SCHEME + secret.name: secret.value for secret in found}
    headers = {header: values.get(value, value) for header, value in settings.headers.items()}
    if settings.bearer is not None:
        headers["Authorization"] = f"Bearer {values.get(settings.bearer, settings.bearer)}"
    marks = {secret.name: hashlib.sha256(secret.value.encode()).hexdigest() for secret in found}
    return Target(
        key=digest({"tenant": tenant, "name": name, "settings": said, "secrets": marks}),
        name=name,
        settings=settings,
        headers=headers,
        env={variable: values.get(value, value) for variable, value in settings.env.items()},
        redactor=Redactor((secret.name, secret.value) for secret in found),
    )
