"""What the end of an execution asks of its calls."""

from tests.unit.dispatcher.making import NOW
from toolbus_contracts.calls import CancelCall
from toolbus_contracts.executions import ExecutionFinished, FinishedStatus
from toolbus_dispatcher.core.react import react_execution_finished


def finished(status: FinishedStatus, reason: str = "") -> ExecutionFinished:
    """An execution that ended this way."""
    return ExecutionFinished(execution_id="exec_1", status=status, output=None, reason=reason, at=NOW)


def test_a_cancelled_execution_stops_its_open_calls() -> None:
    """Each of them, with the reason that was given, or with one that tells where it came from."""
    assert react_execution_finished(finished("cancelled", "budget"), ("call_1", "call_2")) == (
        CancelCall(call_id="call_1", reason="budget"),
        CancelCall(call_id="call_2", reason="budget"),
    )
    assert react_execution_finished(finished("cancelled"), ("call_1",)) == (
        CancelCall(call_id="call_1", reason="execution cancelled"),
    )


def test_an_execution_that_was_finished_lets_its_calls_end() -> None:
    """Calls that still run keep it open until they have ended."""
    assert react_execution_finished(finished("succeeded"), ("call_1",)) == ()
    assert react_execution_finished(finished("failed"), ("call_1",)) == ()
