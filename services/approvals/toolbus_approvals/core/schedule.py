"""
When a message is tried again: ten times over three days. Source: Standard Webhooks 1.0.0, "Deliverability".

The times are drawn a little later than they are written, differently for every message: what failed together does
not come back together. What is drawn follows from message and attempt, so that it may be computed again.
"""

import hashlib
from datetime import datetime, timedelta

DELAYS_S = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
JITTER = 0.2
MOST_RETRY_AFTER_S = 86_400.0  # a receiver may ask for patience, not for silence
FAILING_FOR = timedelta(days=5)


def next_attempt_at(
    message_id: str, attempts: int, *, now: datetime, retry_after_s: float | None = None
) -> datetime | None:
    """
    When a message is tried again that failed `attempts` times (1 or more) by now; none when that was the last time.

    A Retry-After (seconds) makes it later, never sooner, and by at most a day.
    """
    if attempts >= len(DELAYS_S):
        return None
    delay_s = DELAYS_S[attempts] * (1 + JITTER * _draw(message_id, attempts))
    wanted_s = min(retry_after_s or 0.0, MOST_RETRY_AFTER_S)
    return now + timedelta(seconds=max(delay_s, wanted_s))


def has_failed_too_long(failing_since: datetime, now: datetime) -> bool:
    """Whether a webhook is to be disabled: it failed, and nothing arrived since, for five days."""
    return now - failing_since >= FAILING_FOR


def _draw(message_id: str, attempts: int) -> float:
    """A number from 0 up to 1 that follows from message and attempt."""
    drawn = hashlib.sha256(f"{message_id}\n{attempts}".encode()).digest()
    return int.from_bytes(drawn[:7], "big") / 2**56
