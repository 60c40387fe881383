"""States of waits, grants and delegations: the folds over their events."""

from datetime import datetime
from typing import assert_never

from pydantic import Field

from toolbus_contracts.calls import CallError
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval, Approver, AskUser, FunctionWebhook, JsonObject, Terms
from toolbus_contracts.values import Json, Message
from toolbus_contracts.waits.events import (
    AnswerCameLate,
    AnyDelegationEvent,
    AnyGrantEvent,
    AnyWaitEvent,
    DecisionRecorded,
    DelegationGiven,
    DelegationRevoked,
    GrantGiven,
    GrantRevoked,
    GrantUsed,
    WaitClosed,
    WaitDelegated,
    WaitEdited,
    WaitEscalated,
    WaitKind,
    WaitOpened,
)


class Edit(Message):
    """What a person made of the arguments."""

    subject: str
    digest: str
    arguments: Json
    note: str
    at: datetime


class Delegated(Message):
    """Somebody may decide this wait in another's place."""

    subject: str
    to: str
    until: datetime


class Wait(Message):
    """
    State of one wait. `arguments` and `digest` are those to decide on now, `proposed` those of the call.

    `decisions` are the ones that speak of this digest; earlier ones are void.
    """

    id: str
    call_id: str
    kind: WaitKind
    execution_id: str
    tool: str
    tool_scope: str | None
    tool_version: int | None
    definition_hash: str
    terms: Terms
    arguments: Json
    proposed: Json
    setup: JsonObject = Field(default_factory=dict)
    secrets: dict[str, int] = Field(default_factory=dict)
    digest: str
    requester: Actor
    deadline_at: datetime | None = None
    labels: dict[str, str]
    approval: Approval | None = None
    ask_user: AskUser | None = None
    is_from_server: bool = False
    answers: JsonObject = Field(default_factory=dict)
    webhook: FunctionWebhook | None = None
    attempt: int = 0
    error: CallError | None = None
    expires_at: datetime | None
    opened_at: datetime
    edits: tuple[Edit, ...] = ()
    decisions: tuple[DecisionRecorded, ...] = ()
    escalated_to: tuple[Approver, ...] = ()
    escalations: int = 0
    delegated: tuple[Delegated, ...] = ()
    late: int = 0
    closed: WaitClosed | None = None

    @property
    def is_open(self) -> bool:
        """True while somebody may still speak."""
        return self.closed is None


def evolve_wait(wait: Wait | None, event: AnyWaitEvent) -> Wait | None:
    """Apply one stored event to the state of a wait."""
    match event:
        case WaitOpened():
            return _opened(event)
        case _ if wait is None:
            return None
        case DecisionRecorded():
            return _with(wait, decisions=(*wait.decisions, event))
        case WaitEdited():
            edit = Edit(
                subject=event.subject, digest=event.digest, arguments=event.arguments, note=event.note, at=event.at
            )
            edits = (*wait.edits, edit)
            return _with(wait, edits=edits, arguments=event.arguments, digest=event.digest, decisions=())
        case WaitEscalated():
            return _with(wait, escalations=event.step, escalated_to=(*wait.escalated_to, *event.to))
        case WaitDelegated():
            delegated = Delegated(subject=event.subject, to=event.to, until=event.until)
            return _with(wait, delegated=(*wait.delegated, delegated))
        case WaitClosed():
            return _with(wait, closed=event)
        case AnswerCameLate():
            return _with(wait, late=wait.late + 1)
        case _:
            assert_never(event)


def _with(wait: Wait, **changes: object) -> Wait:
    return wait.model_copy(update=changes)


def _opened(event: WaitOpened) -> Wait:
    return Wait(
        id=event.wait_id,
        call_id=event.call_id,
        kind=event.wait_kind,
        execution_id=event.execution_id,
        tool=event.tool,
        tool_scope=event.tool_scope,
        tool_version=event.tool_version,
        definition_hash=event.definition_hash,
        terms=event.terms,
        arguments=event.arguments,
        proposed=event.arguments,
        setup=event.setup,
        secrets=event.secrets,
        digest=event.digest,
        requester=event.requester,
        deadline_at=event.deadline_at,
        labels=event.labels,
        approval=event.approval,
        ask_user=event.ask_user,
        is_from_server=event.is_from_server,
        answers=event.answers,
        webhook=event.webhook,
        attempt=event.attempt,
        error=event.error,
        expires_at=event.expires_at,
        opened_at=event.at,
    )


class Grant(Message):
    """State of one standing grant."""

    id: str
    tool: str
    scope: str | None = None
    definition_hash: str | None = None
    uses: int
    until: datetime
    condition: str | None
    subject: str
    roles: tuple[str, ...]
    key_id: str | None
    note: str
    given_at: datetime
    used_by: tuple[str, ...] = ()
    revoked_at: datetime | None = None

    def left(self, now: datetime) -> int:
        """How many calls it still agrees to."""
        return 0 if self.revoked_at is not None or now >= self.until else max(0, self.uses - len(self.used_by))


def evolve_grant(grant: Grant | None, event: AnyGrantEvent) -> Grant | None:
    """Apply one stored event to the state of a grant."""
    match event:
        case GrantGiven():
            return Grant(
                id=event.grant_id,
                tool=event.tool,
                scope=event.scope,
                definition_hash=event.definition_hash,
                uses=event.uses,
                until=event.until,
                condition=event.condition,
                subject=event.subject,
                roles=event.roles,
                key_id=event.key_id,
                note=event.note,
                given_at=event.at,
            )
        case GrantUsed():
            return grant and grant.model_copy(update={"used_by": (*grant.used_by, event.wait_id)})
        case GrantRevoked():
            return grant and grant.model_copy(update={"revoked_at": event.at})
        case _:
            assert_never(event)


class Delegation(Message):
    """State of one delegation."""

    id: str
    subject: str
    roles: tuple[str, ...]
    to: str
    until: datetime
    note: str
    given_at: datetime
    revoked_at: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """True while the other may decide."""
        return self.revoked_at is None and now < self.until


def evolve_delegation(delegation: Delegation | None, event: AnyDelegationEvent) -> Delegation | None:
    """Apply one stored event to the state of a delegation."""
    match event:
        case DelegationGiven():
            return Delegation(
                id=event.delegation_id,
                subject=event.subject,
                roles=event.roles,
                to=event.to,
                until=event.until,
                note=event.note,
                given_at=event.at,
            )
        case DelegationRevoked():
            return delegation and delegation.model_copy(update={"revoked_at": event.at})
        case _:
            assert_never(event)
