"""Histories of one call: commands in any order, at any time, decided and folded one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.unit.dispatcher.making import NOW, define, outcome, start, submission, tool
from toolbus_contracts.calls import AnyCallEvent, Call, CallError, CancelCall, DoubtAttempt, SettleDoubt, evolve_call
from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.core.calls import (
    decide_cancel,
    decide_doubt,
    decide_expire,
    decide_outcome,
    decide_settle,
    decide_start,
    known,
)
from toolbus_dispatcher.core.submit import decide_submit

Decide = Callable[[Call | None, datetime], Sequence[AnyCallEvent]]
UNSAFE = define(params_schema=None)
SAFE = ToolDefinition.model_validate({"name": "refund", "api_call": {"method": "GET", "url": "https://pay.example"}})
ATTEMPTS = st.integers(1, 3)
HAPPENED = st.sampled_from(["no", "yes", "unknown"])


@dataclass
class History:
    """What happened to one call so far."""

    events: list[AnyCallEvent] = field(default_factory=list)
    states: list[Call | None] = field(default_factory=lambda: [None])

    @property
    def call(self) -> Call | None:
        """The state now."""
        return self.states[-1]

    def take(self, decide: Decide, now: datetime) -> tuple[AnyCallEvent, ...]:
        """Decide and fold; a refusal adds nothing."""
        try:
            events = tuple(decide(self.call, now))
        except Refused:
            return ()
        for event in events:
            self.events.append(event)
            self.states.append(evolve_call(self.call, event))
        return events


def _submit(definition: ToolDefinition, deadline_s: float | None) -> Decide:
    sent = submission(deadline_s=deadline_s)
    found = tool(definition)
    return lambda call, now: decide_submit(sent, call, find_tool=lambda *_: found, execution=None, now=now)


def _settle(verdict: Any) -> Decide:
    command = SettleDoubt(call_id="call_1", outcome=verdict, note="seen")
    return lambda call, now: decide_settle(command, known(call, "call_1"), executor="user:bo", now=now)


def _outcome(result: str, attempt: int, happened: Any) -> Decide:
    error = None if result == "succeeded" else CallError(code="timeout", message="", effect_happened=happened)
    command = outcome(result, attempt, error=error)
    return lambda call, now: decide_outcome(command, call, now=now)


def _cancel(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
    return decide_cancel(CancelCall(call_id="call_1"), known(call, "call_1"), now=now)


def _start(attempt: int, start_id: str) -> Decide:
    return lambda call, now: decide_start(start(attempt, start_id), call, now=now)[0]


def _doubt(attempt: int) -> Decide:
    return lambda call, now: decide_doubt(DoubtAttempt(call_id="call_1", attempt=attempt), call, now=now)


def _expire(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
    return decide_expire(call, now=now)


submits = st.builds(_submit, st.sampled_from([SAFE, UNSAFE]), st.none() | st.floats(1, 100))
commands: st.SearchStrategy[Decide] = st.one_of(
    submits,
    st.just(_cancel),
    st.just(_expire),
    st.builds(_start, ATTEMPTS, st.sampled_from(["st_1", "st_2"])),
    st.builds(_doubt, ATTEMPTS),
    st.builds(_outcome, st.sampled_from(["succeeded", "failed", "unknown"]), ATTEMPTS, HAPPENED),
    st.builds(_settle, st.sampled_from(["succeeded", "failed", "retry"])),
)
delays = st.floats(0, 60).map(lambda seconds: timedelta(seconds=seconds))
steps = st.lists(st.tuples(commands, delays), max_size=12)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A call that was submitted, and whatever was asked of it afterwards."""
    history, now = History(), NOW
    for decide, delay in [(draw(submits), timedelta()), *draw(steps)]:
        now += delay
        history.take(decide, now)
    return history
