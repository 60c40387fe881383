"""Events of a call: what happened, in the past tense. A published kind never changes its meaning."""

from datetime import datetime
from functools import partial
from operator import is_, not_
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from toolbus_contracts.calls.commands import CallError
from toolbus_contracts.calls.standing import ApprovalVoided, CallDenied, CallResumed, InputRequired, WaitAsked
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


class CallRequested(Message):
    """
    A call was accepted; from now on it reaches an end or a visible wait.

    `arguments` and `setup` hold what was stored for the call, in its `context`; `surface` belongs to a definition that
    the call brought. Of a call that somebody has to approve, `secrets` are the generations of those that it would use,
    and `stored_digest` is that of all that was stored for it, to be compared again.
    """

    kind: Literal["call.requested.v1"] = "call.requested.v1"
    call_id: str
    execution_id: str
    is_bare: bool
    tool: str
    tool_scope: str | None
    tool_version: int | None
    tool_type: ToolType
    definition_hash: str
    definition: ToolDefinition | None = Field(None, description="only when the call brought its own definition")
    terms: Terms
    timeout_s: float
    retry: Retry | None = Field(None, description="absent: the defaults")
    limits: tuple[Limit, ...] = ()
    probe: Probe | None = None
    approval: Approval | None = Field(None, description="who has to agree first")
    ask_user: AskUser | None = Field(None, description="what a person supplies first")
    webhook: FunctionWebhook | None = None
    expires_s: float | None = Field(None, description="of a function: how long its client has")
    is_pinned: bool = Field(False, description="a version was named: what the tool is meanwhile does not matter")
    arguments: Json
    setup: JsonObject = Field(default_factory=dict, exclude_if=not_)
    context: CallContext | None = Field(None, exclude_if=not_)
    surface: Surface | None = Field(None, exclude_if=not_)
    secrets: dict[str, int] = Field(default_factory=dict, exclude_if=not_)
    stored_digest: str | None = Field(None, exclude_if=partial(is_, None))
    fingerprint: str = Field(description="hash of the submitted body, to tell a repeated key from a reused one")
    idempotency_key: str | None
    external_id: str | None
    actor: Actor
    deadline_at: datetime | None
    priority: int
    labels: dict[str, str]
    at: datetime


class CallRefused(Message):
    """A rule said no; nothing was sent anywhere."""

    kind: Literal["call.refused.v1"] = "call.refused.v1"
    actor: Actor
    call_id: str
    execution_id: str
    is_bare: bool
    tool: str
    arguments: Json
    fingerprint: str
    idempotency_key: str | None
    external_id: str | None
    labels: dict[str, str]
    error: CallError
    at: datetime


class CallDispatched(Message):
    """Attempt number `attempt` was given to the executors of `tool_type`."""

    kind: Literal["call.dispatched.v1"] = "call.dispatched.v1"
    call_id: str
    attempt: int
    tool_type: ToolType
    at: datetime


class AttemptStarted(Message):
    """An executor may make the effect: not after `start_by`, and it stops at `stop_by`."""

    kind: Literal["call.attempt_started.v1"] = "call.attempt_started.v1"
    call_id: str
    attempt: int
    start_id: str
    executor: str
    start_by: datetime
    stop_by: datetime
    at: datetime


class CallSucceeded(Message):
    """The tool answered."""

    kind: Literal["call.succeeded.v1"] = "call.succeeded.v1"
    call_id: str
    attempt: int
    executor: str
    output: Json
    duration_ms: float
    response_ms: float | None = None
    at: datetime


class CallFailed(Message):
    """The tool answered that it failed, or nothing was sent."""

    kind: Literal["call.failed.v1"] = "call.failed.v1"
    call_id: str
    attempt: int
    executor: str
    error: CallError
    duration_ms: float
    response_ms: float | None = None
    at: datetime


class AttemptFailed(Message):
    """An attempt came to nothing, and the call is tried again at `retry_at`."""

    kind: Literal["call.attempt_failed.v1"] = "call.attempt_failed.v1"
    call_id: str
    attempt: int
    executor: str
    error: CallError
    retry_at: datetime
    duration_ms: float
    response_ms: float | None = None
    at: datetime


class CancelRequested(Message):
    """Somebody wants the call stopped while its attempt may already have had its effect."""

    kind: Literal["call.cancel_requested.v1"] = "call.cancel_requested.v1"
    call_id: str
    attempt: int | None = Field(None, description="the attempt that is to be stopped; absent: the present one")
    reason: str
    at: datetime


class CallCancelled(Message):
    """The call was stopped before any effect."""

    kind: Literal["call.cancelled.v1"] = "call.cancelled.v1"
    call_id: str
    reason: str
    at: datetime


class CallExpired(Message):
    """The deadline passed before any effect, or (`wait_id`) nobody spoke in time for whom it stood still."""

    kind: Literal["call.expired.v1"] = "call.expired.v1"
    call_id: str
    wait_id: str | None = None
    at: datetime


class CallInDoubt(Message):
    """The effect may or may not have happened; nobody guesses. A tool's probe is asked at `probe_at`."""

    kind: Literal["call.in_doubt.v1"] = "call.in_doubt.v1"
    call_id: str
    attempt: int
    error: CallError
    probe_at: datetime | None = None
    at: datetime


class DoubtProbed(Message):
    """A probe was asked what happened; the event that follows in the same append carries the state, if it was clear."""

    kind: Literal["call.doubt_probed.v1"] = "call.doubt_probed.v1"
    call_id: str
    attempt: int
    probe_call_id: str
    verdict: Literal["happened", "not_happened", "unclear"]
    note: str
    at: datetime


class DoubtSettled(Message):
    """A person said what happened: an end follows in the same append, or (`retry`) another attempt is due at once."""

    kind: Literal["call.doubt_settled.v1"] = "call.doubt_settled.v1"
    call_id: str
    attempt: int
    outcome: Literal["succeeded", "failed", "retry"]
    note: str
    at: datetime


class EffectDoubled(Message):
    """
    An attempt that was held for lost had its effect after all, and a later one was started meanwhile.

    `attempt` is the one whose answer came; `later_attempt` may have had the effect a second time. Both
    have to be looked at in the system that was called.
    """

    kind: Literal["call.effect_doubled.v1"] = "call.effect_doubled.v1"
    call_id: str
    attempt: int
    later_attempt: int
    at: datetime


AnyCallEvent: TypeAlias = (
    CallRequested
    | CallRefused
    | WaitAsked
    | CallResumed
    | InputRequired
    | CallDenied
    | ApprovalVoided
    | CallDispatched
    | AttemptStarted
    | CallSucceeded
    | CallFailed
    | AttemptFailed
    | CancelRequested
    | CallCancelled
    | CallExpired
    | CallInDoubt
    | DoubtProbed
    | DoubtSettled
    | EffectDoubled
)
CallEvent: TypeAlias = Annotated[AnyCallEvent, Field(discriminator="kind")]
call_events: TypeAdapter[AnyCallEvent] = TypeAdapter(CallEvent)
TERMINAL_KINDS = frozenset(
    {
        "call.refused.v1",
        "call.denied.v1",
        "call.approval_voided.v1",
        "call.succeeded.v1",
        "call.failed.v1",
        "call.cancelled.v1",
        "call.expired.v1",
    }
)
