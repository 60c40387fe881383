"""Actors, API keys and what they may do."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints, TypeAdapter

from toolbus_contracts.stored import CallContext
from toolbus_contracts.tools import Limits, ToolName
from toolbus_contracts.values import Message, refuse_number

Scope = Literal["read", "submit", "work", "approve", "operate", "audit", "admin"]
MAX_ROLES = 32
MAX_TOOLS = 1000
MAX_CONTEXTS = 1000
SCOPES: tuple[Scope, ...] = ("read", "submit", "work", "approve", "operate", "audit", "admin")

Tenant: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$")]
Subject: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^(user|service|agent):[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$")
]
Role: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
ContextRule: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^(session|task|user|agent):(\*|[A-Za-z0-9][A-Za-z0-9:._@+-]{0,127})$"),
    Field(description="level and id, such as `user:ana`; `user:*` is any of that level"),
]
Via = Literal["http", "ask", "bus", "internal"]


class Actor(Message):
    """Who did it. Two keys of one subject are one person."""

    subject: str
    key_id: str | None = None
    via: Via
    on_behalf_of: str | None = None


class CreateKey(Message):
    """Ask for a key; the secret part is made by the server and shown once."""

    subject: Subject
    roles: tuple[Role, ...] = Field((), max_length=MAX_ROLES)
    scopes: tuple[Scope, ...] = Field(min_length=1, max_length=len(SCOPES))
    tools: tuple[ToolName, ...] | None = Field(
        None, max_length=MAX_TOOLS, description="names of the tools this key may call; absent = all"
    )
    contexts: tuple[ContextRule, ...] = Field(
        (),
        max_length=MAX_CONTEXTS,
        description="whose stored values its calls may name, besides those of its own subject",
    )
    expires_at: Annotated[AwareDatetime, BeforeValidator(refuse_number)] | None = None
    limits: Limits | None = Field(None, description="over all calls that are submitted with this key")


class KeyCreated(Message):
    """A key exists; only the SHA-256 of its secret is kept."""

    kind: Literal["key.created.v1"] = "key.created.v1"
    key_id: str
    tenant: str
    subject: str
    roles: tuple[str, ...]
    scopes: tuple[Scope, ...]
    tools: tuple[str, ...] | None
    contexts: tuple[str, ...] = Field((), exclude_if=not_)
    expires_at: datetime | None
    limits: Limits | None = None
    secret_hash: str
    at: datetime


class KeyRevoked(Message):
    """The key opens nothing any more."""

    kind: Literal["key.revoked.v1"] = "key.revoked.v1"
    key_id: str
    at: datetime


KeyEvent: TypeAlias = Annotated[KeyCreated | KeyRevoked, Field(discriminator="kind")]
key_events: TypeAdapter[KeyCreated | KeyRevoked] = TypeAdapter(KeyEvent)


class Key(Message):
    """State of one key."""

    key_id: str
    tenant: str
    subject: str
    roles: tuple[str, ...]
    scopes: tuple[Scope, ...]
    tools: tuple[str, ...] | None
    contexts: tuple[str, ...] = ()
    expires_at: datetime | None
    limits: Limits | None = None
    secret_hash: str
    created_at: datetime
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """True while the key is neither revoked nor past its expiry."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def may_call(self, tool: str) -> bool:
        """True when the key is not limited to other tools."""
        return self.tools is None or tool in self.tools

    def may_name(self, level: str, level_id: str) -> bool:
        """True when its calls may run with what is stored there: for its own subject, its contexts, or an admin."""
        named = f"{level}:{level_id}"
        is_own = named == self.subject or "admin" in self.scopes
        return is_own or not {named, f"{level}:*"}.isdisjoint(self.contexts)


def foreign_to(key: Key, context: CallContext | None) -> tuple[tuple[str, str], ...]:
    """Whom a context names whose stored values are not for this key: level and id of each."""
    named = {} if context is None else context.model_dump(exclude_none=True)
    return tuple((level, level_id) for level, level_id in named.items() if not key.may_name(level, level_id))


def evolve_key(key: Key | None, event: KeyCreated | KeyRevoked) -> Key | None:
    """Apply one stored event to the state of a key."""
    match event:
        case KeyCreated():
            return Key(
                key_id=event.key_id,
                tenant=event.tenant,
                subject=event.subject,
                roles=event.roles,
                scopes=event.scopes,
                tools=event.tools,
                contexts=event.contexts,
                expires_at=event.expires_at,
                limits=event.limits,
                secret_hash=event.secret_hash,
                created_at=event.at,
            )
        case KeyRevoked():
            return key and key.model_copy(update={"revoked_at": event.at})
        case _:
            assert_never(event)


class KeyView(Message):
    """A key as people see it, without its secret."""

    id: str
    tenant: str
    subject: str
    roles: tuple[str, ...]
    scopes: tuple[Scope, ...]
    tools: tuple[str, ...] | None
    contexts: tuple[str, ...] = ()
    created_at: datetime
    expires_at: datetime | None
    limits: Limits | None = None
    revoked_at: datetime | None


class NewKey(KeyView):
    """The answer to creating a key: the only time that its token is shown."""

    token: str
