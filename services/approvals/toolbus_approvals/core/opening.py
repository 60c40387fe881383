"""Decide which wait is opened for a call that stands still, or is in doubt."""

from datetime import datetime

from toolbus_contracts.calls import Call, call_digest
from toolbus_contracts.digests import effect_digest, wait_id_for_call
from toolbus_contracts.tools import Approval
from toolbus_contracts.values import Json
from toolbus_contracts.waits import AnyWaitEvent, Wait, WaitKind, WaitOpened

FIRST_DOUBT = 1000  # a call has fewer waits than that: the numbers of its doubts never meet theirs


def doubt_id(call_id: str, attempt: int) -> str:
    """The id of the wait that shows a doubt about this attempt."""
    return wait_id_for_call(call_id, FIRST_DOUBT + attempt)


def digest_with(wait: Wait, tenant: str, arguments: Json) -> str:
    """Digest of what would run if the call went on with these arguments; see `effect_digest`."""
    return effect_digest(
        tenant=tenant,
        call_id=wait.call_id,
        definition_hash=wait.definition_hash,
        arguments=arguments,
        on_behalf_of=wait.requester.on_behalf_of,
        deadline_at=wait.deadline_at,
        setup=wait.setup,
        secrets=wait.secrets,
        answers=wait.answers,
    )


def open_for_call(call: Call, tenant: str, *, now: datetime) -> WaitOpened | None:
    """The wait that a call stands still for; none when it does so no more, since it ended or goes on."""
    standing = call.wait
    if standing is None:
        return None
    opened = _opened(call, tenant, standing.kind, now=now)
    return opened.model_copy(
        update={"wait_id": standing.wait_id, "digest": standing.digest, "expires_at": standing.expires_at}
    )


def open_for_doubt(call: Call, tenant: str, *, now: datetime) -> WaitOpened | None:
    """The wait that shows a doubt to people; none when it was settled meanwhile."""
    return _opened(call, tenant, "doubt", now=now) if call.status == "in_doubt" else None


def _opened(call: Call, tenant: str, kind: WaitKind, *, now: datetime) -> WaitOpened:
    return WaitOpened(
        wait_id=doubt_id(call.id, call.attempt),
        call_id=call.id,
        wait_kind=kind,
        execution_id=call.execution_id,
        tool=call.tool,
        tool_scope=call.tool_scope,
        tool_version=call.tool_version,
        definition_hash=call.definition_hash or "",
        terms=call.terms,
        arguments=call.arguments,
        setup=call.setup,
        secrets=call.secrets,
        digest=call_digest(tenant, call) or "",
        requester=call.actor,
        deadline_at=call.deadline_at,
        labels=call.labels,
        approval=_approval(call) if kind == "approval" else None,
        ask_user=call.form if kind == "input" else None,
        is_from_server=kind == "input" and call.asked is not None,
        answers=call.continued.given if kind == "approval" and call.continued is not None else {},
        webhook=call.webhook if kind == "function" else None,
        attempt=call.attempt,
        error=call.error if kind == "doubt" else None,
        expires_at=None,
        at=now,
    )


def _approval(call: Call) -> Approval:
    """Who has to agree. What a server has begun with stays as it is: its questions are about these arguments."""
    found = call.approval or Approval()
    return found if call.asked is None else found.model_copy(update={"may_edit": False})


def decide_open(opened: WaitOpened | None, wait: Wait | None) -> tuple[AnyWaitEvent, ...]:
    """Open a wait; once it is there, or when there is none to open, nothing is added."""
    return () if opened is None or wait is not None else (opened,)
