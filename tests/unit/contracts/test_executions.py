"""Executions: started once, finished once."""

from datetime import UTC, datetime

from toolbus_contracts.executions import Execution, ExecutionFinished, ExecutionStarted, evolve_execution

NOW = datetime(2026, 1, 2, tzinfo=UTC)
STARTED = ExecutionStarted(
    execution_id="exec_1", parent="exec_0", scopes=("task:t",), labels={"team": "a"}, input={"n": 1}, at=NOW
)
FINISHED = ExecutionFinished(execution_id="exec_1", status="failed", output={"n": 2}, reason="spent", at=NOW)


def test_a_started_execution_takes_calls() -> None:
    """Its state carries what it was started with and no end."""
    state = evolve_execution(None, STARTED)
    assert state == Execution(
        id="exec_1", parent="exec_0", scopes=("task:t",), labels={"team": "a"}, input={"n": 1}, started_at=NOW
    )


def test_a_finished_execution_tells_how_it_ended() -> None:
    """Status, reason and time are kept beside what it was started with."""
    state = evolve_execution(evolve_execution(None, STARTED), FINISHED)
    assert state is not None
    assert state.output == {"n": 2}
    assert (state.finished, state.reason, state.finished_at, state.labels) == ("failed", "spent", NOW, {"team": "a"})


def test_an_end_without_a_beginning_is_nothing() -> None:
    """A stream cut at its head tells nothing, and does not fail."""
    assert evolve_execution(None, FINISHED) is None
