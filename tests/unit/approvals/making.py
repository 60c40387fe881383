"""Waits, people and grants for the tests of the approvals service."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from toolbus_approvals.core.approving import decide_approve, decide_deny
from toolbus_approvals.core.opening import digest_with
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval, AskUser, Terms
from toolbus_contracts.waits import (
    AnyWaitEvent,
    ApproveWait,
    Delegation,
    DenyWait,
    Grant,
    Spoken,
    Wait,
    WaitOpened,
    evolve_wait,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SOON = NOW + timedelta(minutes=10)
EXPIRES = NOW + timedelta(hours=24)
AFTERWARDS = EXPIRES + timedelta(seconds=1)
TENANT = "acme"
HASH = "sha256:" + "0" * 64
DIGEST = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
ARGUMENTS = {"charge": "ch_1", "amount": 7}
REQUESTER = Actor(subject="agent:bot", key_id="key_0", via="http", on_behalf_of="user:ana")
OPENED = WaitOpened(
    wait_id="wait_1",
    call_id="call_1",
    wait_kind="approval",
    execution_id="exec_1",
    tool="refund",
    tool_scope="tenant",
    tool_version=1,
    definition_hash=HASH,
    terms=Terms(effect="dangerous", idempotency="none", is_asserted=True, provenance="definition"),
    arguments=ARGUMENTS,
    digest=DIGEST,
    requester=REQUESTER,
    labels={"team": "billing"},
    approval=Approval(),
    expires_at=EXPIRES,
    at=NOW,
)


def after(*events: AnyWaitEvent) -> Wait:
    """The state that these events lead to."""
    state = reduce(evolve_wait, events, None)
    assert state is not None
    return state


def then(wait: Wait, events: Sequence[AnyWaitEvent]) -> Wait:
    """The state that further events lead to."""
    for event in events:
        wait = evolve_wait(wait, event) or wait
    return wait


def approval(*approvers: str, **parts: Any) -> Wait:
    """An open approval with these approvers, or anybody; `parts` are those of its policy."""
    return after(OPENED.model_copy(update={"approval": Approval.model_validate({"approvers": approvers, **parts})}))


def function(**changes: Any) -> Wait:
    """A call that waits for a client's function."""
    return after(OPENED.model_copy(update={"wait_kind": "function", "approval": None, **changes}))


def question(**changes: Any) -> Wait:
    """A call that waits for what a person supplies."""
    asked = AskUser(fields={"iban": {"type": "string"}, "amount": {"type": "integer"}}, required=("iban",))
    return after(OPENED.model_copy(update={"wait_kind": "input", "approval": None, "ask_user": asked, **changes}))


def person(name: str, *roles: str, at: datetime = SOON, key_id: str = "key_1") -> Spoken:
    """Somebody who speaks now, or at another time; with a role or two."""
    return Spoken(subject=name, roles=roles, key_id=key_id, at=at)


def approve(wait: Wait, who: Spoken, digest: str | None = None, **parts: Any) -> tuple[AnyWaitEvent, ...]:
    """Somebody agrees to what is to be decided now, or to what another digest stands for."""
    command = ApproveWait(digest=digest or wait.digest, note="fine")
    return decide_approve(command, wait, who, **parts)


def edit(
    wait: Wait, who: Spoken, arguments: dict[str, Any], digest: str | None = None, **parts: Any
) -> tuple[AnyWaitEvent, ...]:
    """Somebody changes the arguments and agrees to that."""
    command = ApproveWait(digest=digest or wait.digest, arguments=arguments)
    return decide_approve(command, wait, who, edited_digest=digest_with(wait, TENANT, arguments), **parts)


def deny(wait: Wait, who: Spoken, digest: str | None = None, **parts: Any) -> tuple[AnyWaitEvent, ...]:
    """Somebody says no."""
    return decide_deny(DenyWait(digest=digest or wait.digest, note="no"), wait, who, **parts)


def kinds(events: Sequence[AnyWaitEvent]) -> list[str]:
    """What happened, in short."""
    return [event.kind.removeprefix("wait.").removesuffix(".v1") for event in events]


def delegation(subject: str, to: str, *roles: str, until: datetime = EXPIRES, **changes: Any) -> Delegation:
    """Somebody lets another decide every wait."""
    found = Delegation(id="delegation_1", subject=subject, roles=roles, to=to, until=until, note="", given_at=NOW)
    return found.model_copy(update=changes)


def grant(subject: str = "user:bo", *roles: str, **changes: Any) -> Grant:
    """Three calls of `refund`, agreed to by somebody beforehand."""
    found = Grant(
        id="grant_1",
        tool="refund",
        uses=3,
        until=EXPIRES,
        condition=None,
        subject=subject,
        roles=roles,
        key_id="key_2",
        note="small ones",
        given_at=NOW,
    )
    return found.model_copy(update=changes)
