"""What people see of waits, grants and delegations."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from toolbus_contracts.calls import CallError
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval, AskUser, JsonObject, Terms
from toolbus_contracts.values import Json, Message
from toolbus_contracts.waits.events import DecisionRecorded, WaitKind, WaitOutcome
from toolbus_contracts.waits.state import Delegation, Edit, Grant, Wait


class WaitDetail(Message):
    """A wait as people see it; `proposed` are the arguments of the call before anybody changed them."""

    id: str
    call_id: str
    kind: WaitKind
    status: Literal["open", "closed"]
    outcome: WaitOutcome | None
    execution_id: str
    tool: str
    tool_version: int | None
    definition_hash: str
    contract: Terms
    arguments: Json = None
    proposed: Json = None
    setup: JsonObject = Field(default_factory=dict, description="what is stored for the call, under the digest too")
    secrets: dict[str, int] = Field(default_factory=dict, description="generations of the secrets that it would use")
    digest: str
    requester: Actor
    labels: dict[str, str]
    approval: Approval | None
    ask_user: AskUser | None
    is_from_server: bool = Field(False, description="the server of the attempt asks, and is answered itself")
    answers: JsonObject = Field(default_factory=dict, description="what the server is told, under the digest too")
    attempt: int
    error: CallError | None
    edits: tuple[Edit, ...]
    decisions: tuple[DecisionRecorded, ...]
    may_decide: tuple[str, ...] = Field(description="roles and subjects that were asked, escalations included")
    late: int = Field(description="how many spoke when it was over")
    opened_at: datetime
    expires_at: datetime | None
    closed_at: datetime | None
    note: str


def view_wait(wait: Wait) -> WaitDetail:
    """Show a wait."""
    approvers = wait.approval.approvers if wait.approval else ()
    return WaitDetail(
        id=wait.id,
        call_id=wait.call_id,
        kind=wait.kind,
        status="open" if wait.is_open else "closed",
        outcome=wait.closed.outcome if wait.closed else None,
        execution_id=wait.execution_id,
        tool=wait.tool,
        tool_version=wait.tool_version,
        definition_hash=wait.definition_hash,
        contract=wait.terms,
        arguments=wait.arguments,
        proposed=wait.proposed,
        setup=wait.setup,
        secrets=wait.secrets,
        digest=wait.digest,
        requester=wait.requester,
        labels=wait.labels,
        approval=wait.approval,
        ask_user=wait.ask_user,
        is_from_server=wait.is_from_server,
        answers=wait.answers,
        attempt=wait.attempt,
        error=wait.closed.error if wait.closed and wait.closed.error else wait.error,
        edits=wait.edits,
        decisions=wait.decisions,
        may_decide=(*approvers, *wait.escalated_to),
        late=wait.late,
        opened_at=wait.opened_at,
        expires_at=wait.expires_at,
        closed_at=wait.closed.at if wait.closed else None,
        note=wait.closed.note if wait.closed else "",
    )


class GrantView(Message):
    """A standing grant as people see it."""

    id: str
    tool: str
    scope: str | None = None
    definition_hash: str | None = None
    uses: int
    left: int
    until: datetime
    condition: str | None = Field(alias="while")
    subject: str
    note: str
    given_at: datetime
    revoked_at: datetime | None


def view_grant(grant: Grant, now: datetime) -> GrantView:
    """Show a grant."""
    return GrantView.model_validate(
        {
            "id": grant.id,
            "tool": grant.tool,
            "scope": grant.scope,
            "definition_hash": grant.definition_hash,
            "uses": grant.uses,
            "left": grant.left(now),
            "until": grant.until,
            "while": grant.condition,
            "subject": grant.subject,
            "note": grant.note,
            "given_at": grant.given_at,
            "revoked_at": grant.revoked_at,
        }
    )


class DelegationView(Message):
    """A delegation as people see it."""

    id: str
    subject: str
    to: str
    until: datetime
    note: str
    given_at: datetime
    revoked_at: datetime | None


def view_delegation(delegation: Delegation) -> DelegationView:
    """Show a delegation."""
    return DelegationView(**delegation.model_dump(exclude={"roles"}))


class LeasedCall(Message):
    """A function call that a worker holds until then; `lease_id` keeps and releases it, `token` completes it."""

    wait_id: str
    call_id: str
    lease_id: str
    tool: str
    arguments: Json
    token: str
    leased_until: datetime
    expires_at: datetime
    attempt: int = Field(description="how often it was leased, this time included")


class LeaseView(Message):
    """Until when a worker holds a function call."""

    wait_id: str
    lease_id: str
    leased_until: datetime


class Simulated(Message):
    """Who would have to approve a call."""

    needs_approval: bool
    approval: Approval | None
    may_decide: tuple[str, ...]
    grants: tuple[GrantView, ...] = Field(description="standing grants that would speak for their givers")
