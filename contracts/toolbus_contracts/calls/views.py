"""What people and clients see of a call."""

from datetime import datetime
from typing import Literal, assert_never

from toolbus_contracts.calls.commands import CallError
from toolbus_contracts.calls.leave import Standing
from toolbus_contracts.calls.state import Call
from toolbus_contracts.calls.statuses import CallStatus
from toolbus_contracts.digests import effect_digest
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Terms, ToolType
from toolbus_contracts.values import Json, Message


class WaitView(Message):
    """What a standing call waits for."""

    id: str
    kind: Literal["approval", "function", "input"]
    digest: str
    since: datetime
    expires_at: datetime


class CallView(Message):
    """A call as people see it. `why` tells what an open call waits for now, with the numbers."""

    id: str
    tool: str
    tool_version: int | None
    type: ToolType | None
    status: CallStatus
    execution_id: str
    external_id: str | None
    arguments: Json = None
    output: Json = None
    error: CallError | None
    attempt: int
    contract: Terms
    digest: str | None
    definition_hash: str | None
    labels: dict[str, str]
    actor: Actor
    requested_at: datetime
    finished_at: datetime | None
    retry_at: datetime | None = None
    is_effect_doubled: bool = False
    wait: WaitView | None = None
    why: str | None


def call_digest(tenant: str, call: Call, arguments: Json = None) -> str | None:
    """Digest of what can change the effect of a call, perhaps with other arguments; see `effect_digest`."""
    if call.definition_hash is None:
        return None
    return effect_digest(
        tenant=tenant,
        call_id=call.id,
        definition_hash=call.definition_hash,
        arguments=call.arguments if arguments is None else arguments,
        on_behalf_of=call.actor.on_behalf_of,
        deadline_at=call.deadline_at,
        setup=call.setup,
        secrets=call.secrets,
        answers=None if call.continued is None else call.continued.given,
    )


def explain(call: Call, now: datetime, held: str | None = None) -> str | None:
    """
    Tell a person why an open call is not done yet, with the numbers; nothing for a call that ended.

    `held` is what keeps a call from being given to an executor, as far as the dispatcher that is asked knows.
    """
    match call.status:
        case "requested":
            return f"accepted {_ago(call.requested_at, now)} ago; {held or 'about to be given to an executor'}"
        case "retrying":
            return _retrying(call, now, held)
        case "dispatched":
            since = call.dispatched_at or call.requested_at
            told = f"attempt {call.attempt} waits for a free {call.tool_type} executor since {_ago(since, now)}"
            return told + f", or runs there (at most {call.timeout_s:g} s)"
        case "running":
            stop_by = call.start.stop_by if call.start else now
            left_s = max(0.0, (stop_by - now).total_seconds())
            told = f"attempt {call.attempt} runs and is stopped in {left_s:.1f} s at the latest"
            return told + ("; asked to stop" if call.is_cancel_requested else "")
        case "in_doubt":
            known = call.error.message if call.error else "nothing is known"
            told = f"attempt {call.attempt} may or may not have had its effect: {known}"
            if call.probe is not None and call.probe_at is not None:
                return f"{told}; {call.probe.tool} is asked in {_until(call.probe_at, now)}"
            return f"{told}; settle it"
        case "waiting":
            return _standing(call, now)
        case _:
            return None


def _standing(call: Call, now: datetime) -> str:
    """For whom it stands still, and for how much longer."""
    wait = call.wait
    if wait is None:
        return f"waiting since {_ago(call.requested_at, now)}"
    match wait.kind:
        case "approval":
            told = f"waits for {_approval(call)}"
        case "input":
            fields = ", ".join(call.form.fields) if call.form else "values"
            told = f"waits for a person to supply {fields}"
        case "function":
            told = f"waits for a client to carry out {call.tool}"
        case _:
            assert_never(wait.kind)
    return f"{told} since {_ago(wait.since, now)}, expires in {_until(wait.expires_at, now)}"


def _approval(call: Call) -> str:
    rule = call.approval
    if rule is None:
        return "approval"
    quorum = f"{rule.quorum} approvals" if rule.quorum > 1 else "approval"
    by = f" by {', '.join(rule.approvers)}" if rule.approvers else ""
    return f"{quorum}{by}"


def _retrying(call: Call, now: datetime, held: str | None) -> str:
    failed = f"attempt {call.tries} of {call.retry.attempts} came to nothing"
    if not call.tries:
        failed = "its server wants to be called again"
    why = f" ({call.error.message})" if call.error else ""
    due_at = call.retry_at or now
    if due_at <= now and held is not None:
        return f"{failed}{why}; the next one is due and {held}"
    return f"{failed}{why}; the next one is due in {_until(due_at, now)}"


def _until(due_at: datetime, now: datetime) -> str:
    return f"{max(0.0, (due_at - now).total_seconds()):.1f} s"


def _ago(since: datetime, now: datetime) -> str:
    return f"{max(0.0, (now - since).total_seconds()):.1f} s"


def view_call(call: Call, *, tenant: str, now: datetime, held: str | None = None) -> CallView:
    """Show a call to a person or a client; `held` as in `explain`."""
    return CallView(
        id=call.id,
        tool=call.tool,
        tool_version=call.tool_version,
        type=call.tool_type,
        status=call.status,
        execution_id=call.execution_id,
        external_id=call.external_id,
        arguments=call.arguments,
        output=call.output,
        error=call.error,
        attempt=call.attempt,
        contract=call.terms,
        digest=call_digest(tenant, call),
        definition_hash=call.definition_hash,
        labels=call.labels,
        actor=call.actor,
        requested_at=call.requested_at,
        finished_at=call.finished_at,
        retry_at=call.retry_at if call.status == "retrying" else None,
        is_effect_doubled=call.is_effect_doubled,
        wait=_view_wait(call.wait),
        why=explain(call, now, held),
    )


def _view_wait(wait: Standing | None) -> WaitView | None:
    if wait is None:
        return None
    return WaitView(id=wait.wait_id, kind=wait.kind, digest=wait.digest, since=wait.since, expires_at=wait.expires_at)
