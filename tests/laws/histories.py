"""Histories of one call: commands in any order, at any time, decided and folded one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.unit.dispatcher.making import NOW, define, outcome, start, submission, submit, tool
from toolbus_contracts.calls import (
    AnyCallEvent,
    Call,
    CallError,
    CancelCall,
    DoubtAttempt,
    InputAsked,
    Question,
    RecordProbe,
    ReleaseCall,
    ResponseExcerpt,
    ResumeCall,
    SettleDoubt,
    call_digest,
    evolve_call,
)
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import Approval, AskUser, Limits, Rate, ToolDefinition
from toolbus_dispatcher.core.calls import decide_cancel, decide_expire, decide_release, decide_start, known
from toolbus_dispatcher.core.outcomes import decide_doubt, decide_outcome, decide_probe, decide_settle
from toolbus_dispatcher.core.standing import Surroundings, decide_resume

Decide = Callable[[Call | None, datetime], Sequence[AnyCallEvent]]
RETRY_ON = 503
PROMISES: dict[str, Any] = {
    "retry": {"attempts": 3, "first_delay_s": 1, "retry_on": [RETRY_ON]},
    "probe": {"tool": "find_refund", "happened": "output.count > 0", "settle_after_s": 1},
}
UNSAFE = ToolDefinition.model_validate(
    {"name": "refund", "api_call": {"method": "POST", "url": "https://pay.example"}, **PROMISES}
)
PLAIN = define(params_schema=None)
SAFE = ToolDefinition.model_validate(
    {"name": "refund", "api_call": {"method": "GET", "url": "https://pay.example"}, **PROMISES}
)
RATED = SAFE.model_copy(update={"limits": Limits(rate=Rate(calls=5))})  # such a call asks to start
ASKS: dict[str, Any] = {
    "approval": {"expires_s": 30.0, "may_edit": True},
    "ask_user": {"fields": {"charge": {"type": "string"}}, "expires_s": 30.0},
}
STANDING = PLAIN.model_copy(update={"approval": Approval(expires_s=30.0)})
ASKING = ToolDefinition.model_validate({**SAFE.model_dump(by_alias=True, exclude_none=True), **ASKS})
FUNCTION = ToolDefinition.model_validate({"name": "refund", "function": {}, **ASKS, "expires_s": 60.0})
CITY = InputAsked(
    form=AskUser(fields={"city": {"type": "string"}}, expires_s=30.0),
    questions=(Question(name="where", properties={"city": "city"}),),
    request_state="s1",
)
AGAIN = InputAsked(request_state="s2")
UNFIT = InputAsked(form=AskUser(fields={"city": {"type": "nonsense"}}))
OFFSETS = st.sampled_from([0, 0, 0, 0, 0, -1, 1])  # from the present attempt
RUNS = st.tuples(st.sampled_from(["st_1", "st_1", "st_1", "st_2"]), OFFSETS)  # of the work: its id, of which attempt
MOSTLY = st.sampled_from([True, True, True, False])
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


def _submit(definition: ToolDefinition, deadline_s: float | None, has_room: bool) -> Decide:
    sent = submission(deadline_s=deadline_s)._replace(has_room=has_room)
    found = tool(definition)
    return lambda call, now: submit(sent, call, find_tool=lambda *_: found, execution=None, now=now)


def _settle(verdict: Any) -> Decide:
    command = SettleDoubt(call_id="call_1", outcome=verdict, note="seen")
    return lambda call, now: decide_settle(command, known(call, "call_1"), executor="user:bo", now=now)


def _aimed(make: Callable[[int], Decide]) -> Callable[[int], Decide]:
    """The same, of the present attempt, or of one so far from it; what was aimed once stays the same command."""

    def aim(offset: int) -> Decide:
        made: list[Decide] = []

        def decide(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
            if not made:
                made.append(make(max((call.attempt if call else 0) + offset, 0)))
            return made[0](call, now)

        return decide

    return aim


def _outcome(result: str, happened: Any, run: tuple[str, int], may_retry: bool) -> Decide:
    start_id, offset = run
    error = None if result == "succeeded" else CallError(code=result, message="", effect_happened=happened)

    def make(attempt: int) -> Decide:
        command = outcome(result, attempt, delivery_id=start_id, error=error)
        return lambda call, now: decide_outcome(command, call, may_retry=may_retry, now=now)

    return _aimed(make)(offset)


def _wants(asked: InputAsked, run: tuple[str, int], may_retry: bool) -> Decide:
    """The server of an attempt wants to know more."""
    start_id, offset = run

    def make(attempt: int) -> Decide:
        command = outcome("input_required", attempt, delivery_id=start_id, asked=asked)
        return lambda call, now: decide_outcome(command, call, may_retry=may_retry, now=now)

    return _aimed(make)(offset)


def _answered(status: int, retry_after_s: float | None, run: tuple[str, int]) -> Decide:
    start_id, offset = run
    response = ResponseExcerpt(status_code=status, headers={}, body_excerpt="")
    error = CallError(code="http_status", message="", response=response)

    def make(attempt: int) -> Decide:
        command = outcome("failed", attempt, delivery_id=start_id, error=error, retry_after_s=retry_after_s)
        return lambda call, now: decide_outcome(command, call, now=now)

    return _aimed(make)(offset)


def _release(offset: int) -> Decide:
    def make(attempt: int) -> Decide:
        command = ReleaseCall(call_id="call_1", attempt=attempt)
        return lambda call, now: decide_release(command, call, now=now)

    return _aimed(make)(offset + 1)


def _probe(verdict: Any, offset: int) -> Decide:
    def make(attempt: int) -> Decide:
        command = RecordProbe(call_id="call_1", attempt=attempt, probe_call_id="call_2", verdict=verdict, note="")
        return lambda call, now: decide_probe(command, call, now=now)

    return _aimed(make)(offset)


def _cancel(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
    return decide_cancel(CancelCall(call_id="call_1"), known(call, "call_1"), now=now)


def _start(start_id: str, offset: int, stray: bool) -> Decide:
    def make(attempt: int) -> Decide:
        def decide(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
            digest = None if stray or call is None else call_digest("acme", call)
            return decide_start(start(attempt, start_id, digest), call, now=now)[0]

        return decide

    return _aimed(make)(offset)


def _doubt(offset: int) -> Decide:
    def make(attempt: int) -> Decide:
        return lambda call, now: decide_doubt(DoubtAttempt(call_id="call_1", attempt=attempt), call, now=now)

    return _aimed(make)(offset)


def _resume(outcome: Any, offset: int, edited: Any, stray: bool) -> Decide:
    """The wait of the call was closed: the present one, or another; what was said speaks of the call, or does not."""
    made: list[ResumeCall] = []

    def decide(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
        if not made:
            number = max((call.waits if call else 0) + offset, 0)
            digest = "sha256:0" if stray or call is None else call_digest("acme", call, edited) or ""
            told = {"wait_id": wait_id_for_call("call_1", number), "outcome": outcome, "arguments": edited}
            if outcome == "answered" and call is not None and call.asked is not None and call.asked.is_open:
                told |= {"arguments": None, "answers": {"city": f"number {number}"}}
            made.append(ResumeCall.model_validate({"call_id": "call_1", "digest": digest, **told}))
        return decide_resume(made[0], call, Surroundings("acme"), now=now)

    return decide


def _expire(call: Call | None, now: datetime) -> Sequence[AnyCallEvent]:
    return decide_expire(call, now=now)


submits = st.builds(
    _submit,
    st.sampled_from([SAFE, RATED, UNSAFE, UNSAFE, PLAIN, STANDING, STANDING, ASKING, FUNCTION]),
    st.none() | st.none() | st.floats(1, 100),
    st.booleans(),
)
releases = st.builds(_release, OFFSETS)
STRAY = MOSTLY.map(lambda is_likely: not is_likely)
starts = st.builds(_start, st.sampled_from(["st_1", "st_1", "st_2"]), OFFSETS, STRAY)
resumes = st.builds(
    _resume,
    st.sampled_from(["approved", "approved", "answered", "answered", "completed", "failed", "denied", "expired"]),
    OFFSETS,
    st.sampled_from([None, None, {"charge": "ch_2"}]),
    STRAY,
)
doubts: st.SearchStrategy[Decide] = st.one_of(
    st.builds(_doubt, OFFSETS), st.builds(_outcome, st.just("unknown"), HAPPENED, RUNS, MOSTLY)
)
failures = st.one_of(
    st.builds(_outcome, st.sampled_from(["failed", "not_sent", "not_sent"]), HAPPENED, RUNS, MOSTLY),
    st.builds(_answered, st.sampled_from([429, 500, RETRY_ON, RETRY_ON]), st.none() | st.floats(0, 10), RUNS),
)
questions = st.builds(_wants, st.sampled_from([CITY, CITY, CITY, AGAIN, UNFIT]), RUNS, MOSTLY)
answers = st.one_of(
    st.builds(_settle, st.sampled_from(["succeeded", "failed", "retry", "retry"])),
    st.builds(_probe, st.sampled_from(["happened", "not_happened", "not_happened", "unclear"]), OFFSETS),
)
ends = st.one_of(
    st.just(_cancel), st.just(_expire), submits, st.builds(_outcome, st.just("succeeded"), HAPPENED, RUNS, MOSTLY)
)
commands: st.SearchStrategy[Decide] = st.one_of(releases, starts, doubts, failures, answers, ends, resumes, questions)
delays = st.floats(0, 60).map(lambda seconds: timedelta(seconds=seconds))
steps = st.lists(st.tuples(commands, delays), max_size=12)
LIKELY: dict[str, st.SearchStrategy[Decide]] = {
    "requested": releases,
    "waiting": resumes,
    "retrying": releases,
    "dispatched": starts | failures | questions,
    "running": failures | doubts | questions,
    "in_doubt": answers,
}


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A call that was submitted, and whatever was asked of it afterwards; mostly what moves it on."""
    history, now = History(), NOW
    history.take(draw(submits), now)
    for is_likely in draw(st.lists(MOSTLY, min_size=5, max_size=16)):
        status = history.call.status if history.call else ""
        decide = draw(LIKELY.get(status, commands) if is_likely else commands)
        now += draw(delays)
        history.take(decide, now)
    return history
