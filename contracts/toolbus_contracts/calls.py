"""
Tool calls: the commands that move them, the events that tell what happened, and their state.

    requested → dispatched → running (unsafe attempts ask to start) → succeeded | failed
              ↘ refused                                             ↘ in_doubt
    cancelled and expired end a call whose unsafe attempt has not started.

Time is always an argument; what is stored has happened, so `evolve` neither refuses nor checks.
"""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints, TypeAdapter

from toolbus_contracts.digests import digest
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import JsonObject, Terms, ToolDefinition, ToolType
from toolbus_contracts.values import Json, Message

CallStatus = Literal[
    "requested",
    "waiting",
    "dispatched",
    "running",
    "retrying",
    "in_doubt",
    "succeeded",
    "failed",
    "refused",
    "denied",
    "cancelled",
    "expired",
]
TERMINAL: frozenset[CallStatus] = frozenset({"succeeded", "failed", "refused", "denied", "cancelled", "expired"})
OPEN: tuple[CallStatus, ...] = ("requested", "waiting", "dispatched", "running", "retrying", "in_doubt")
EffectHappened = Literal["no", "yes", "unknown"]

ToolRef: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}(@[1-9][0-9]{0,8})?$"),
    Field(description="name, or name@version"),
]
ExecutionId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^exec_[0-9a-f]{32}$")]
Key: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=255)]
MAX_LABELS = 32
Labels: TypeAlias = Annotated[
    dict[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$")],
        Annotated[str, StringConstraints(max_length=256)],
    ],
    Field(max_length=MAX_LABELS),
]


# ── commands ────────────────────────────────────────────────────────────────────────────────────


class SubmitCall(Message):
    """Ask for one tool to be run once with these arguments."""

    tool: ToolRef | ToolDefinition
    arguments: JsonObject = Field(default_factory=dict)
    idempotency_key: Key | None = None
    execution_id: ExecutionId | None = None
    external_id: Key | None = None
    deadline_s: float | None = Field(None, gt=0, le=31 * 86400)
    priority: int = Field(5, ge=0, le=9)
    labels: Labels = Field(default_factory=dict)
    on_behalf_of: Key | None = None
    expected_definition_hash: str | None = Field(None, pattern=r"^sha256:[0-9a-f]{64}$")
    dry_run: bool = False


class CancelCall(Message):
    """Ask for a call to be stopped."""

    call_id: str
    reason: str = Field("", max_length=1000)


class StartAttempt(Message):
    """
    Ask, just before an unsafe effect, whether it may be made.

    `start_id` is minted per delivery and gets the same answer each time.
    """

    call_id: str
    tenant: str
    attempt: int
    start_id: str
    executor: str


class StartAnswer(Message):
    """`go` until `start_by` and no longer than `stop_by`; `drop` the work; or `taken` by another until `stop_by`."""

    verdict: Literal["go", "drop", "taken"]
    start_by: datetime | None = None
    stop_by: datetime | None = None


class ResponseExcerpt(Message):
    """What a target answered when that is part of an error; the excerpt is at most 4 KiB."""

    status_code: int
    headers: dict[str, str]
    body_excerpt: str


class Detail(Message):
    """One thing wrong, with the path to it."""

    path: str
    message: str


class CallError(Message):
    """Why a call did not succeed, and whether its effect happened all the same."""

    code: str
    message: str
    retryable: bool = False
    effect_happened: EffectHappened = "no"
    details: tuple[Detail, ...] = ()
    response: ResponseExcerpt | None = None


class RecordOutcome(Message):
    """
    What an executor found out about one attempt.

    `unknown`: the request may or may not have had its effect. `delivery_id` is minted for each run
    of the work, so that one run reported twice is one outcome.
    """

    call_id: str
    tenant: str
    attempt: int
    delivery_id: str
    executor: str
    result: Literal["succeeded", "failed", "unknown"]
    output: Json = None
    error: CallError | None = None
    duration_ms: float = 0.0


