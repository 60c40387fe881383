"""What the page needs of the service, given to it by the application as `app.state.inbox`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from fastapi import Request

from toolbus_approvals.inbox.sessions import Ended, EndedHere, Seals
from toolbus_contracts.calls import SettleDoubt
from toolbus_contracts.keys import Key
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.waits import AnswerWait, ApproveWait, CompleteCall, DenyWait, Spoken, Wait
from toolbus_runtime.http.auth import FindKey


class Deciding(Protocol):
    """What the page asks of the desk. Every method raises NotFound, Refused and Conflict as HTTP tells them."""

    async def wait(self, tenant: str, wait_id: str) -> Wait:
        """A wait as it is now."""

    async def approve(self, tenant: str, wait_id: str, command: ApproveWait, who: Spoken) -> Wait:
        """Agree to a digest, or to edited arguments."""

    async def deny(self, tenant: str, wait_id: str, command: DenyWait, who: Spoken) -> Wait:
        """Say no."""

    async def answer(self, tenant: str, wait_id: str, command: AnswerWait, who: Spoken) -> Wait:
        """Supply values."""

    async def complete(self, tenant: str, call_id: str, command: CompleteCall, who: Spoken) -> Wait:
        """Say what a client's function came to."""


class OpenWaits(Protocol):
    """Reads the list."""

    async def __call__(self, key: Key, *, before: int | None, limit: int) -> tuple[Sequence[Wait], int | None]:
        """A page of the open waits that a key may see, newest first, and the place behind which the next one begins."""


@dataclass(frozen=True)
class Change:
    """A wait of the tenant was opened, spoken about or closed."""

    wait_id: str


Definition = Callable[[str, Wait], Awaitable[ToolDefinition | None]]
Payload = Callable[[str, str], Awaitable[bytes | None]]  # (tenant, digest) → JSON text
Changes = Callable[[str], AsyncIterator[Sequence[Change]]]  # of a tenant, from now on; an empty one now and then
Settle = Callable[[str, SettleDoubt, Key], Awaitable[None]]


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Inbox:
    """The parts behind the page. Without `settle` a doubt is only shown, with the command that settles it."""

    desk: Deciding
    open_waits: OpenWaits
    definition: Definition
    payload: Payload
    changes: Changes
    find_key: FindKey
    seals: Seals
    user_agent: str
    ended: Ended = field(default_factory=EndedHere)
    settle: Settle | None = None
    clock: Callable[[], datetime] = _now


def parts_of(request: Request) -> Inbox:
    """The parts behind this application."""
    found: Inbox = request.app.state.inbox
    return found


def spoken(key: Key, now: datetime) -> Spoken:
    """Who speaks, for the record."""
    return Spoken(subject=key.subject, roles=key.roles, key_id=key.key_id, via="inbox", at=now)


def has_scope(key: Key, *scopes: str) -> bool:
    """True when the key has one of these scopes, or all of them as an administrator."""
    return any(scope in key.scopes for scope in (*scopes, "admin"))
