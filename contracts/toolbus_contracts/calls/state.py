"""State of a call: the fold over its events."""

from datetime import datetime
from typing import assert_never

from pydantic import Field

from toolbus_contracts.calls.asking import Asked, Continued, asked_next
from toolbus_contracts.calls.commands import CallError, EffectHappened
from toolbus_contracts.calls.events import (
    AnyCallEvent,
    AttemptFailed,
    AttemptStarted,
    CallCancelled,
    CallDispatched,
    CallExpired,
    CallFailed,
    CallInDoubt,
    CallRefused,
    CallRequested,
    CallSucceeded,
    CancelRequested,
    DoubtProbed,
    DoubtSettled,
    EffectDoubled,
)
from toolbus_contracts.calls.leave import Approved, Standing, Start
from toolbus_contracts.calls.standing import ApprovalVoided, CallDenied, CallResumed, InputRequired, WaitAsked
from toolbus_contracts.calls.statuses import TERMINAL, CallStatus
from toolbus_contracts.keys import Actor
from toolbus_contracts.stored import CallContext
from toolbus_contracts.tools import (
    Approval,
    AskUser,
    FunctionWebhook,
    JsonObject,
    Limit,
    Probe,
    Retry,
    Surface,
    Terms,
    ToolDefinition,
    ToolType,
)
from toolbus_contracts.values import Json, Message


class Call(Message):
    """State of one call, folded from its events."""

    id: str
    status: CallStatus
    tool: str
    tool_scope: str | None = None
    tool_version: int | None = None
    tool_type: ToolType | None = None
    execution_id: str
    is_bare: bool
    external_id: str | None
    idempotency_key: str | None
    actor: Actor
    fingerprint: str
    definition_hash: str | None = None
    definition: ToolDefinition | None = None
    terms: Terms = Terms()
    timeout_s: float = 0.0
    retry: Retry = Retry()
    limits: tuple[Limit, ...] = ()
    probe: Probe | None = None
    approval: Approval | None = None
    ask_user: AskUser | None = None
    webhook: FunctionWebhook | None = None
    expires_s: float | None = None
    is_pinned: bool = False
    waits: int = Field(0, description="how many it has stood still for so far")
    wait: Standing | None = None
    approved: Approved | None = None
    has_input: bool = Field(False, description="a person has supplied what `ask_user` asks for")
    asked: Asked | None = Field(None, description="what the server of an attempt wanted to know")
    arguments: Json
    setup: JsonObject = Field(default_factory=dict)
    context: CallContext | None = None
    surface: Surface | None = None
    secrets: dict[str, int] = Field(default_factory=dict)
    stored_digest: str | None = None
    output: Json = None
    error: CallError | None = None
    attempt: int = 0
    effect_before: EffectHappened = Field("no", description="what is known of the effect of attempts that are over")
    start: Start | None = None
    is_cancel_requested: bool = False
    is_effect_doubled: bool = False
    labels: dict[str, str]
    priority: int = 5
    deadline_at: datetime | None = None
    requested_at: datetime
    dispatched_at: datetime | None = None
    retry_at: datetime | None = None
    probe_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def needs_start(self) -> bool:
        """True when an executor asks before it sends: not to be repeated, approved, or a rate counts when it begins."""
        return (
            self.approved is not None
            or not self.terms.is_safe_to_repeat
            or any(limit.rate is not None for limit in self.limits)
        )

    @property
    def form(self) -> AskUser | None:
        """What a person is asked for: by the server that has begun, before that by the tool."""
        return self.asked.wanted.form if self.asked is not None and self.asked.is_open else self.ask_user

    @property
    def continued(self) -> Continued | None:
        """What the next attempt brings along to the server that has begun."""
        return None if self.asked is None or self.asked.is_open else self.asked.continued

    @property
    def tries(self) -> int:
        """Attempts that count against its retries: one whose server wanted to know more did not fail."""
        return self.attempt - (self.asked.round if self.asked is not None else 0)

    @property
    def is_terminal(self) -> bool:
        """True when nothing can happen to the call any more."""
        return self.status in TERMINAL


def evolve_call(call: Call | None, event: AnyCallEvent) -> Call | None:
    """Apply one stored event to the state of a call."""
    match event:
        case CallRequested():
            return _requested(event)
        case CallRefused():
            return _refused(event)
        case _ if call is None:
            return None  # a stream cut at its head; nothing can be told of it
        case CallDispatched():  # what happens to most calls comes first: each class that it is not costs a look
            return _dispatched(call, event)
        case CallSucceeded():
            return _with(call, status="succeeded", output=event.output, error=None, wait=None, finished_at=event.at)
        case AttemptStarted():
            return _with(call, status="running", start=_start(event))
        case WaitAsked() | CallResumed() | CallDenied() | ApprovalVoided() | InputRequired():
            return _stood(call, event)
        case CallFailed():
            return _with(call, status="failed", error=event.error, wait=None, finished_at=event.at)
        case AttemptFailed() | DoubtSettled(outcome="retry"):
            return _retrying(call, event)
        case CancelRequested():
            return _with(call, is_cancel_requested=True)
        case CallCancelled():
            error = _ended(call, "cancelled", event.reason)
            return _with(call, status="cancelled", error=error, wait=None, finished_at=event.at)
        case CallExpired():
            error = _ended(call, "deadline_passed" if event.wait_id is None else "wait_expired", "")
            return _with(call, status="expired", error=error, wait=None, finished_at=event.at)
        case CallInDoubt():
            return _with(call, status="in_doubt", error=event.error, probe_at=event.probe_at)
        case DoubtProbed():
            return _with(call, probe_at=None)
        case DoubtSettled():
            return call  # the event that follows it in the same append carries the state
        case EffectDoubled():
            return _with(call, is_effect_doubled=True)
        case _:
            assert_never(event)


