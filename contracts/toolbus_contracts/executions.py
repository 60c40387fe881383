"""Executions: what a set of calls belongs to, and the step-by-step view of it."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field, TypeAdapter

from toolbus_contracts.calls.commands import ExecutionId, Labels
from toolbus_contracts.tools import ToolScope
from toolbus_contracts.values import Json, Message

ExecutionStatus = Literal["running", "awaiting_input", "succeeded", "failed", "cancelled"]
FinishedStatus = Literal["succeeded", "failed", "cancelled"]
MAX_SCOPES = 16


class StartExecution(Message):
    """Open an execution that calls can be put into until it is finished."""

    parent: ExecutionId | None = None
    scopes: tuple[ToolScope, ...] = Field(
        (), max_length=MAX_SCOPES, description="where tools are looked up before the tenant, nearest first"
    )
    labels: Labels = Field(default_factory=dict)
    input: Json = None


class FinishExecution(Message):
    """Close an execution; calls that still run keep it open until they end."""

    status: Literal["succeeded", "failed"] = "succeeded"
    output: Json = None


class CancelExecution(Message):
    """Stop an execution and every call in it that can still be stopped."""

    reason: str = Field("", max_length=1000)


class ExecutionStarted(Message):
    """The execution takes calls."""

    kind: Literal["execution.started.v1"] = "execution.started.v1"
    execution_id: str
    parent: str | None
    scopes: tuple[str, ...]
    labels: dict[str, str]
    input: Json
    at: datetime


class ExecutionFinished(Message):
    """The execution takes no further calls."""

    kind: Literal["execution.finished.v1"] = "execution.finished.v1"
    execution_id: str
    status: FinishedStatus
    output: Json
    reason: str
    at: datetime


ExecutionEvent: TypeAlias = Annotated[ExecutionStarted | ExecutionFinished, Field(discriminator="kind")]
execution_events: TypeAdapter[ExecutionStarted | ExecutionFinished] = TypeAdapter(ExecutionEvent)


class Execution(Message):
    """State of one explicit execution."""

    id: str
    parent: str | None
    scopes: tuple[str, ...]
    labels: dict[str, str]
    input: Json
    started_at: datetime
    finished: FinishedStatus | None = None
    output: Json = None
    reason: str = ""
    finished_at: datetime | None = None


def evolve_execution(execution: Execution | None, event: ExecutionStarted | ExecutionFinished) -> Execution | None:
    """Apply one stored event to the state of an execution."""
    match event:
        case ExecutionStarted():
            return Execution(
                id=event.execution_id,
                parent=event.parent,
                scopes=event.scopes,
                labels=event.labels,
                input=event.input,
                started_at=event.at,
            )
        case ExecutionFinished():
            return execution and execution.model_copy(
                update={
                    "finished": event.status,
                    "output": event.output,
                    "reason": event.reason,
                    "finished_at": event.at,
                }
            )
        case _:
            assert_never(event)


TransitionType = Literal[
    "init", "step", "wait", "resume", "finish", "error", "cancelled", "init_branch", "finish_branch"
]


class Transition(Message):
    """One step of an execution, derived from the event at `position`."""

    position: int
    type: TransitionType
    call_id: str | None
    tool: str | None
    status: str
    output: Json
    at: datetime


class ExecutionView(Message):
    """An execution as people see it. `calls` counts its calls by status."""

    id: str
    status: ExecutionStatus
    parent: str | None
    labels: dict[str, str]
    input: Json
    output: Json
    reason: str
    calls: dict[str, int]
    started_at: datetime
    finished_at: datetime | None
