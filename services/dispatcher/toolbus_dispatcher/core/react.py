"""What an event of one thing asks of another: event → commands."""

from toolbus_contracts.calls import CancelCall
from toolbus_contracts.executions import ExecutionFinished


def react_execution_finished(event: ExecutionFinished, open_calls: tuple[str, ...]) -> tuple[CancelCall, ...]:
    """A cancelled execution stops the calls that are still open in it."""
    if event.status != "cancelled":
        return ()
    return tuple(CancelCall(call_id=call_id, reason=event.reason or "execution cancelled") for call_id in open_calls)
