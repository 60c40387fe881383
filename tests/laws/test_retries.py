"""Laws of retries: delays keep to their bounds, and budgets are never overdrawn by decisions one after another."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import instances
from tests.unit.dispatcher.backlogs import at
from tests.unit.dispatcher.making import LATER, dispatched, outcome
from tests.unit.dispatcher.test_budgets import answered, call
from toolbus_contracts.tools import Retry, Terms
from toolbus_dispatcher.core.budgets import MAX_SAVED, RetryBudgets
from toolbus_dispatcher.core.verdict import MAX_RETRY_AFTER, backoff, judge, next_attempt_at

RETRIES = instances(Retry)
RETRY_AFTER = st.none() | st.floats(allow_nan=True, allow_infinity=True)
ATTEMPTS = st.integers(1, 200)


@given(retry=RETRIES, attempt=ATTEMPTS, call_id=st.text())
def test_a_delay_keeps_to_its_bounds(retry: Retry, attempt: int, call_id: str) -> None:
    """No longer than the cap, no shorter than the jitter allows of the full one, and the same each time."""
    delay = backoff(call_id, attempt, retry)
    assert timedelta() <= delay <= timedelta(seconds=retry.max_delay_s)
    full = backoff(call_id, attempt, retry.model_copy(update={"jitter": 0.0}))
    assert full * (1 - retry.jitter) - timedelta(microseconds=1) <= delay <= full
    assert delay == backoff(call_id, attempt, retry)


@given(retry=RETRIES, attempt=ATTEMPTS, asked_s=RETRY_AFTER, left_s=st.none() | st.floats(0, 1e6))
def test_a_next_attempt_is_left_in_time_and_not_too_early(
    retry: Retry, attempt: int, asked_s: float | None, left_s: float | None
) -> None:
    """Whatever a target asks for."""
    deadline_at = None if left_s is None else LATER + timedelta(seconds=left_s)
    found = dispatched(retry=retry, deadline_at=deadline_at).model_copy(update={"attempt": attempt})
    due_at = next_attempt_at(found, asked_s, LATER)
    if due_at is not None:
        assert attempt < retry.attempts
        assert due_at >= LATER + backoff(found.id, attempt, retry)
        assert due_at <= LATER + max(MAX_RETRY_AFTER, timedelta(seconds=retry.max_delay_s))
        assert deadline_at is None or due_at < deadline_at
        assert not (asked_s and asked_s > 0) or due_at >= LATER + timedelta(seconds=asked_s)


@given(terms=instances(Terms), retry=RETRIES, result=st.sampled_from(["succeeded", "failed", "not_sent", "unknown"]))
def test_silence_is_a_doubt_exactly_where_repeating_is_not_safe(terms: Terms, retry: Retry, result: str) -> None:
    """No retry that is asked for makes it one."""
    verdict = judge(outcome(result), terms, retry)
    assert (verdict == "in_doubt") == (result == "unknown" and not terms.is_safe_to_repeat)
    assert (verdict == "succeeded") == (result == "succeeded")


@given(
    ratio=st.floats(0, 2),
    per_s=st.floats(0, 5),
    taken=st.lists(st.tuples(st.booleans(), st.integers(0, 3000)), max_size=40),
)
def test_a_budget_is_kept(ratio: float, per_s: float, taken: list[tuple[bool, int]]) -> None:
    """One attempt in advance, a share of the calls and some a second: never more, however they come."""
    budgets, now_s, firsts, spent = RetryBudgets(), 0.0, 0, 0
    for is_first, pause_ms in taken:
        now_s += pause_ms / 1000
        found = call(ratio, per_s, attempt=1 if is_first else 2)
        may_retry = budgets.has_left("acme", found, at(now_s))
        firsts += is_first
        spent += may_retry
        answered(budgets, found, "not_sent" if may_retry else "failed", now_s)
        assert spent <= max(1.0, per_s) + ratio * firsts + per_s * now_s + 1e-6
        assert spent <= MAX_SAVED + len(taken)
