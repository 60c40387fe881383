"""Events of waits, grants and delegations."""

from datetime import datetime
from functools import partial
from operator import is_, not_
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from toolbus_contracts.calls import CallError
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval, Approver, AskUser, FunctionWebhook, JsonObject, Terms
from toolbus_contracts.values import Json, Message

WaitKind = Literal["approval", "function", "input", "doubt"]
WaitOutcome = Literal["approved", "denied", "answered", "completed", "failed", "expired", "withdrawn"]


class WaitOpened(Message):
    """
    A call stands still for somebody.

    `digest` is that of what would run now. `error` and `attempt` tell of a doubt what is known. A doubt has no
    end of its own; every other wait closes at `expires_at`. `is_from_server`: the server of that attempt asks before
    it goes on, and is answered itself. `answers` is what a server was told, or will be, once somebody has agreed.
    """

    kind: Literal["wait.opened.v1"] = "wait.opened.v1"
    wait_id: str
    call_id: str
    wait_kind: WaitKind
    execution_id: str
    tool: str
    tool_scope: str | None
    tool_version: int | None
    definition_hash: str
    terms: Terms
    arguments: Json
    setup: JsonObject = Field(default_factory=dict, exclude_if=not_)
    secrets: dict[str, int] = Field(default_factory=dict, exclude_if=not_, description="their generations, by name")
    digest: str
    requester: Actor
    deadline_at: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    approval: Approval | None = None
    ask_user: AskUser | None = None
    is_from_server: bool = Field(False, exclude_if=not_)
    answers: JsonObject = Field(default_factory=dict, exclude_if=not_)
    webhook: FunctionWebhook | None = None
    attempt: int = 0
    error: CallError | None = None
    expires_at: datetime | None
    at: datetime


class DecisionRecorded(Message):
    """
    A person agreed to what the digest stands for, or said no.

    `acting_for` is who delegated to this person; `grant_id` the standing grant whose giver is `subject`.
    """

    kind: Literal["wait.decision_recorded.v1"] = "wait.decision_recorded.v1"
    wait_id: str
    decision: Literal["approve", "deny"]
    digest: str
    subject: str
    key_id: str | None
    acting_for: str | None = None
    grant_id: str | None = None
    note: str = ""
    at: datetime


class WaitEdited(Message):
    """A person changed the arguments: what was decided before speaks of other ones and is void."""

    kind: Literal["wait.edited.v1"] = "wait.edited.v1"
    wait_id: str
    arguments: Json
    digest: str
    subject: str
    key_id: str | None
    note: str = ""
    at: datetime


class WaitEscalated(Message):
    """Nobody had decided for so long that these may decide as well; `step` counts from 1."""

    kind: Literal["wait.escalated.v1"] = "wait.escalated.v1"
    wait_id: str
    step: int
    to: tuple[Approver, ...]
    at: datetime


class WaitDelegated(Message):
    """`subject` lets `to` decide this wait in their place until then."""

    kind: Literal["wait.delegated.v1"] = "wait.delegated.v1"
    wait_id: str
    subject: str
    key_id: str | None
    to: str
    until: datetime
    at: datetime


class WaitClosed(Message):
    """
    The wait is over, once and for all.

    `arguments` are the ones to go on with where a person changed or completed them; `answers` are for the server that
    asked. `output` or `error` is what a client's function came to. `by` are all persons whose word counted.
    `withdrawn`: the call needs it no more.
    """

    kind: Literal["wait.closed.v1"] = "wait.closed.v1"
    wait_id: str
    call_id: str
    wait_kind: WaitKind
    outcome: WaitOutcome
    digest: str
    arguments: Json = None
    answers: JsonObject | None = Field(None, exclude_if=partial(is_, None))
    output: Json = None
    error: CallError | None = None
    by: tuple[str, ...] = ()
    note: str = ""
    at: datetime


class AnswerCameLate(Message):
    """Somebody spoke when the wait was over: on the record, and without effect."""

    kind: Literal["wait.answer_came_late.v1"] = "wait.answer_came_late.v1"
    wait_id: str
    said: Literal["approve", "deny", "answer", "complete"]
    subject: str
    key_id: str | None
    note: str = ""
    at: datetime


class GrantGiven(Message):
    """The next calls of a tool are agreed to beforehand: so many, until then, while the condition holds."""

    kind: Literal["grant.given.v1"] = "grant.given.v1"
    grant_id: str
    tool: str
    scope: str | None = Field(None, description="where the tool is defined; absent: anywhere")
    definition_hash: str | None = Field(None, description="what the tool is; absent: whatever it is by then")
    uses: int
    until: datetime
    condition: str | None
    subject: str
    roles: tuple[str, ...]
    key_id: str | None
    note: str
    at: datetime


class GrantUsed(Message):
    """The grant spoke for its giver in one wait."""

    kind: Literal["grant.used.v1"] = "grant.used.v1"
    grant_id: str
    wait_id: str
    at: datetime


class GrantRevoked(Message):
    """The grant agrees to nothing any more."""

    kind: Literal["grant.revoked.v1"] = "grant.revoked.v1"
    grant_id: str
    subject: str
    at: datetime


class DelegationGiven(Message):
    """`subject` lets `to` decide in their place, in every wait, until then."""

    kind: Literal["delegation.given.v1"] = "delegation.given.v1"
    delegation_id: str
    subject: str
    roles: tuple[str, ...]
    key_id: str | None
    to: str
    until: datetime
    note: str
    at: datetime


class DelegationRevoked(Message):
    """Nobody decides in their place any more."""

    kind: Literal["delegation.revoked.v1"] = "delegation.revoked.v1"
    delegation_id: str
    subject: str
    at: datetime


AnyWaitEvent: TypeAlias = (
    WaitOpened | DecisionRecorded | WaitEdited | WaitEscalated | WaitDelegated | WaitClosed | AnswerCameLate
)
WaitEvent: TypeAlias = Annotated[AnyWaitEvent, Field(discriminator="kind")]
wait_events: TypeAdapter[AnyWaitEvent] = TypeAdapter(WaitEvent)

AnyGrantEvent: TypeAlias = GrantGiven | GrantUsed | GrantRevoked
GrantEvent: TypeAlias = Annotated[AnyGrantEvent, Field(discriminator="kind")]
grant_events: TypeAdapter[AnyGrantEvent] = TypeAdapter(GrantEvent)

AnyDelegationEvent: TypeAlias = DelegationGiven | DelegationRevoked
DelegationEvent: TypeAlias = Annotated[AnyDelegationEvent, Field(discriminator="kind")]
delegation_events: TypeAdapter[AnyDelegationEvent] = TypeAdapter(DelegationEvent)
