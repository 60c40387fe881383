"""
The catalogue: every command, event and view there is, by the name under which documents show it.

What is published (JSON Schemas, AsyncAPI) and what is pinned (golden files) is enumerated from here; a
test fails when a message is missing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, get_args

from pydantic import TypeAdapter

from toolbus_contracts.calls import (
    ArgumentFaults,
    CallEvent,
    CallView,
    CancelCall,
    CheckArguments,
    DoubtAttempt,
    GetCall,
    RecordOutcome,
    SettleDoubt,
    SettleForPerson,
    StartAnswer,
    StartAttempt,
    SubmitCall,
)
from toolbus_contracts.dead import DeadLetterView, OpenedLetterView, Redriven
from toolbus_contracts.executions import (
    CancelExecution,
    ExecutionEvent,
    ExecutionView,
    FinishExecution,
    StartExecution,
    Transition,
)
from toolbus_contracts.integrations import MethodView, ProviderView
from toolbus_contracts.keys import CreateKey, KeyEvent, KeyView, NewKey
from toolbus_contracts.mcp import McpOutput, McpServerView, McpSurfaceView, McpToolView, PutMcpServer
from toolbus_contracts.secrets import PutSecret, RemovedSecret, SealedSecret, SecretView
from toolbus_contracts.stored import StoredEvent, StoredValues, StoredView
from toolbus_contracts.tools import DescribeTool, ToolDefinition, ToolEvent, ToolSurface, ToolView
from toolbus_contracts.values import Message
from toolbus_contracts.waits import (
    AnswerWait,
    ApproveWait,
    CompleteByToken,
    CompleteCall,
    DelegateWait,
    DelegationEvent,
    DelegationView,
    DenyWait,
    GiveDelegation,
    GiveGrant,
    GrantEvent,
    GrantView,
    HeartbeatWait,
    LeasedCall,
    LeaseView,
    LeaseWaits,
    ReleaseWait,
    Simulated,
    SimulateWait,
    WaitDetail,
    WaitEvent,
)
from toolbus_contracts.webhooks import (
    DeliveryView,
    NewWebhookView,
    PutWebhook,
    Resent,
    RotateWebhook,
    WebhookEvent,
    WebhookView,
)
from toolbus_contracts.work import ApiCallOutput, PayloadRef, WorkItem

MessageType: TypeAlias = type[Message]

COMMANDS: Mapping[str, MessageType] = MappingProxyType(
    {
        "call.submit": SubmitCall,
        "call.cancel": CancelCall,
        "call.get": GetCall,
        "call.settle": SettleDoubt,
        "call.settle_for_person": SettleForPerson,
        "call.start": StartAttempt,
        "call.check": CheckArguments,
        "call.record_outcome": RecordOutcome,
        "call.doubt": DoubtAttempt,
        "tool.define": ToolDefinition,
        "tool.describe": DescribeTool,
        "stored.put": StoredValues,
        "execution.start": StartExecution,
        "execution.finish": FinishExecution,
        "execution.cancel": CancelExecution,
        "key.create": CreateKey,
        "wait.approve": ApproveWait,
        "wait.deny": DenyWait,
        "wait.answer": AnswerWait,
        "wait.delegate": DelegateWait,
        "wait.lease": LeaseWaits,
        "wait.heartbeat": HeartbeatWait,
        "wait.simulate": SimulateWait,
        "wait.release": ReleaseWait,
        "call.complete": CompleteCall,
        "call.complete_by_token": CompleteByToken,
        "grant.give": GiveGrant,
        "delegation.give": GiveDelegation,
        "webhook.put": PutWebhook,
        "webhook.rotate": RotateWebhook,
        "secret.put": PutSecret,
        "mcp_server.put": PutMcpServer,
    }
)
UNIONS: Mapping[str, Any] = MappingProxyType(
    {
        "call": CallEvent,
        "tool": ToolEvent,
        "stored": StoredEvent,
        "execution": ExecutionEvent,
        "key": KeyEvent,
        "wait": WaitEvent,
        "grant": GrantEvent,
        "delegation": DelegationEvent,
        "webhook": WebhookEvent,
    }
)
VIEWS: Mapping[str, MessageType] = MappingProxyType(
    {
        "call": CallView,
        "tool": ToolView,
        "tool_surface": ToolSurface,
        "stored": StoredView,
        "provider": ProviderView,
        "method": MethodView,
        "execution": ExecutionView,
        "transition": Transition,
        "key": KeyView,
        "new_key": NewKey,
        "start_answer": StartAnswer,
        "argument_faults": ArgumentFaults,
        "work_item": WorkItem,
        "api_call_output": ApiCallOutput,
        "mcp_output": McpOutput,
        "mcp_server": McpServerView,
        "mcp_surface": McpSurfaceView,
        "mcp_tool": McpToolView,
        "payload_ref": PayloadRef,
        "dead_letter": DeadLetterView,
        "opened_letter": OpenedLetterView,
        "redriven": Redriven,
        "wait": WaitDetail,
        "leased_call": LeasedCall,
        "lease": LeaseView,
        "simulated": Simulated,
        "grant": GrantView,
        "delegation": DelegationView,
        "webhook": WebhookView,
        "new_webhook": NewWebhookView,
        "secret": SecretView,
        "sealed_secret": SealedSecret,
        "removed_secret": RemovedSecret,
        "delivery": DeliveryView,
        "resent": Resent,
    }
)


def event_types() -> dict[str, MessageType]:
    """Every event by its kind, in the order of the unions that readers decode with."""
    members = (member for union in UNIONS.values() for member in get_args(get_args(union)[0]))
    return {member.model_fields["kind"].default: member for member in members}


def event_reader(kind: str) -> TypeAdapter[Message]:
    """What decodes the stored text of this kind, as its service does."""
    return TypeAdapter(UNIONS[kind.split(".", 1)[0]])
