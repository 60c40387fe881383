"""
Secrets: references to them, and what travels of them.

A reference is a whole text, `secret://name`. Definitions and stored setup may hold some; a call's own arguments may
not, or a model could ask for any. Values exist with whoever stores them, sealed, and in an executor while it uses them.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StringConstraints, TypeAdapter

from toolbus_contracts.executing.redaction import LEAST_CHARS
from toolbus_contracts.values import Json, Message

SCHEME: Final = "secret://"
MAX_VALUE_BYTES: Final = 64 * 1024
SecretName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")]
SecretHost: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^(\*\.)?[a-z0-9.-]{1,253}(:[0-9]{1,5})?$"),
    Field(description="host, *.suffix, or one of them with :port"),
]
SecretUser: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^(mcp:)?[A-Za-z_][A-Za-z0-9_-]{0,63}$"),
    Field(description="a tool, or mcp:SERVER, which stands for that MCP server: asking what it has, and all its tools"),
]
NOT_WRITTEN_OUT: Final = (
    f"a secret is not written out here: put it away with `toolbus secrets set NAME`, and give {SCHEME}NAME"
)
_CREDENTIAL = re.compile(
    r"(?:.*[-_. ])?(?:authorization|cookie|password|passwd|secret|token|credentials?"
    r"|(?:api|access|auth|private|secret|subscription)[-_.]?key)",
    re.IGNORECASE | re.DOTALL,
)
_TOKEN_OF_TEXT = re.compile(  # how many of them, or where a list goes on: no credential, whatever its last word is
    r"(?:.*[-_. ])?(?:max|min)[-_. ]token"
    r"|(?:x-)?(?:page|next|continuation|(?:next|prev|previous)[-_. ]page)[-_. ]token",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCE = re.compile(r"secret://([A-Za-z_][A-Za-z0-9_.-]{0,63})")


def _bounded(value: str) -> str:
    if len(value.encode()) > MAX_VALUE_BYTES:
        raise ValueError(f"longer than {MAX_VALUE_BYTES} bytes")
    return value


SecretValue: TypeAlias = Annotated[
    str,
    StringConstraints(min_length=LEAST_CHARS, max_length=MAX_VALUE_BYTES),
    AfterValidator(_bounded),
    Field(repr=False, json_schema_extra={"writeOnly": True, "format": "password"}, description="never readable again"),
]


def name_in(value: Json) -> str | None:
    """The name of the secret that a value refers to, if it is a reference."""
    if not isinstance(value, str) or not value.startswith(SCHEME):
        return None
    found = _REFERENCE.fullmatch(value)
    return found[1] if found else None


def server_user(server: str) -> str:
    """What an MCP server is called among those that a secret is bound to."""
    return f"mcp:{server}"


def is_credential(name: str) -> bool:
    """Whether a header, or a variable, of this name carries a secret by all custom, as `Authorization` does."""
    return _CREDENTIAL.fullmatch(name) is not None and _TOKEN_OF_TEXT.fullmatch(name) is None


def names_in(value: Json) -> Iterator[str]:
    """The names of all secrets that a value refers to, at any depth."""
    match value:
        case str():
            if (name := name_in(value)) is not None:
                yield name
        case dict():
            for item in value.values():
                yield from names_in(item)
        case list() | tuple():
            for item in value:
                yield from names_in(item)
        case _:
            pass


class PutSecret(Message):
    """
    Store a secret under a name, or give it a new value, which is its next generation.

    `hosts`: it is sent to these only, whatever asks for it, redirects included. `tools`: only calls of these use it,
    and what is asked of those MCP servers that are among them, as `mcp:SERVER`.
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # nothing that is told of a fault may hold the value

    value: SecretValue
    hosts: tuple[SecretHost, ...] = Field((), max_length=32)
    tools: tuple[SecretUser, ...] = Field((), max_length=100)


class SecretView(Message):
    """What can be read of a secret: everything but its value."""

    name: str
    generation: int
    hosts: tuple[str, ...]
    tools: tuple[str, ...]
    stored_at: datetime


class SealedSecret(Message):
    """
    A secret on its way to the executors: nobody opens it without the master key named by `key_id`.

    AES-256-GCM; `sealed` is base64 of nonce (12 bytes) and ciphertext with tag. The associated data is that of
    `associated_data`: what was sealed for one tenant, name, generation and binding opens for no other.
    """

    form: Literal["sealed.v1"] = "sealed.v1"
    name: str
    generation: StrictInt = Field(ge=1)
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    key_id: str
    sealed: str
    cipher: Literal["aes-256-gcm"] = "aes-256-gcm"


class RemovedSecret(Message):
    """There is no such secret any more; `generation` was its last, and the next one goes on from it."""

    form: Literal["removed.v1"] = "removed.v1"
    name: str
    generation: StrictInt = Field(ge=1)


class SecretsFilled(Message):
    """The stream holds every secret that there is: one that is not in it was never stored. Written last of all."""

    form: Literal["filled.v1"] = "filled.v1"


PublishedSecret: TypeAlias = Annotated[SealedSecret | RemovedSecret, Field(discriminator="form")]
_PUBLISHED: TypeAdapter[SealedSecret | RemovedSecret] = TypeAdapter(PublishedSecret)


def read_published(data: bytes) -> SealedSecret | RemovedSecret:
    """
    What a message of the stream SECRETS says.

    Raises:
        ValueError: it is none of ours.
    """
    return _PUBLISHED.validate_json(data)


def associated_data(
    tenant: str, name: str, generation: int, *, hosts: Iterable[str] = (), tools: Iterable[str] = ()
) -> bytes:
    """
    What is authenticated together with a sealed value: tenant, name, generation, hosts and tools, a line each.

    Whoever can write where it is kept can therefore neither give it another name nor let it go to other hosts.
    """
    return f"{tenant}\n{name}\n{generation}\n{','.join(hosts)}\n{','.join(tools)}".encode()
