"""Histories of one wait: people, clients, grants and clocks in any order, at any time; decided and folded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.unit.approvals.making import DIGEST, EXPIRES, NOW, OPENED, TENANT, delegation, grant
from toolbus_approvals.core.answering import decide_answer, decide_complete
from toolbus_approvals.core.approving import decide_approve, decide_deny
from toolbus_approvals.core.closing import decide_escalate, decide_expire, decide_withdraw
from toolbus_approvals.core.delegating import decide_delegate
from toolbus_approvals.core.grants import decide_by_grant
from toolbus_approvals.core.opening import digest_with
from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import Approval, AskUser, Escalation
from toolbus_contracts.waits import (
    AnswerWait,
    AnyWaitEvent,
    ApproveWait,
    CompleteCall,
    DelegateWait,
    Delegation,
    DenyWait,
    FunctionError,
    Spoken,
    Wait,
    WaitOpened,
    evolve_wait,
)

Decide = Callable[[Wait, datetime], Sequence[AnyWaitEvent]]
ROLES = {"user:bo": ("finance",), "user:cy": ("finance", "lead"), "user:di": (), "user:ana": ("finance",)}
SUBJECTS = ("user:bo", "user:cy", "user:di", "user:eve", "user:ana", "agent:bot")  # the last two asked for the call
DELEGATIONS = (
    delegation("user:bo", "user:eve", "finance"),
    delegation("user:ana", "user:di", "finance"),
    delegation("user:cy", "user:di", "finance", "lead", until=NOW + timedelta(hours=12)),
    delegation("user:cy", "agent:bot", "finance"),
)
STEPS = (Escalation(after_s=7200, to=("user:eve",)), Escalation(after_s=60, to=("role:lead",)))
KINDS = [*["approval"] * 5, "input", "function", "doubt"]
AMOUNTS = ({"amount": 1}, {"amount": 2}, {"charge": "ch_1", "amount": 7})

names = st.sampled_from((*SUBJECTS[:4], *SUBJECTS))
keys = st.sampled_from(["key_1", "key_2"])
stale = st.sampled_from([False, False, False, True])
standing_delegations = st.sampled_from([(), DELEGATIONS, DELEGATIONS[:1]])


@dataclass
class History:
    """What happened to one wait so far."""

    opened: WaitOpened
    events: list[AnyWaitEvent] = field(default_factory=list)
    states: list[Wait] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._fold(self.opened)

    @property
    def wait(self) -> Wait:
        """The state now."""
        return self.states[-1]

    def take(self, decide: Decide, now: datetime) -> tuple[AnyWaitEvent, ...]:
        """Decide and fold; a refusal adds nothing."""
        try:
            events = tuple(decide(self.wait, now))
        except Refused:
            return ()
        for event in events:
            self._fold(event)
        return events

    def _fold(self, event: AnyWaitEvent) -> None:
        self.events.append(event)
        state = evolve_wait(self.states[-1] if self.states else None, event)
        assert state is not None
        self.states.append(state)


def _who(subject: str, key_id: str, now: datetime) -> Spoken:
    return Spoken(subject=subject, roles=ROLES.get(subject, ()), key_id=key_id, at=now)


def _once(make: Callable[[Wait], Callable[[Wait, datetime], Sequence[AnyWaitEvent]]]) -> Decide:
    """What was said once of the wait as it was stays the same command when it is said again."""
    made: list[Decide] = []

    def decide(wait: Wait, now: datetime) -> Sequence[AnyWaitEvent]:
        if not made:
            made.append(make(wait))
        return made[0](wait, now)

    return decide


def _approve(subject: str, key_id: str, is_stale: bool, delegations: Sequence[Delegation]) -> Decide:
    def make(wait: Wait) -> Decide:
        command = ApproveWait(digest=DIGEST if is_stale else wait.digest)
        return lambda wait, now: decide_approve(command, wait, _who(subject, key_id, now), delegations=delegations)

    return _once(make)


def _edit(subject: str, key_id: str, arguments: dict[str, Any], delegations: Sequence[Delegation]) -> Decide:
    def make(wait: Wait) -> Decide:
        command = ApproveWait(digest=wait.digest, arguments=arguments)
        digest = digest_with(wait, TENANT, arguments)
        return lambda wait, now: decide_approve(
            command, wait, _who(subject, key_id, now), delegations=delegations, edited_digest=digest
        )

    return _once(make)


def _deny(subject: str, key_id: str, is_stale: bool, delegations: Sequence[Delegation]) -> Decide:
    def make(wait: Wait) -> Decide:
        command = DenyWait(digest=DIGEST if is_stale else wait.digest, note="no")
        return lambda wait, now: decide_deny(command, wait, _who(subject, key_id, now), delegations=delegations)

    return _once(make)


def _delegate(subject: str, to: str, hours: int) -> Decide:
    command = DelegateWait(to=to, until=NOW + timedelta(hours=hours))
    return lambda wait, now: decide_delegate(command, wait, _who(subject, "key_1", now))


def _answer(subject: str, amount: int) -> Decide:
    command = AnswerWait(digest=DIGEST, values={"amount": amount})
    return lambda wait, now: decide_answer(command, wait, _who(subject, "key_1", now), faults=(), tenant=TENANT)


def _complete(subject: str, output: Any, error: FunctionError | None) -> Decide:
    command = CompleteCall(output=None if error else output, error=error)
    return lambda wait, now: decide_complete(command, wait, _who(subject, "key_1", now))


def _by_grant(subject: str, condition: str | None) -> Decide:
    found = grant(subject, *ROLES.get(subject, ()), used_by=("wait_1",), condition=condition)
    return lambda wait, now: decide_by_grant(found, wait, now=now)


def _expire(wait: Wait, now: datetime) -> Sequence[AnyWaitEvent]:
    return decide_expire(wait, now=now)


def _escalate(wait: Wait, now: datetime) -> Sequence[AnyWaitEvent]:
    return decide_escalate(wait, now=now)


def _withdraw(wait: Wait, now: datetime) -> Sequence[AnyWaitEvent]:
    return decide_withdraw(wait, note="the call was cancelled", now=now)


approvals = st.builds(_approve, names, keys, stale, standing_delegations)
edits = st.builds(_edit, names, keys, st.sampled_from(AMOUNTS), standing_delegations)
denials = st.builds(_deny, names, keys, stale, standing_delegations)
handovers = st.builds(_delegate, names, names, st.integers(1, 30))
answers = st.builds(_answer, names, st.integers(1, 2))
completions = st.builds(
    _complete, names, st.sampled_from([1, 1.0, None]), st.sampled_from([None, None, FunctionError(message="no")])
)
by_grant = st.builds(_by_grant, names, st.sampled_from([None, "call.arguments.amount == 7"]))
clocks: st.SearchStrategy[Decide] = st.sampled_from([_expire, _escalate])
LIKELY: dict[str, st.SearchStrategy[Decide]] = {
    "approval": st.one_of(approvals, approvals, approvals, edits, by_grant, handovers, clocks),
    "input": answers | clocks,
    "function": completions | clocks,
    "doubt": clocks,
}
commands: st.SearchStrategy[Decide] = st.one_of(
    approvals, edits, denials, handovers, answers, completions, by_grant, clocks, st.just(_withdraw)
)
delays = st.sampled_from([0.0, 0.5, 1.0, 2.0, 6.0, 24.0]).map(lambda hours: timedelta(hours=hours))
policies = st.builds(
    Approval,
    approvers=st.sampled_from([(), ("role:finance",), ("user:bo", "user:cy", "user:di"), ("user:bo", "agent:bot")]),
    quorum=st.sampled_from([1, 2, 2, 3]),
    requester_may_approve=st.sampled_from([False, False, True]),
    may_edit=st.sampled_from([True, True, False]),
    escalate=st.sampled_from(
        [(), (Escalation(after_s=7200, to=("user:eve",)), Escalation(after_s=60, to=("role:lead",)))]
    ),
)


@st.composite
def openings(draw: st.DrawFn) -> WaitOpened:
    """A wait of any kind; most often an approval."""
    kind = draw(
        st.sampled_from(["approval", "approval", "approval", "approval", "approval", "input", "function", "doubt"])
    )
    changes: dict[str, Any] = {
        "wait_kind": kind,
        "approval": draw(policies) if kind == "approval" else None,
        "ask_user": AskUser(fields={"amount": {"type": "integer"}}) if kind == "input" else None,
        "is_from_server": kind == "input" and draw(st.booleans()),
        "expires_at": None if kind == "doubt" else EXPIRES,
    }
    return OPENED.model_copy(update=changes)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A wait and all that was said about it, one after the other; most of it is what such a wait is for."""
    history, now = History(draw(openings())), NOW
    likely = LIKELY[history.opened.wait_kind]
    for _ in range(draw(st.integers(0, 10))):
        now += draw(delays)
        history.take(draw(draw(st.sampled_from([likely, likely, likely, likely, commands]))), now)
    return history
