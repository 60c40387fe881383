"""Commands, tools and histories for the tests of the dispatcher."""

from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptStarted,
    Call,
    CallDispatched,
    CallError,
    CallInDoubt,
    CallRequested,
    CancelRequested,
    RecordOutcome,
    StartAttempt,
    SubmitCall,
    evolve_call,
)
from toolbus_contracts.executions import Execution
from toolbus_contracts.keys import Actor, Key
from toolbus_contracts.tools import Terms, Tool, ToolDefinition, ToolRetired, evolve_tool
from toolbus_contracts.values import Json
from toolbus_dispatcher.core.finding import FindStored, FindTool
from toolbus_dispatcher.core.merging import Wanted
from toolbus_dispatcher.core.resources import decide_define
from toolbus_dispatcher.core.submit import Submission, decide_submit

NOW = datetime(2026, 1, 2, tzinfo=UTC)
LATER = NOW + timedelta(seconds=3)
STOP_BY = NOW + timedelta(seconds=40)
ACTOR = Actor(subject="user:ana", via="http")
SAFE = Terms(effect="read", idempotency="native", is_asserted=True, provenance="method")
LOST = CallError(code="connection_lost", message="the connection broke")
NOT_SENT = CallError(code="connection_failed", message="nobody listens", retryable=True)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"charge": {"type": "string"}, "amount": {"type": "integer", "maximum": 100}},
    "required": ["charge"],
    "additionalProperties": False,
}

REQUESTED = CallRequested(
    call_id="call_1",
    execution_id="exec_1",
    is_bare=True,
    tool="refund",
    tool_scope="tenant",
    tool_version=1,
    tool_type="api_call",
    definition_hash="sha256:" + "0" * 64,
    terms=Terms(),
    timeout_s=30,
    arguments={"charge": "ch_1"},
    fingerprint="fp",
    idempotency_key="order-7",
    external_id=None,
    actor=ACTOR,
    deadline_at=None,
    priority=5,
    labels={},
    at=NOW,
)
DISPATCHED = CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW)
AGAIN = DISPATCHED.model_copy(update={"attempt": 2})
STARTED = AttemptStarted(
    call_id="call_1",
    attempt=1,
    start_id="st_1",
    executor="api_caller@a",
    start_by=NOW + timedelta(seconds=10),
    stop_by=STOP_BY,
    at=NOW,
)
IN_DOUBT = CallInDoubt(call_id="call_1", attempt=1, error=LOST, at=NOW)
CANCEL_REQUESTED = CancelRequested(call_id="call_1", reason="too late", at=NOW)


def after(*events: AnyCallEvent) -> Call:
    """The state that these events lead to."""
    state = reduce(evolve_call, events, None)
    assert state is not None
    return state


def dispatched(**changes: Any) -> Call:
    """A call that was given to the executors, with some fields of its request changed."""
    return after(REQUESTED.model_copy(update=changes), DISPATCHED)


def outcome(result: str, attempt: int = 1, **parts: Any) -> RecordOutcome:
    """What an executor reports of an attempt."""
    return RecordOutcome.model_validate(
        {
            "call_id": "call_1",
            "tenant": "acme",
            "attempt": attempt,
            "delivery_id": "st_1",
            "executor": "api_caller@a",
            "result": result,
            "duration_ms": 12.5,
            **parts,
        }
    )


def start(attempt: int = 1, start_id: str = "st_1", digest: str | None = None) -> StartAttempt:
    """An executor that asks whether it may make the effect."""
    told: dict[str, Any] = {"attempt": attempt, "start_id": start_id, "digest": digest}
    return StartAttempt(call_id="call_1", tenant="acme", executor="api_caller@a", **told)


def define(tool_name: str = "refund", /, **section: Any) -> ToolDefinition:
    """A POST with this section, `PARAMETERS` as its schema unless told otherwise."""
    found = {"method": "POST", "url": "https://pay.example", "params_schema": PARAMETERS, **section}
    return ToolDefinition.model_validate({"name": tool_name, "api_call": found})


def tool(*definitions: ToolDefinition, scope: str = "tenant", is_retired: bool = False) -> Tool:
    """A tool with these versions, and retired after them when asked for."""
    found = Tool()
    for definition in definitions:
        for event in decide_define(definition, found, scope=scope, if_match=None, now=NOW):
            found = evolve_tool(found, event)
    if is_retired:
        found = evolve_tool(found, ToolRetired(scope=scope, name=definitions[-1].name, at=NOW))
    return found


def submission(key: Key | None = None, stored: Json = None, **body: Any) -> Submission:
    """A submitted call as the edge hands it in; of the tool `refund` unless told otherwise."""
    command = SubmitCall.model_validate({"tool": "refund", "arguments": {"charge": "ch_1"}, **body})
    return Submission(
        command=command,
        call_id="call_1",
        fingerprint="fp",
        stored_arguments=command.arguments if stored is None else stored,
        actor=ACTOR,
        key=key,
        tenant="acme",
    )


def submit(
    sent: Submission,
    call: Call | None = None,
    *,
    find_tool: FindTool,
    find_stored: FindStored = lambda _: None,
    execution: Execution | None = None,
    now: datetime = NOW,
) -> tuple[AnyCallEvent, ...]:
    """What is decided of a submitted call, all that it needs being known."""
    found = decide_submit(sent, call, find_tool=find_tool, find_stored=find_stored, execution=execution, now=now)
    assert not isinstance(found, Wanted), found
    return found


def key(*, tools: tuple[str, ...] | None = None) -> Key:
    """A key that may call these tools, or all."""
    return Key(
        key_id="key_1",
        tenant="acme",
        subject="user:ana",
        roles=(),
        scopes=("submit",),
        tools=tools,
        expires_at=None,
        secret_hash="",
        created_at=NOW,
    )
