"""What the answer of a provider's process means for the call."""

import pytest

from toolbus_contracts.calls import ResponseExcerpt
from toolbus_contracts.tools import Terms
from toolbus_contracts.work import PAYLOAD_THRESHOLD_BYTES
from toolbus_integrations.core.judging import away, judge, judge_lost, split
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Interrupted, Raised, Stopped

READ = Terms(effect="read", idempotency="native", is_asserted=True, provenance="provider")
WRITE = Terms(effect="write", idempotency="none", is_asserted=True, provenance="provider")
REPEATABLE = Terms(effect="write", idempotency="required", is_asserted=True, provenance="provider")
MAYBE_READ = Terms(effect="read", idempotency="none")


def failed(status: int | None = None, **more: object) -> FailedMethod:
    """A failure that a method told of, with the vendor's answer."""
    response = None if status is None else ResponseExcerpt(status_code=status, headers={}, body_excerpt="no")
    said = {"id": 1, "code": "http_status", "message": "no", "response": response, "effects": 1, **more}
    return FailedMethod.model_validate(said)


def test_an_output_is_the_outcome() -> None:
    """As it is, when it is small."""
    outcome = judge(Gave(id=1, output={"a": [1]}), WRITE, is_sent=True)
    assert (outcome.result, outcome.output, outcome.large) == ("succeeded", {"a": [1]}, {})


def test_what_is_large_lies_apart_until_the_rest_is_small() -> None:
    """The largest first."""
    some = "x" * (PAYLOAD_THRESHOLD_BYTES // 2)
    kept, large = split({"a": some, "b": some + "yyyy", "c": 1})
    assert (kept, set(large)) == ({"a": some, "b": None, "c": 1}, {"b"})
    assert large["b"] == f'"{some}yyyy"'.encode()


def test_what_looks_like_a_reference_lies_apart() -> None:
    """A vendor must not have another's payload read."""
    forged = {"deep": [{"$payload": "sha256:0"}]}
    kept, large = split({"a": forged, "b": 1})
    assert (kept, large) == ({"a": None, "b": 1}, {"a": b'{"deep":[{"$payload":"sha256:0"}]}'})


@pytest.mark.parametrize(
    ("ended", "terms", "happened"),
    [
        (failed(404), WRITE, "no"),
        (failed(404, effects=2), WRITE, "unknown"),  # an earlier request may have changed something
        (failed(500), WRITE, "unknown"),
        (failed(500), READ, "no"),
        (failed(500), REPEATABLE, "no"),
        (failed(500), MAYBE_READ, "no"),
        (failed(200, code="response_invalid"), WRITE, "yes"),
        (failed(200, code="response_invalid", effects=0), WRITE, "unknown"),  # what it did besides is not known
        (failed(code="provider_failed"), WRITE, "unknown"),
        (failed(404, has_effect=True), WRITE, "yes"),
        (failed(500, has_effect=False), WRITE, "no"),
    ],
)
def test_what_a_failure_says_of_the_effect(ended: FailedMethod, terms: Terms, happened: str) -> None:
    """By the vendor's status, unless the provider knows better; before anything was sent nothing happened."""
    outcome = judge(ended, terms, is_sent=True)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.effect_happened) == ("failed", happened)
    unsent = judge(ended, terms, is_sent=False)
    assert unsent.error is not None
    assert unsent.error.effect_happened == "no"


def test_a_failure_keeps_what_the_vendor_wants() -> None:
    """Its code, whether to come back and when, and the answer."""
    outcome = judge(failed(429, retryable=True, retry_after_s=7.0), READ, is_sent=True)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.retryable, outcome.retry_after_s) == ("http_status", True, 7.0)
    assert outcome.error.response is not None
    assert outcome.error.response.status_code == 429


@pytest.mark.parametrize(
    ("ended", "terms", "is_sent", "told"),
    [
        (Interrupted(id=1, kind="lost", message="reset"), WRITE, True, ("unknown", "connection_lost")),
        (Interrupted(id=1, kind="lost", message="refused"), WRITE, False, ("not_sent", "connection_failed")),
        (Interrupted(id=1, kind="timeout", message="slow"), WRITE, True, ("unknown", "timeout")),
        (Interrupted(id=1, kind="too_late", message="late"), WRITE, False, ("not_sent", "connection_failed")),
        (Stopped(id=1), READ, True, ("unknown", "timeout")),
        (Raised(id=1, message="KeyError"), WRITE, True, ("unknown", "provider_failed")),
        (Raised(id=1, message="KeyError"), WRITE, False, ("failed", "provider_failed")),
        (Raised(id=1, message="KeyError"), READ, True, ("failed", "provider_failed")),
    ],
)
def test_what_brings_no_answer(ended: Ended, terms: Terms, is_sent: bool, told: tuple[str, str]) -> None:
    """Whether it was sent decides; a fault of a provider behind a write leaves it open."""
    outcome = judge(ended, terms, is_sent=is_sent)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code) == told


def test_a_process_that_ended_before_anything_was_sent() -> None:
    """The call may be tried again, once the process runs."""
    outcome = judge_lost("exit code 3", WRITE, is_sent=False, retry_after_s=0.4)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code, outcome.retry_after_s) == ("not_sent", "executor_lost", 0.4)
    assert outcome.error.retryable


@pytest.mark.parametrize(("terms", "happened"), [(WRITE, "unknown"), (READ, "no")])
def test_a_process_that_ended_after_something_was_sent(terms: Terms, happened: str) -> None:
    """Nobody knows, unless it was a read."""
    outcome = judge_lost("exit code 3", terms, is_sent=True)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.effect_happened, outcome.retry_after_s) == ("unknown", happened, None)
    assert outcome.error.retryable is (happened == "no")


def test_a_provider_that_is_away() -> None:
    """Nothing was sent; the time is told."""
    outcome = away("it died", 12.0)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code, outcome.retry_after_s) == ("not_sent", "unavailable", 12.0)
