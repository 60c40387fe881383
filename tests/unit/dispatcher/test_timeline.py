"""Executions as people see them: status, counts, transitions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.logs import asked, denied, resumed, voided
from tests.unit.dispatcher.making import (
    AGAIN,
    CANCEL_REQUESTED,
    DISPATCHED,
    IN_DOUBT,
    LATER,
    NOW,
    REQUESTED,
    STARTED,
    dispatched,
    outcome,
    submission,
    submit,
)
from toolbus_contracts.calls import CallCancelled, CallError, CallExpired, DoubtSettled
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.executions import ExecutionFinished, ExecutionStarted
from toolbus_contracts.tools import Tool
from toolbus_contracts.values import Message
from toolbus_dispatcher.core.outcomes import decide_outcome
from toolbus_dispatcher.core.timeline import Timeline

OPENED = ExecutionStarted(
    execution_id="exec_1", parent="exec_0", scopes=(), labels={"team": "a"}, input={"n": 1}, at=NOW
)
SUCCEEDED = decide_outcome(outcome("succeeded", output=7), dispatched(), now=NOW)[0]
FAILED = decide_outcome(outcome("failed", error=CallError(code="timeout", message="")), dispatched(), now=NOW)[0]
CANCELLED = CallCancelled(call_id="call_1", reason="", at=NOW)
EXPIRED = CallExpired(call_id="call_1", at=NOW)
REFUSED = submit(submission(), None, find_tool=lambda *_: Tool(), execution=None, now=NOW)[0]
SETTLED = DoubtSettled(call_id="call_1", attempt=1, outcome="retry", note="", at=NOW)


ASKED, RESUMED = asked("call_1"), resumed("call_1")


def closed(status: Any, **parts: Any) -> ExecutionFinished:
    """The execution was finished this way."""
    return ExecutionFinished.model_validate(
        {"execution_id": "exec_1", "status": status, "output": None, "reason": "", "at": NOW, **parts}
    )


def of(event: Message, call_id: str = "call_1") -> Message:
    """The same event of another call."""
    return event.model_copy(update={"call_id": call_id})


def moment(position: int) -> datetime:
    """When the event at this position was stored."""
    return NOW + timedelta(seconds=position)


def stored(events: Sequence[Message]) -> list[StoredEvent]:
    """The events as they lie in the store; only what a timeline reads is filled."""
    found = []
    for position, event in enumerate(events, start=1):
        kind: str = event.kind  # type: ignore[attr-defined]
        category = kind.partition(".")[0]
        subject = getattr(event, "call_id", None) or getattr(event, "execution_id", "x")
        found.append(
            StoredEvent(
                position,
                f"ev_{position}",
                "acme",
                category,
                f"acme/{category}/{subject}",
                position,
                kind,
                event.model_dump_json(by_alias=True),
                "{}",
                "exec_1",
                f"cause_{position}",
                0,
                None,
                moment(position),
                "",
                "",
            )
        )
    return found


def timeline(*events: Message) -> Timeline:
    """These events folded."""
    return Timeline("exec_1").add(stored(events))


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((REQUESTED,), "running"),
        ((REQUESTED, DISPATCHED), "running"),
        ((REQUESTED, DISPATCHED, STARTED), "running"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT), "awaiting_input"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED, AGAIN), "running"),
        ((REQUESTED, DISPATCHED, SUCCEEDED), "succeeded"),
        ((REQUESTED, DISPATCHED, FAILED), "failed"),
        ((REQUESTED, DISPATCHED, EXPIRED), "failed"),
        ((REQUESTED, CANCELLED), "cancelled"),
        ((REFUSED,), "failed"),
        ((REQUESTED, ASKED), "awaiting_input"),
        ((REQUESTED, ASKED, RESUMED), "running"),
        ((REQUESTED, ASKED, denied("call_1")), "failed"),
        ((REQUESTED, ASKED, RESUMED, DISPATCHED, voided("call_1")), "failed"),
    ],
)
def test_the_execution_of_a_bare_call_is_as_its_call(events: Sequence[Message], status: str) -> None:
    """It runs while the call runs, waits while the call waits, and ends with it."""
    assert timeline(*events).status == status


TWO = (OPENED, REQUESTED, DISPATCHED, of(REQUESTED, "call_2"), of(DISPATCHED, "call_2"))


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((OPENED,), "running"),
        (TWO, "running"),
        ((*TWO, SUCCEEDED, of(FAILED, "call_2")), "running"),
        ((*TWO, IN_DOUBT), "running"),
        ((*TWO, IN_DOUBT, of(SUCCEEDED, "call_2")), "awaiting_input"),
        ((*TWO, closed("succeeded")), "running"),
        ((*TWO, closed("succeeded"), IN_DOUBT, of(SUCCEEDED, "call_2")), "awaiting_input"),
        ((*TWO, closed("succeeded"), FAILED, of(FAILED, "call_2")), "succeeded"),
        ((OPENED, closed("cancelled")), "cancelled"),
    ],
)
def test_an_explicit_execution_ends_when_it_is_finished_and_its_calls_are(
    events: Sequence[Message], status: str
) -> None:
    """Whoever finished it says how it ended; calls that still run keep it open."""
    assert timeline(*events).status == status


def steps(found: Timeline) -> list[tuple[str, str | None]]:
    """The transitions: type, and the status that each shows."""
    return [(step.type, step.status) for step in found.transitions]


def test_the_story_of_a_bare_call() -> None:
    """Its first event is the beginning; its end ends the execution, too."""
    found = timeline(REQUESTED, DISPATCHED, STARTED, SUCCEEDED)
    assert steps(found) == [
        ("init", "requested"),
        ("step", "dispatched"),
        ("step", "running"),
        ("step", "succeeded"),
        ("finish", "succeeded"),
    ]
    init, *_, success, finish = found.transitions
    assert (init.position, init.call_id, init.tool, init.output, init.at) == (1, "call_1", "refund", None, moment(1))
    assert (success.position, success.output) == (4, 7)
    assert (finish.position, finish.call_id, finish.tool, finish.output) == (4, None, None, None)
    assert found.finished_at == finish.at == moment(4)


def test_the_story_of_a_doubt() -> None:
    """A doubt is a wait, its settling a resume; the wish to cancel is no step."""
    found = timeline(REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED, IN_DOUBT, SETTLED, AGAIN, FAILED)
    assert [type_ for type_, _ in steps(found)] == [
        "init",
        "step",
        "step",
        "wait",
        "resume",
        "step",
        "step",
        "error",
    ]
    assert [step.position for step in found.transitions] == [1, 2, 3, 5, 6, 7, 8, 8]


@pytest.mark.parametrize(
    ("events", "last"),
    [
        ((REQUESTED, CANCELLED), [("step", "cancelled"), ("cancelled", "cancelled")]),
        ((REQUESTED, EXPIRED), [("step", "expired"), ("error", "failed")]),
        ((REFUSED,), [("init", "refused"), ("error", "failed")]),
        ((REQUESTED, DISPATCHED, FAILED), [("step", "failed"), ("error", "failed")]),
    ],
)
def test_every_end_has_its_transition(events: Sequence[Message], last: list[tuple[str, str]]) -> None:
    """Cancelled, failed, expired, refused."""
    assert steps(timeline(*events))[-2:] == last


def test_the_story_of_an_explicit_execution() -> None:
    """It begins with itself and ends when both its calls and itself are done; a call in it is a step."""
    found = timeline(*TWO, SUCCEEDED, closed("succeeded"), of(SUCCEEDED, "call_2"))
    assert [type_ for type_, _ in steps(found)] == ["init", "step", "step", "step", "step", "step", "step", "finish"]
    init = found.transitions[0]
    assert (init.call_id, init.tool, init.status) == (None, None, "running")
    assert [step.call_id for step in found.transitions[1:-1]] == ["call_1"] * 2 + ["call_2"] * 2 + ["call_1", "call_2"]
    assert found.finished_at == moment(8)


def test_an_end_is_told_once() -> None:
    """Whatever is recorded afterwards: a late word does not end it again."""
    found = timeline(OPENED, closed("cancelled"), closed("cancelled"), REQUESTED, CANCELLED)
    assert [step.type for step in found.transitions if step.type == "cancelled"] == ["cancelled"]


def test_events_of_other_things_are_no_part_of_it() -> None:
    """Tools and keys may share an id by chance; nothing is made of them."""
    tool_event = stored([REQUESTED])[0]._replace(category="tool")
    found = Timeline("exec_1").add(stored([OPENED])).add([tool_event])
    assert (steps(found), found.calls) == ([("init", "running")], {})


def test_a_call_that_was_cut_off_at_its_head_is_no_step() -> None:
    """Nothing can be told of it, and the rest is told all the same."""
    assert steps(timeline(OPENED, DISPATCHED)) == [("init", "running")]


def test_what_was_never_recorded_is_unknown() -> None:
    """A call or an execution makes it known."""
    assert not Timeline("exec_1").is_known
    assert timeline(OPENED).is_known
    assert timeline(REQUESTED).is_known


def test_the_view_of_an_explicit_execution() -> None:
    """What it was started and finished with, and its calls by status."""
    view = timeline(*TWO, SUCCEEDED, of(FAILED, "call_2"), closed("failed", output=[1], reason="no")).view()
    assert view.model_dump() == {
        "id": "exec_1",
        "status": "failed",
        "parent": "exec_0",
        "labels": {"team": "a"},
        "input": {"n": 1},
        "output": [1],
        "reason": "no",
        "calls": {"succeeded": 1, "failed": 1},
        "started_at": NOW,
        "finished_at": moment(8),
    }


def test_the_view_of_a_bare_call() -> None:
    """Its labels and its output are the call's; a running one has not finished."""
    requested = REQUESTED.model_copy(update={"labels": {"a": "b"}, "at": LATER})
    view = timeline(requested, DISPATCHED, SUCCEEDED).view()
    assert view.model_dump() == {
        "id": "exec_1",
        "status": "succeeded",
        "parent": None,
        "labels": {"a": "b"},
        "input": None,
        "output": 7,
        "reason": "",
        "calls": {"succeeded": 1},
        "started_at": LATER,
        "finished_at": moment(3),
    }
    assert timeline(requested, DISPATCHED).view().finished_at is None


def test_standing_still_and_going_on_are_told() -> None:
    """A wait and a resume, and how it ended if somebody said no."""
    told = timeline(REQUESTED, ASKED, RESUMED, DISPATCHED)
    assert [step.type for step in told.transitions] == ["init", "wait", "resume", "step"]
    ended = timeline(REQUESTED, ASKED, denied("call_1"))
    assert steps(ended) == [("init", "requested"), ("wait", "waiting"), ("step", "denied"), ("error", "failed")]