def _stood(call: Call, event: WaitAsked | CallResumed | CallDenied | ApprovalVoided | InputRequired) -> Call:
    """What comes of standing still for somebody."""
    match event:
        case WaitAsked():
            return _with(call, status="waiting", waits=event.number, wait=_standing(event))
        case CallResumed():
            return _resumed(call, event)
        case CallDenied():
            return _with(call, status="denied", error=event.error, wait=None, finished_at=event.at)
        case ApprovalVoided():
            return _with(call, status="refused", error=event.error, wait=None, finished_at=event.at)
        case InputRequired():
            asked = asked_next(call.asked, event.asked)
            return _with(call, status="requested", asked=asked, start=None, error=None, probe_at=None)
        case _:
            assert_never(event)


def _start(event: AttemptStarted) -> Start:
    return Start(attempt=event.attempt, start_id=event.start_id, start_by=event.start_by, stop_by=event.stop_by)


def _standing(event: WaitAsked) -> Standing:
    wait_id, kind, digest = event.wait_id, event.wait_kind, event.digest
    return Standing(wait_id=wait_id, kind=kind, digest=digest, since=event.at, expires_at=event.expires_at)


def _resumed(call: Call, event: CallResumed) -> Call:
    """It goes on as it was accepted, with what the person said."""
    changes: dict[str, object] = {"status": "requested", "wait": None}
    if event.arguments is not None:
        changes["arguments"] = event.arguments
    if event.wait_kind == "approval":
        changes["approved"] = Approved(wait_id=event.wait_id, digest=event.digest, by=event.by)
    elif event.answers is not None and call.asked is not None:  # whoever agreed before did not know them
        changes |= {"asked": call.asked.model_copy(update={"answers": event.answers}), "approved": None}
    else:
        changes["has_input"] = True
    return _with(call, **changes)


def _dispatched(call: Call, event: CallDispatched) -> Call:
    """A new attempt: who asked for the one before to be stopped did not speak of this one."""
    changes = {"attempt": event.attempt, "dispatched_at": event.at, "error": None, "start": None, "retry_at": None}
    return _with(call, status="dispatched", is_cancel_requested=False, **changes)


def _retrying(call: Call, event: AttemptFailed | DoubtSettled) -> Call:
    """Another attempt is due. What the last one may have done stands, unless it was a read."""
    happened: EffectHappened = "unknown"
    changes: dict[str, object] = {"retry_at": event.at, "probe_at": None}
    if isinstance(event, AttemptFailed):
        happened, changes = event.error.effect_happened, {"retry_at": event.retry_at, "error": event.error}
    if happened != "no" and call.effect_before != "yes" and call.terms.effect != "read":
        changes["effect_before"] = happened
    return _with(call, status="retrying", start=None, **changes)


def _with(call: Call, **changes: object) -> Call:
    return call.model_copy(update=changes)


def _ended(call: Call, code: str, reason: str) -> CallError:
    words = {
        "cancelled": "the call was cancelled",
        "deadline_passed": "the deadline passed before the call was done",
        "wait_expired": "nobody answered in time",
    }
    told = words[code] + (f": {reason}" if reason else "")
    return CallError(code=code, message=told, effect_happened=call.effect_before)


def _requested(event: CallRequested) -> Call:
    return Call(
        id=event.call_id,
        status="requested",
        tool=event.tool,
        tool_scope=event.tool_scope,
        tool_version=event.tool_version,
        tool_type=event.tool_type,
        execution_id=event.execution_id,
        is_bare=event.is_bare,
        external_id=event.external_id,
        idempotency_key=event.idempotency_key,
        actor=event.actor,
        fingerprint=event.fingerprint,
        definition_hash=event.definition_hash,
        definition=event.definition,
        terms=event.terms,
        timeout_s=event.timeout_s,
        retry=event.retry or Retry(),
        limits=event.limits,
        probe=event.probe,
        approval=event.approval,
        ask_user=event.ask_user,
        webhook=event.webhook,
        expires_s=event.expires_s,
        is_pinned=event.is_pinned,
        arguments=event.arguments,
        setup=event.setup,
        context=event.context,
        surface=event.surface,
        secrets=event.secrets,
        stored_digest=event.stored_digest,
        labels=event.labels,
        priority=event.priority,
        deadline_at=event.deadline_at,
        requested_at=event.at,
    )


def _refused(event: CallRefused) -> Call:
    return Call(
        id=event.call_id,
        status="refused",
        actor=event.actor,
        tool=event.tool,
        execution_id=event.execution_id,
        is_bare=event.is_bare,
        external_id=event.external_id,
        idempotency_key=event.idempotency_key,
        fingerprint=event.fingerprint,
        arguments=event.arguments,
        error=event.error,
        labels=event.labels,
        requested_at=event.at,
        finished_at=event.at,
    )
