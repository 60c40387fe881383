"""Tell who would have to approve a call; nothing is recorded."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from toolbus_approvals.core.grants import would_count
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval, ToolVersion
from toolbus_contracts.waits import Grant, Simulated, SimulateWait, Spoken, Wait, view_grant


def approval_of(version: ToolVersion) -> Approval | None:
    """Who has to agree to a call of this tool: whom it names, else anybody when what it does is dangerous."""
    if version.definition.approval is not None:
        return version.definition.approval
    return Approval() if version.terms.effect == "dangerous" else None


def simulate(
    version: ToolVersion,
    who: Spoken,
    grants: Iterable[Grant],
    now: datetime,
    *,
    command: SimulateWait,
) -> Simulated:
    """Who would have to approve this call, were it asked for by this person, and which grants would speak."""
    approval = approval_of(version)
    if approval is None:
        return Simulated(needs_approval=False, approval=None, may_decide=(), grants=())
    wait = _wait(version, approval, who, command=command, now=now)
    return Simulated(
        needs_approval=True,
        approval=approval,
        may_decide=approval.approvers,
        grants=tuple(view_grant(grant, now) for grant in grants if would_count(grant, wait, now)),
    )


def _wait(version: ToolVersion, approval: Approval, who: Spoken, *, command: SimulateWait, now: datetime) -> Wait:
    """The wait that such a call would stand still for."""
    return Wait(
        id="",
        call_id="",
        kind="approval",
        execution_id="",
        tool=version.definition.name,
        tool_scope=version.scope,
        tool_version=None,
        definition_hash=version.definition_hash,
        terms=version.terms,
        arguments=command.arguments,
        proposed=command.arguments,
        digest="",
        requester=Actor(subject=who.subject, key_id=who.key_id, via="http", on_behalf_of=command.on_behalf_of),
        labels={},
        approval=approval,
        expires_at=now + timedelta(seconds=approval.expires_s),
        opened_at=now,
    )
