"""What the answer of a provider's process means for the call."""

from typing import Any

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


def test_small_fields_stay_however_many_there_are() -> None:
    """A reference in place of each would be larger; what is left is put away as a whole by whoever stores it."""
    many = {f"f{number}": "x" * 500 for number in range(400)}
    assert split(many) == (many, {})
    kept, large = split({**many, "large": "y" * 5000})
    assert (len(kept), set(large)) == (401, {"large"})


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"$payload": "sha256:0"}, "response_invalid"),
        ({f"f{number}": "x" * 500 for number in range(2000)}, "response_too_large"),
        ({f"f{number}": "x" * 2000 for number in range(2000)}, "response_too_large"),
        ({"x" * 600_000: 1}, "response_too_large"),
        ({"a": "x" * (50 * 1024 * 1024)}, "response_too_large"),
    ],
    ids=["forged", "small fields", "large fields", "a long name", "beyond the bucket"],
)
@pytest.mark.parametrize(
    ("terms", "is_sent", "happened"), [(WRITE, True, "yes"), (WRITE, False, "no"), (READ, True, "no")]
)
def test_a_success_that_cannot_be_told_has_failed(
    output: dict[str, Any], code: str, terms: Terms, *, is_sent: bool, happened: str
) -> None:
    """It happened all the same, and is not tried again."""
    outcome = judge(Gave(id=1, output=output), terms, is_sent=is_sent)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code, outcome.error.effect_happened) == ("failed", code, happened)
    assert (outcome.error.retryable, outcome.output, outcome.large) == (False, None, {})


def test_a_reference_inside_of_a_field_of_that_name_lies_apart() -> None:
    """It stands for nothing then."""
    kept, large = split({"$payload": {"$payload": "sha256:0"}})
    assert (kept, list(large)) == ({"$payload": None}, ["$payload"])
    assert judge(Gave(id=1, output={"$payload": 1}), WRITE, is_sent=True).result == "succeeded"


def test_what_a_hostile_host_says_of_a_failure_is_bounded() -> None:
    """Code, words, headers, body and time are what any provider may tell."""
    response = {
        "status_code": 500,
        "headers": {f"h{number}": "x" * 1000 for number in range(100)},
        "body_excerpt": "ä" * 10_000,
    }
    ended = failed(code="made_up", message="x" * 10_000, response=response, retry_after_s=1e300)
    outcome = judge(ended, WRITE, is_sent=True)
    assert outcome.error is not None
    assert (outcome.error.code, len(outcome.error.message), outcome.retry_after_s) == ("provider_failed", 2000, 2**31)
    assert outcome.error.response is not None
    assert len(outcome.error.response.headers) == 8
    assert len(outcome.error.response.body_excerpt.encode()) == 4096
    assert judge(failed(retry_after_s=-5.0), WRITE, is_sent=True).retry_after_s == 0
    for other in (Interrupted(id=1, kind="lost", message="x" * 10_000), Raised(id=1, message="x" * 10_000)):
        told = judge(other, WRITE, is_sent=True).error
        assert told is not None
        assert len(told.message) < 2100


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
        (failed(200, has_effect=True), READ, "no"),  # what only reads has none
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


@pytest.mark.parametrize(
    ("more", "is_sent", "result"),
    [
        ({"retryable": True}, False, "not_sent"),
        ({"retryable": True, "has_effect": False}, True, "not_sent"),
        ({"retryable": True}, True, "failed"),
        ({}, False, "failed"),
        ({"retryable": True, "code": "mcp_error"}, False, "failed"),
    ],
)
def test_a_provider_may_know_that_it_did_not_begin(more: dict[str, Any], is_sent: bool, result: str) -> None:
    """No connection, and so no effect: the call may be made again, whatever else its contract says."""
    told = {"id": 1, "code": "connection_failed", "message": "away", "retry_after_s": 3.0, **more}
    outcome = judge(FailedMethod.model_validate(told), Terms(), is_sent=is_sent)
    assert (outcome.result, outcome.retry_after_s) == (result, 3.0)
