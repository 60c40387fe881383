"""Executions as people see them: status, counts and transitions, folded from the events of one correlation id."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from toolbus_contracts.calls import Call, call_events, evolve_call
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.executions import (
    Execution,
    ExecutionStatus,
    ExecutionView,
    Transition,
    TransitionType,
    evolve_execution,
    execution_events,
)

STEP_OF: Final[dict[str, TransitionType]] = {
    "call.requested.v1": "step",
    "call.refused.v1": "step",
    "call.wait_asked.v1": "wait",
    "call.resumed.v1": "resume",
    "call.denied.v1": "step",
    "call.approval_voided.v1": "step",
    "call.dispatched.v1": "step",
    "call.attempt_started.v1": "step",
    "call.succeeded.v1": "step",
    "call.failed.v1": "step",
    "call.cancelled.v1": "step",
    "call.expired.v1": "step",
    "call.attempt_failed.v1": "step",
    "call.in_doubt.v1": "wait",
    "call.doubt_probed.v1": "step",
    "call.doubt_settled.v1": "resume",
}
ENDS: Final[dict[str, TransitionType]] = {
    "succeeded": "finish",
    "failed": "error",
    "cancelled": "cancelled",
}
BARE_END: Final[dict[str, ExecutionStatus]] = {"succeeded": "succeeded", "cancelled": "cancelled"}


class Timeline:
    """Everything known about one execution after folding its events in order."""

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id
        self.execution: Execution | None = None
        self.calls: dict[str, Call] = {}
        self.transitions: list[Transition] = []
        self.finished_at: datetime | None = None

    def add(self, events: Sequence[StoredEvent]) -> "Timeline":
        """Fold further events, in position order."""
        for event in events:
            if event.category == "execution":
                self.execution = evolve_execution(self.execution, execution_events.validate_json(event.data))
                if event.kind == "execution.started.v1":
                    self._step(event, "init", None)
            elif event.category == "call":
                self._add_call(event)
            self._close(event)
        return self

    def _add_call(self, event: StoredEvent) -> None:
        call = evolve_call(self.calls.get(event.subject_id), call_events.validate_json(event.data))
        if call is None:
            return
        self.calls[call.id] = call
        if not self.transitions:
            self._step(event, "init", call)
        elif event.kind in STEP_OF:
            self._step(event, STEP_OF[event.kind], call)

    def _step(self, event: StoredEvent, type_: TransitionType, call: Call | None) -> None:
        self.transitions.append(
            Transition(
                position=event.position,
                type=type_,
                call_id=call.id if call else None,
                tool=call.tool if call else None,
                status=call.status if call else "running",
                output=call.output if call and call.is_terminal else None,
                at=event.recorded_at,
            )
        )

    def _close(self, event: StoredEvent) -> None:
        """The end of an execution comes when it takes no more calls and the last one has ended."""
        status = self.status
        if self.finished_at is None and status in ENDS and self.transitions:
            self.finished_at = event.recorded_at
            self._step(event, ENDS[status], None)
            self.transitions[-1] = self.transitions[-1].model_copy(update={"status": status})

    @property
    def is_known(self) -> bool:
        """True when anything was ever recorded about this execution."""
        return self.execution is not None or bool(self.calls)

    @property
    def status(self) -> ExecutionStatus:
        """`running` while any call runs, else `awaiting_input` while any waits, else how it ended."""
        open_calls = [call for call in self.calls.values() if not call.is_terminal]
        if any(call.status not in {"waiting", "in_doubt"} for call in open_calls):
            return "running"
        if open_calls:
            return "awaiting_input"
        if self.execution is not None:
            return self.execution.finished or "running"
        (call,) = self.calls.values()
        return BARE_END.get(call.status, "failed")

    def view(self) -> ExecutionView:
        """Show the execution."""
        calls = list(self.calls.values())
        explicit = self.execution
        return ExecutionView(
            id=self.execution_id,
            status=self.status,
            parent=explicit.parent if explicit else None,
            labels=explicit.labels if explicit else calls[0].labels,
            input=explicit.input if explicit else None,
            output=explicit.output if explicit else calls[0].output,
            reason=explicit.reason if explicit else "",
            calls=dict(Counter(call.status for call in calls)),
            started_at=explicit.started_at if explicit else calls[0].requested_at,
            finished_at=self.finished_at,
        )