class SettleDoubt(Message):
    """Say what really happened to a call in doubt."""

    call_id: str
    outcome: Literal["succeeded", "failed", "retry"]
    output: Json = None
    note: str = Field(min_length=1, max_length=4000)


class ExpireCall(Message):
    """The deadline of a call has come."""

    call_id: str


class DoubtAttempt(Message):
    """An unsafe attempt was started and stayed silent beyond its `stop_by`."""

    call_id: str
    attempt: int


# ── events ──────────────────────────────────────────────────────────────────────────────────────


class CallRequested(Message):
    """A call was accepted; from now on it reaches an end or a visible wait."""

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
    arguments: Json
    fingerprint: str = Field(description="hash of the submitted body, to tell a repeated key from a reused one")
    idempotency_key: str | None
    external_id: str | None
    on_behalf_of: str | None
    deadline_at: datetime | None
    priority: int
    labels: dict[str, str]
    at: datetime


class CallRefused(Message):
    """A rule said no; nothing was sent anywhere."""

    kind: Literal["call.refused.v1"] = "call.refused.v1"
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
    at: datetime


class CallFailed(Message):
    """The tool answered that it failed, or nothing was sent."""

    kind: Literal["call.failed.v1"] = "call.failed.v1"
    call_id: str
    attempt: int
    executor: str
    error: CallError
    duration_ms: float
    at: datetime


class CancelRequested(Message):
    """Somebody wants the call stopped while its attempt may already have had its effect."""

    kind: Literal["call.cancel_requested.v1"] = "call.cancel_requested.v1"
    call_id: str
    reason: str
    at: datetime


class CallCancelled(Message):
    """The call was stopped before any effect."""

    kind: Literal["call.cancelled.v1"] = "call.cancelled.v1"
    call_id: str
    reason: str
    at: datetime


class CallExpired(Message):
    """The deadline passed before any effect."""

    kind: Literal["call.expired.v1"] = "call.expired.v1"
    call_id: str
    at: datetime


class CallInDoubt(Message):
    """The effect may or may not have happened; nobody guesses."""

    kind: Literal["call.in_doubt.v1"] = "call.in_doubt.v1"
    call_id: str
    attempt: int
    error: CallError
    at: datetime


class DoubtSettled(Message):
    """A person said what happened."""

    kind: Literal["call.doubt_settled.v1"] = "call.doubt_settled.v1"
    call_id: str
    attempt: int
    outcome: Literal["succeeded", "failed", "retry"]
    note: str
    at: datetime


AnyCallEvent: TypeAlias = (
    CallRequested
    | CallRefused
    | CallDispatched
    | AttemptStarted
    | CallSucceeded
    | CallFailed
    | CancelRequested
    | CallCancelled
    | CallExpired
    | CallInDoubt
    | DoubtSettled
)
CallEvent: TypeAlias = Annotated[AnyCallEvent, Field(discriminator="kind")]
call_events: TypeAdapter[AnyCallEvent] = TypeAdapter(CallEvent)
TERMINAL_KINDS = frozenset(
    {"call.refused.v1", "call.succeeded.v1", "call.failed.v1", "call.cancelled.v1", "call.expired.v1"}
)


# ── state ───────────────────────────────────────────────────────────────────────────────────────


