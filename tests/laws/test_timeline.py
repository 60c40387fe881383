"""Laws of timelines: folded in pieces or at once, and a status that follows from the calls."""

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.histories import histories
from tests.unit.dispatcher.making import NOW
from tests.unit.dispatcher.test_timeline import closed, of, stored
from toolbus_contracts.executions import ExecutionStarted, FinishedStatus
from toolbus_contracts.values import Message
from toolbus_dispatcher.core.timeline import Timeline

OPENED = ExecutionStarted(execution_id="exec_1", parent=None, scopes=(), labels={}, input=None, at=NOW)
ENDED = {"succeeded", "failed", "cancelled"}


@st.composite
def executions(draw: st.DrawFn) -> list[Message]:
    """The events of one execution: its own, and those of up to three calls, mingled in any way."""
    if draw(st.booleans()):
        return list(draw(histories()).events)
    queues: list[list[Message]] = [
        [of(event, f"call_{number}") for event in draw(histories()).events]
        for number in range(1, draw(st.integers(1, 4)))
    ]
    finish: FinishedStatus | None = draw(st.sampled_from([None, "succeeded", "failed", "cancelled"]))
    if finish is not None:
        queues.append([closed(finish)])
    mingled: list[Message] = [OPENED]
    while queues := [queue for queue in queues if queue]:
        mingled.append(draw(st.sampled_from(queues)).pop(0))
    return mingled


@given(events=executions(), data=st.data())
def test_pieces_are_as_good_as_the_whole(events: list[Message], data: st.DataObject) -> None:
    """A timeline that is followed as it grows shows what one shows that is read at the end."""
    log = stored(events)
    whole = Timeline("exec_1").add(log)
    grown = Timeline("exec_1")
    while log:
        cut = data.draw(st.integers(1, len(log)))
        grown.add(log[:cut])
        log = log[cut:]
    assert grown.transitions == whole.transitions
    assert grown.view() == whole.view()


@given(events=executions())
def test_the_status_follows_from_the_calls(events: list[Message]) -> None:
    """Running while any call runs, waiting while any waits, and only then how it was finished."""
    found = Timeline("exec_1").add(stored(events))
    open_calls = {call.status for call in found.calls.values() if not call.is_terminal}
    if open_calls - {"waiting", "in_doubt"}:
        assert found.status == "running"
    elif open_calls:
        assert found.status == "awaiting_input"
    elif found.execution is not None:
        assert found.status == (found.execution.finished or "running")
    else:
        assert found.status in ENDED
    assert sum(found.view().calls.values()) == len(found.calls)


@given(events=executions())
def test_a_timeline_begins_once_and_ends_last(events: list[Message]) -> None:
    """The first transition is `init`, an end is told once, and its time is when the execution finished."""
    found = Timeline("exec_1").add(stored(events))
    types = [step.type for step in found.transitions]
    assert types.count("init") == 1
    assert types[0] == "init"
    ends = [step for step in found.transitions if step.type in {"finish", "error", "cancelled"}]
    assert len(ends) <= 1
    assert found.finished_at == (ends[0].at if ends else None)
    positions = [step.position for step in found.transitions]
    assert positions == sorted(positions)
