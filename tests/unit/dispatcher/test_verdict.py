"""The table of when an effect may be repeated, cell by cell, and when the next attempt is due."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, dispatched, outcome
from toolbus_contracts.calls import CallError, RecordOutcome, ResponseExcerpt
from toolbus_contracts.tools import Retry, Terms
from toolbus_dispatcher.core.verdict import MAX_RETRY_AFTER, Verdict, backoff, judge, next_attempt_at

RETRY = Retry(retry_on=(409, 502))


def asserted(effect: str, idempotency: str) -> Terms:
    """A contract that its owner vouched for."""
    return Terms.model_validate({"effect": effect, "idempotency": idempotency, "is_asserted": True})


SAFE = {
    "GET": Terms(effect="read", idempotency="native", is_asserted=True, provenance="method"),
    "read+none": asserted("read", "none"),
    "read+best_effort": asserted("read", "best_effort"),
    "write+native": asserted("write", "native"),
    "write+required": asserted("write", "required"),
    "external+native": asserted("external", "native"),
    "dangerous+required": asserted("dangerous", "required"),
}
UNSAFE = {
    "nobody vouches": Terms(),
    "nobody vouches for read": Terms(effect="read", idempotency="native"),
    "nobody vouches for required": Terms(idempotency="required"),
    "write+none": asserted("write", "none"),
    "write+best_effort": asserted("write", "best_effort"),
    "external+none": asserted("external", "none"),
    "dangerous+none": asserted("dangerous", "none"),
    "dangerous+best_effort": asserted("dangerous", "best_effort"),
}


def answered(status: int, *, code: str = "http_status", retry_after_s: float | None = None) -> RecordOutcome:
    """The target answered with this status."""
    response = ResponseExcerpt(status_code=status, headers={}, body_excerpt="")
    error = CallError(code=code, message=f"the target answered {status}", response=response)
    return outcome("failed", error=error, retry_after_s=retry_after_s)


def refused(code: str) -> RecordOutcome:
    """A rule refused the request before it was sent."""
    return outcome("failed", error=CallError(code=code, message="no"))


def later(code: str) -> RecordOutcome:
    """Whoever ran it says that the same may work later."""
    return outcome("failed", error=CallError(code=code, message="busy", retryable=True))


# (what was found, verdict for what is safe to repeat, verdict for anything else)
CELLS: dict[str, tuple[RecordOutcome, Verdict, Verdict]] = {
    "2xx": (outcome("succeeded"), "succeeded", "succeeded"),
    "a status of retry_on": (answered(409), "retry", "retry"),
    "another status of retry_on": (answered(502), "retry", "retry"),
    "retry_on with Retry-After": (answered(502, retry_after_s=3.0), "retry", "retry"),
    "429 with Retry-After": (answered(429, retry_after_s=3.0), "retry", "failed"),
    "429 with Retry-After: 0": (answered(429, retry_after_s=0.0), "retry", "failed"),
    "429 alone": (answered(429), "failed", "failed"),
    "503 with Retry-After": (answered(503, retry_after_s=3.0), "retry", "failed"),
    "503 alone": (answered(503), "failed", "failed"),
    "400": (answered(400), "failed", "failed"),
    "404 with Retry-After": (answered(404, retry_after_s=3.0), "failed", "failed"),
    "500": (answered(500), "failed", "failed"),
    "504 with Retry-After": (answered(504, retry_after_s=3.0), "failed", "failed"),
    "301 with Retry-After": (answered(301, retry_after_s=3.0), "failed", "failed"),
    "egress denied": (refused("egress_denied"), "failed", "failed"),
    "invalid arguments": (refused("invalid_arguments"), "failed", "failed"),
    "no reason": (outcome("failed"), "failed", "failed"),
    "it may work later, says who did not vouch": (later("http_status"), "failed", "failed"),
    "a status without its answer": (refused("http_status"), "failed", "failed"),
    "an answer that is at fault otherwise": (answered(409, code="too_large"), "failed", "failed"),
    "not sent": (outcome("not_sent"), "retry", "retry"),
    "not sent, with a reason": (outcome("not_sent", error=CallError(code="timeout", message="")), "retry", "retry"),
    "no answer": (outcome("unknown"), "retry", "in_doubt"),
    "no answer, with a reason": (outcome("unknown", error=CallError(code="timeout", message="")), "retry", "in_doubt"),
}


@pytest.mark.parametrize("found", CELLS)
@pytest.mark.parametrize("terms", SAFE)
def test_what_is_safe_to_repeat(terms: str, found: str) -> None:
    """The left column of the table. Source: DESIGN §5."""
    finding, verdict, _ = CELLS[found]
    assert judge(finding, SAFE[terms], RETRY) == verdict


@pytest.mark.parametrize("found", CELLS)
@pytest.mark.parametrize("terms", UNSAFE)
def test_anything_else(terms: str, found: str) -> None:
    """The right column of the table. Source: DESIGN §5."""
    finding, _, verdict = CELLS[found]
    assert judge(finding, UNSAFE[terms], RETRY) == verdict


def test_a_finding_that_the_table_does_not_know_is_a_fault_of_ours() -> None:
    """It is said aloud instead of guessed over."""
    finding = outcome("failed").model_copy(update={"result": "perhaps"})
    with pytest.raises(AssertionError, match=r"^no such finding: perhaps$"):
        judge(finding, Terms(), RETRY)


def due_in_s(retry_after_s: float | None = None, attempt: int = 1, **retry: Any) -> float | None:
    """After how many seconds the next attempt is due; none when there may be none."""
    told = {"attempts": 4, "first_delay_s": 10.0, "factor": 3.0, "max_delay_s": 80.0, "jitter": 0.0, **retry}
    call = dispatched(retry=Retry.model_validate(told)).model_copy(update={"attempt": attempt})
    due_at = next_attempt_at(call, retry_after_s, LATER)
    return None if due_at is None else (due_at - LATER).total_seconds()


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 10), (2, 30), (3, 80), (4, None), (5, None)])
def test_delays_grow_until_no_attempt_is_left(attempt: int, seconds: float | None) -> None:
    """By the factor, up to the cap; `attempts` counts the first one."""
    assert due_in_s(attempt=attempt) == seconds


def test_one_attempt_is_no_retry() -> None:
    """Whoever wants no retries says `attempts: 1`."""
    assert due_in_s(attempts=1) is None


@pytest.mark.parametrize(
    ("asked_s", "seconds"),
    [(None, 10), (0.0, 10), (9.9, 10), (10.1, 10.1), (3600.0, 3600), (86400.0, 86400), (-5.0, 10), (float("nan"), 10)],
)
def test_a_target_may_ask_for_more_time_and_not_for_less(asked_s: float | None, seconds: float) -> None:
    """Retry-After makes the delay longer, beyond the cap too; what is no time asks for nothing."""
    assert due_in_s(asked_s) == seconds


@pytest.mark.parametrize("asked_s", [86400.001, 2.0**31, 1e300, float("inf")])
def test_a_target_that_asks_for_more_than_a_day_has_given_its_answer(asked_s: float) -> None:
    """Nobody waits for that, whatever the number."""
    assert timedelta(days=1) == MAX_RETRY_AFTER
    assert due_in_s(asked_s) is None


@pytest.mark.parametrize(("left_s", "seconds"), [(10.5, 10), (10, None), (9, None), (-1, None)])
def test_no_attempt_begins_at_the_deadline_or_later(left_s: float, seconds: float | None) -> None:
    """It could not be answered in time."""
    retry = Retry(first_delay_s=10.0, jitter=0.0)
    call = dispatched(retry=retry, deadline_at=LATER + timedelta(seconds=left_s))
    due_at = next_attempt_at(call, None, LATER)
    assert due_at == (None if seconds is None else LATER + timedelta(seconds=seconds))


def test_jitter_shortens_by_a_share_that_follows_from_call_and_attempt() -> None:
    """Deciding twice decides the same; calls that failed together do not come back together."""
    retry = Retry(first_delay_s=10.0, factor=1.0, jitter=0.5)
    delays = [backoff(f"call_{number}", attempt, retry) for number in range(100) for attempt in (1, 2)]
    assert delays == [backoff(f"call_{number}", attempt, retry) for number in range(100) for attempt in (1, 2)]
    assert len(set(delays)) == len(delays)
    assert timedelta(seconds=5) <= min(delays) < timedelta(seconds=5.5)
    assert timedelta(seconds=9.5) < max(delays) <= timedelta(seconds=10)


def test_the_jitter_of_a_call_is_this() -> None:
    """A dispatcher of another version decides the same moment for the same attempt."""
    retry = Retry(first_delay_s=10.0, jitter=1.0)
    assert backoff("call_1", 1, retry) == timedelta(seconds=1.441464)


@pytest.mark.parametrize("attempt", [1, 2, 50, 1000, 100_000])
def test_a_delay_is_never_longer_than_the_cap(attempt: int) -> None:
    """However large the power gets, beyond what a number holds too."""
    retry = Retry(first_delay_s=60.0, factor=100.0, max_delay_s=60.0, jitter=0.0)
    assert backoff("call_1", attempt, retry) == timedelta(seconds=60)


def test_no_delay_is_no_delay() -> None:
    """With `first_delay_s: 0` the next attempt is due at once."""
    retry = Retry(first_delay_s=0.0)
    assert [backoff("call_1", attempt, retry) for attempt in (1, 7)] == [timedelta()] * 2


@pytest.mark.parametrize(("idempotency", "verdict"), [("native", "retry"), ("none", "failed")])
def test_a_provider_that_vouches_for_its_method_may_ask_for_another_attempt(idempotency: str, verdict: str) -> None:
    """Where it vouches that repeating does no harm, and says that the same may work later, whatever the code."""
    terms = Terms.model_validate(
        {"effect": "write", "idempotency": idempotency, "is_asserted": True, "provenance": "provider"}
    )
    for code in ("http_status", "provider_failed"):
        assert judge(later(code), terms, RETRY) == verdict
    assert judge(refused("provider_failed"), terms, RETRY) == "failed"