class Start(Message):
    """The recorded permission to make one attempt's effect."""

    attempt: int
    start_id: str
    start_by: datetime
    stop_by: datetime


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
    on_behalf_of: str | None = None
    fingerprint: str
    definition_hash: str | None = None
    definition: ToolDefinition | None = None
    terms: Terms = Terms()
    timeout_s: float = 0.0
    arguments: Json
    output: Json = None
    error: CallError | None = None
    attempt: int = 0
    start: Start | None = None
    is_cancel_requested: bool = False
    labels: dict[str, str]
    priority: int = 5
    deadline_at: datetime | None = None
    requested_at: datetime
    dispatched_at: datetime | None = None
    finished_at: datetime | None = None

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
        case CallDispatched():
            return _with(call, status="dispatched", attempt=event.attempt, dispatched_at=event.at, error=None, start=None)
        case AttemptStarted():
            start = Start(attempt=event.attempt, start_id=event.start_id, start_by=event.start_by, stop_by=event.stop_by)
            return _with(call, status="running", start=start)
        case CallSucceeded():
            return _with(call, status="succeeded", output=event.output, error=None, finished_at=event.at)
        case CallFailed():
            return _with(call, status="failed", error=event.error, finished_at=event.at)
        case CancelRequested():
            return _with(call, is_cancel_requested=True)
        case CallCancelled():
            return _with(call, status="cancelled", error=_ended("cancelled", event.reason), finished_at=event.at)
        case CallExpired():
            return _with(call, status="expired", error=_ended("deadline_passed", ""), finished_at=event.at)
        case CallInDoubt():
            return _with(call, status="in_doubt", error=event.error)
        case DoubtSettled():
            return call  # the event that follows it in the same append carries the state


def _with(call: Call, **changes: object) -> Call:
    return call.model_copy(update=changes)


def _ended(code: str, reason: str) -> CallError:
    told = {"cancelled": "the call was cancelled", "deadline_passed": "the deadline passed before the call was done"}
    return CallError(code=code, message=told[code] + (f": {reason}" if reason else ""))


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
        on_behalf_of=event.on_behalf_of,
        fingerprint=event.fingerprint,
        definition_hash=event.definition_hash,
        definition=event.definition,
        terms=event.terms,
        timeout_s=event.timeout_s,
        arguments=event.arguments,
        labels=event.labels,
        priority=event.priority,
        deadline_at=event.deadline_at,
        requested_at=event.at,
    )


def _refused(event: CallRefused) -> Call:
    return Call(
        id=event.call_id,
        status="refused",
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


# ── what people see ─────────────────────────────────────────────────────────────────────────────


class WaitView(Message):
    """What a standing call waits for."""

    id: str
    kind: Literal["approval", "function", "input", "doubt"]
    digest: str
    since: datetime
    expires_at: datetime | None


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
    actor: Actor | None
    requested_at: datetime
    finished_at: datetime | None
    wait: WaitView | None = None
    why: str | None


def call_digest(tenant: str, call: Call) -> str | None:
    """Digest of everything that can change the effect: tenant, call, whole definition, arguments, deadline."""
    if call.definition_hash is None:
        return None
    return digest(
        {
            "tenant": tenant,
            "call_id": call.id,
            "definition_hash": call.definition_hash,
            "arguments": call.arguments,
            "deadline_at": call.deadline_at.isoformat() if call.deadline_at else None,
        }
    )


def explain(call: Call, now: datetime) -> str | None:
    """Tell a person why an open call is not done yet, with the numbers; nothing for a call that ended."""
    match call.status:
        case "requested":
            return f"accepted {_ago(call.requested_at, now)} ago; about to be given to an executor"
        case "dispatched":
            since = call.dispatched_at or call.requested_at
            told = f"attempt {call.attempt} waits for a free {call.tool_type} executor since {_ago(since, now)}"
            return told + f", or runs there (at most {call.timeout_s:g} s)"
        case "running":
            stop_by = call.start.stop_by if call.start else now
            told = f"attempt {call.attempt} runs and is stopped in {max(0.0, (stop_by - now).total_seconds()):.1f} s at the latest"
            return told + ("; asked to stop" if call.is_cancel_requested else "")
        case "in_doubt":
            return f"attempt {call.attempt} may or may not have had its effect: {call.error.message if call.error else ''}; settle it"
        case "waiting" | "retrying":
            return f"{call.status} since {_ago(call.requested_at, now)}"
        case _:
            return None


def _ago(since: datetime, now: datetime) -> str:
    return f"{max(0.0, (now - since).total_seconds()):.1f} s"


def view_call(call: Call, *, tenant: str, actor: Actor | None, now: datetime) -> CallView:
    """Show a call to a person or a client."""
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
        actor=actor,
        requested_at=call.requested_at,
        finished_at=call.finished_at,
        why=explain(call, now),
    )
