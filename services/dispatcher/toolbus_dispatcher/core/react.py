"""What an event of one thing asks of another: event → commands."""

from toolbus_contracts.calls import CancelCall, ResumeCall
from toolbus_contracts.executions import ExecutionFinished
from toolbus_contracts.waits import WaitClosed


def react_execution_finished(event: ExecutionFinished, open_calls: tuple[str, ...]) -> tuple[CancelCall, ...]:
    """A cancelled execution stops the calls that are still open in it."""
    if event.status != "cancelled":
        return ()
    return tuple(CancelCall(call_id=call_id, reason=event.reason or "execution cancelled") for call_id in open_calls)


def react_wait_closed(event: WaitClosed) -> ResumeCall | None:
    """What somebody said lets the call go on, or ends it; not when it needs the wait no more, or is settled itself."""
    if event.outcome == "withdrawn" or event.wait_kind == "doubt":
        return None
    return ResumeCall(
        call_id=event.call_id,
        wait_id=event.wait_id,
        outcome=event.outcome,
        digest=event.digest,
        arguments=event.arguments,
        answers=event.answers,
        output=event.output,
        error=event.error,
        by=event.by,
        note=event.note,
    )
