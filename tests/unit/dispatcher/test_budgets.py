"""Budgets of retries: a share of a tool's calls, and some a second besides."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from tests.unit.dispatcher.backlogs import at
from tests.unit.dispatcher.making import DISPATCHED, REQUESTED, after, outcome
from tests.unit.dispatcher.test_timeline import stored
from toolbus_contracts.calls import AnyCallEvent, Call
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.tools import Retry, RetryBudget
from toolbus_contracts.values import Message
from toolbus_dispatcher.core.budgets import MAX_KEPT, MAX_SAVED, RetryBudgets
from toolbus_dispatcher.core.outcomes import decide_outcome


def call(ratio: float = 0.0, per_s: float = 0.0, attempt: int = 1, **changes: Any) -> Call:
    """A call of a tool with this budget, with the executors for the n-th time."""
    retry = Retry(attempts=9, budget=RetryBudget(ratio=ratio, per_s=per_s))
    requested = REQUESTED.model_copy(update={"retry": retry, **changes})
    return after(requested, DISPATCHED.model_copy(update={"attempt": attempt}))


def told(events: Sequence[AnyCallEvent], now: datetime) -> list[StoredEvent]:
    """The events as they are stored at this time."""
    told: list[Message] = list(events)
    return [event._replace(recorded_at=now) for event in stored(told)]


def answered(budgets: RetryBudgets, found: Call, result: str, seconds: float = 0.0) -> None:
    """The attempt came to this then, and it was counted."""
    now = at(seconds)
    events = decide_outcome(outcome(result, attempt=found.attempt), found, now=now)
    budgets.count("acme", found, told(events, now))


def spend(budgets: RetryBudgets, found: Call, seconds: float = 0.0) -> int:
    """How many further attempts that fail again are within the budget then, one after another."""
    spent = 0
    again = found.model_copy(update={"attempt": 2})
    while budgets.has_left("acme", again, at(seconds)):
        answered(budgets, again, "not_sent", seconds)
        spent += 1
    return spent


def test_a_tool_without_a_budget_may_retry_as_often_as_its_calls_allow() -> None:
    """Nothing is counted."""
    found = call().model_copy(update={"retry": Retry(attempts=9)})
    budgets = RetryBudgets()
    for _ in range(1000):
        answered(budgets, found, "not_sent")
    assert budgets.has_left("acme", found, at())
    assert budgets._accounts == {}


def test_one_attempt_in_advance_is_there_from_the_beginning() -> None:
    """Or what a second gives, when that is more."""
    assert spend(RetryBudgets(), call()) == 1
    assert spend(RetryBudgets(), call(per_s=0.5)) == 1
    assert spend(RetryBudgets(), call(per_s=7.0)) == 7


def test_every_call_pays_in_its_share() -> None:
    """At the end of its first attempt, whatever came of it; further attempts pay nothing in."""
    budgets, found = RetryBudgets(), call(ratio=0.25)
    spend(budgets, found)
    for _ in range(3):
        answered(budgets, found, "succeeded")
        answered(budgets, call(ratio=0.25, attempt=2), "succeeded")
    assert not budgets.has_left("acme", found, at())
    answered(budgets, found, "failed")
    assert spend(budgets, found) == 1


def test_a_first_attempt_that_failed_pays_in_and_takes_out() -> None:
    """Its retry was decided."""
    budgets, found = RetryBudgets(), call(ratio=1.0)
    for _ in range(10):
        answered(budgets, found, "not_sent")
    assert spend(budgets, found) == 1


def test_time_gives_some_back() -> None:
    """So many a second, a part of one too."""
    budgets, found = RetryBudgets(), call(per_s=2.0)
    assert spend(budgets, found) == 2
    assert spend(budgets, found, 0.4) == 0
    assert spend(budgets, found, 0.5) == 1
    assert spend(budgets, found, 10.5) == 20


def test_what_was_overdrawn_is_paid_back_first() -> None:
    """Outcomes that are decided together all see the same budget: a tool that fails altogether is not let off that."""
    budgets, found = RetryBudgets(), call(per_s=1.0)
    for _ in range(50):
        answered(budgets, found, "not_sent")
    assert spend(budgets, found, 49.9) == 0
    assert spend(budgets, found, 50.1) == 1


def test_what_may_be_saved_is_bounded() -> None:
    """After a quiet night a tool that fails is not called a thousand times more."""
    budgets, found = RetryBudgets(), call(per_s=3.0)
    spend(budgets, found)
    assert spend(budgets, found, 86400.0) == MAX_SAVED
    paying = call(ratio=10.0)
    for _ in range(50):
        answered(budgets, paying.model_copy(update={"tool": "other"}), "succeeded")
    assert spend(budgets, paying.model_copy(update={"tool": "other"})) == MAX_SAVED


def test_a_clock_that_was_set_back_gives_nothing() -> None:
    """Nor does it take anything; time counts on from the latest moment that was seen."""
    budgets, found = RetryBudgets(), call(per_s=1.0)
    assert spend(budgets, found, 100.0) == 1
    assert spend(budgets, found, 0.0) == 0
    assert spend(budgets, found, 100.9) == 0
    assert spend(budgets, found, 101.0) == 1


@pytest.mark.parametrize("changes", [{"tool": "other"}, {"tool_scope": "agent:a"}, {"tool_scope": None}])
def test_each_tool_has_a_budget_of_its_own(changes: dict[str, Any]) -> None:
    """By tenant, scope and name."""
    budgets = RetryBudgets()
    spend(budgets, call())
    assert not budgets.has_left("acme", call(), at())
    assert budgets.has_left("acme", call(**changes), at())
    assert budgets.has_left("other", call(), at())


def test_what_decided_nothing_costs_nothing() -> None:
    """A call that is not there, and an outcome that was heard of before."""
    budgets, found = RetryBudgets(), call(ratio=1.0)
    spend(budgets, found)
    budgets.count("acme", None, told((DISPATCHED,), at()))
    budgets.count("acme", found, ())
    assert not budgets.has_left("acme", found, at())


def test_no_more_tools_are_remembered_than_memory_is_meant_for() -> None:
    """Then all begin anew."""
    budgets = RetryBudgets()
    spend(budgets, call())
    for number in range(MAX_KEPT - 1):
        budgets.has_left("acme", call().model_copy(update={"tool": f"t{number}"}), at())
    assert len(budgets._accounts) == MAX_KEPT
    assert not budgets.has_left("acme", call(), at())
    assert budgets.has_left("acme", call().model_copy(update={"tool": "one more"}), at())
    assert len(budgets._accounts) == 1
    assert budgets.has_left("acme", call(), at())
