"""What the end of an execution, and that of a wait, ask of calls."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import NOW
from toolbus_contracts.calls import CallError, CancelCall, ResumeCall
from toolbus_contracts.executions import ExecutionFinished, FinishedStatus
from toolbus_contracts.waits import WaitClosed
from toolbus_dispatcher.core.react import react_execution_finished, react_wait_closed


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


def closed(**changes: Any) -> WaitClosed:
    """A wait that was closed like this."""
    told = {"wait_id": "wait_1", "call_id": "call_1", "wait_kind": "approval", "outcome": "approved", "at": NOW}
    return WaitClosed.model_validate({**told, "digest": "sha256:1", **changes})


def test_a_closed_wait_lets_its_call_go_on() -> None:
    """With all that was said."""
    error = CallError(code="x", message="y")
    said: dict[str, Any] = {"arguments": {"a": 1}, "output": 2, "error": error, "by": ("user:bo",), "note": "fine"}
    expected = ResumeCall(call_id="call_1", wait_id="wait_1", outcome="approved", digest="sha256:1", **said)
    assert react_wait_closed(closed(**said)) == expected


@pytest.mark.parametrize("changes", [{"outcome": "withdrawn"}, {"wait_kind": "doubt", "outcome": "answered"}])
def test_a_wait_that_nobody_stands_still_for_moves_no_call(changes: dict[str, Any]) -> None:
    """The call needs it no more; or it only made a doubt visible, which is settled itself."""
    assert react_wait_closed(closed(**changes)) is None
