"""Events of one call to start a history from."""

from datetime import UTC, datetime, timedelta
from functools import reduce

from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptStarted,
    Call,
    CallDispatched,
    CallError,
    CallRefused,
    CallRequested,
    evolve_call,
)
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Limit, Probe, Retry, Terms, ToolDefinition

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ACTOR = Actor(subject="service:crm", key_id="key_1", via="http", on_behalf_of="user:ana")
ERROR = CallError(code="http_status", message="the target answered 500")
REQUESTED = CallRequested(
    call_id="call_1",
    execution_id="exec_1",
    is_bare=True,
    tool="refund",
    tool_scope="tenant",
    tool_version=2,
    tool_type="api_call",
    definition_hash="sha256:" + "0" * 64,
    definition=ToolDefinition.model_validate({"name": "refund", "mcp": {"server": "pay", "tool": "refund"}}),
    terms=Terms(effect="dangerous", idempotency="none", is_asserted=True, provenance="definition"),
    timeout_s=30,
    retry=Retry(attempts=4, retry_on=(503,)),
    limits=(Limit(of="tool", name="refund", concurrency=5),),
    probe=Probe(tool="find_refund", happened="output.count > 0", settle_after_s=5.0),
    arguments={"charge": "ch_1"},
    fingerprint="fp",
    idempotency_key="order-7",
    external_id="toolu_1",
    actor=ACTOR,
    deadline_at=NOW + timedelta(hours=1),
    priority=7,
    labels={"team": "billing"},
    at=NOW,
)
REFUSED = CallRefused(
    call_id="call_1",
    execution_id="exec_1",
    is_bare=True,
    actor=ACTOR,
    tool="refund",
    arguments={},
    fingerprint="fp",
    idempotency_key=None,
    external_id=None,
    labels={},
    error=ERROR,
    at=NOW,
)
DISPATCHED = CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW + timedelta(seconds=1))
STARTED = AttemptStarted(
    call_id="call_1",
    attempt=1,
    start_id="st_1",
    executor="api_caller-1",
    start_by=NOW + timedelta(seconds=5),
    stop_by=NOW + timedelta(seconds=40),
    at=NOW + timedelta(seconds=2),
)


def after(*events: AnyCallEvent) -> Call:
    """The state that these events lead to."""
    state = reduce(evolve_call, events, None)
    assert state is not None
    return state
