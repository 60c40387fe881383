"""The schedule of retries, with a frozen clock: ten attempts over three days, none of them together."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from toolbus_approvals.core.schedule import DELAYS_S, has_failed_too_long, next_attempt_at

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOUR_S = 3600.0
# Source: Standard Webhooks, "Deliverability": immediately, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
WRITTEN_S = [0.0, 5.0, 300.0, 1800.0, *(hours * HOUR_S for hours in (2, 5, 10, 14, 20, 24))]


def waits_s(message_id: str) -> list[float]:
    """How long is waited before each attempt but the first, in seconds."""
    found: list[float] = []
    for attempts in range(1, len(WRITTEN_S)):
        at = next_attempt_at(message_id, attempts, now=NOW)
        assert at is not None
        found.append((at - NOW).total_seconds())
    return found


def test_the_waits_are_those_of_the_specification() -> None:
    """Each at least as long as it is written, and by at most a fifth longer."""
    assert list(DELAYS_S) == WRITTEN_S
    for message_id in ("msg_1", "msg_2", "msg_3"):
        for written, drawn in zip(WRITTEN_S[1:], waits_s(message_id), strict=True):
            assert written <= drawn < written * 1.2


def test_what_failed_together_does_not_come_back_together() -> None:
    """A hundred messages are spread over the whole fifth."""
    drawn = sorted(waits_s(f"msg_{number}")[1] for number in range(100))
    assert len(set(drawn)) == 100
    assert max(late - early for early, late in pairwise([300.0, *drawn, 360.0])) < 10


def test_the_same_message_is_tried_at_the_same_times() -> None:
    """Whoever leads computes the same."""
    assert waits_s("msg_1") == waits_s("msg_1")


def test_after_ten_attempts_it_has_failed() -> None:
    """Whatever the receiver asks for."""
    assert next_attempt_at("msg_1", 9, now=NOW) is not None
    assert next_attempt_at("msg_1", 10, now=NOW) is None
    assert next_attempt_at("msg_1", 10, now=NOW, retry_after_s=5) is None


@pytest.mark.parametrize(("asked_s", "waited_s"), [(600.0, 600.0), (10 * 86_400.0, 86_400.0)])
def test_a_receiver_is_left_alone_as_long_as_it_asks(asked_s: float, waited_s: float) -> None:
    """Retry-After makes the wait longer, by a day at most."""
    at = next_attempt_at("msg_1", 1, now=NOW, retry_after_s=asked_s)
    assert at == NOW + timedelta(seconds=waited_s)


def test_a_receiver_cannot_ask_for_more_haste() -> None:
    """A Retry-After below the schedule changes nothing."""
    assert next_attempt_at("msg_1", 3, now=NOW, retry_after_s=1) == next_attempt_at("msg_1", 3, now=NOW)


def test_five_days_of_failure_are_too_long() -> None:
    """Not a second less."""
    assert not has_failed_too_long(NOW, NOW + timedelta(days=5, seconds=-1))
    assert has_failed_too_long(NOW, NOW + timedelta(days=5))
