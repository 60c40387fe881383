"""
Tool calls: the commands that move them, the events that tell what happened, and their state.

    requested → dispatched → running (unsafe attempts ask to start) → succeeded | failed
              ↘ refused                                             ↘ in_doubt
    cancelled and expired end a call whose unsafe attempt has not started.

Time is always an argument; what is stored has happened, so `evolve` neither refuses nor checks.
"""

from toolbus_contracts.calls.commands import (
    MAX_LABELS,
    CallError,
    CancelCall,
    Detail,
    DoubtAttempt,
    EffectHappened,
    ExecutionId,
    GetCall,
    Key,
    Labels,
    RecordOutcome,
    ResponseExcerpt,
    SettleDoubt,
    StartAnswer,
    StartAttempt,
    SubmitCall,
    ToolRef,
)
from toolbus_contracts.calls.events import (
    TERMINAL_KINDS,
    AnyCallEvent,
    AttemptStarted,
    CallCancelled,
    CallDispatched,
    CallEvent,
    CallExpired,
    CallFailed,
    CallInDoubt,
    CallRefused,
    CallRequested,
    CallSucceeded,
    CancelRequested,
    DoubtSettled,
    EffectDoubled,
    call_events,
)
from toolbus_contracts.calls.state import (
    OPEN,
    TERMINAL,
    Call,
    CallStatus,
    Start,
    evolve_call,
)
from toolbus_contracts.calls.views import (
    CallView,
    WaitView,
    call_digest,
    explain,
    view_call,
)

__all__ = [
    "MAX_LABELS",
    "OPEN",
    "TERMINAL",
    "TERMINAL_KINDS",
    "AnyCallEvent",
    "AttemptStarted",
    "Call",
    "CallCancelled",
    "CallDispatched",
    "CallError",
    "CallEvent",
    "CallExpired",
    "CallFailed",
    "CallInDoubt",
    "CallRefused",
    "CallRequested",
    "CallStatus",
    "CallSucceeded",
    "CallView",
    "CancelCall",
    "CancelRequested",
    "Detail",
    "DoubtAttempt",
    "DoubtSettled",
    "EffectDoubled",
    "EffectHappened",
    "ExecutionId",
    "GetCall",
    "Key",
    "Labels",
    "RecordOutcome",
    "ResponseExcerpt",
    "SettleDoubt",
    "Start",
    "StartAnswer",
    "StartAttempt",
    "SubmitCall",
    "ToolRef",
    "WaitView",
    "call_digest",
    "call_events",
    "evolve_call",
    "explain",
    "view_call",
]
