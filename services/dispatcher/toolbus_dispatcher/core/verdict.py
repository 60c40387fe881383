"""
What an executor's finding means: the table of when an effect may be repeated, and when the next attempt is due.

    finding                                           safe to repeat        anything else
    succeeded: a 2xx answer                           succeeded             succeeded
    failed: a status of the tool's retry_on           retry                 retry
    failed: 429 or 503 with Retry-After               retry                 failed
    failed: its provider says, later it may work      retry                 failed
    failed: any other answer, or a refusal by a rule  failed                failed
    not_sent: it broke before the first byte          retry                 retry
    input_required: its server did nothing yet        a person is asked, or the call is made again
    unknown: sent, and no answer                      retry                 in_doubt

Source: DESIGN §5.
"""

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Literal

from toolbus_contracts.calls import Call, RecordOutcome
from toolbus_contracts.tools import Retry, Terms

Verdict = Literal["succeeded", "failed", "retry", "in_doubt"]
ASKS_FOR_PATIENCE = frozenset({429, 503})  # with Retry-After: the target itself says that nothing was done, and when
MAX_RETRY_AFTER = timedelta(hours=24)  # a target that wants to be left alone for longer has given its answer


def judge(finding: RecordOutcome, terms: Terms, retry: Retry) -> Verdict:
    """One row of the table above for one finding."""
    match finding.result:
        case "succeeded":
            return "succeeded"
        case "not_sent":
            return "retry"
        case "unknown":
            return "retry" if terms.is_safe_to_repeat else "in_doubt"
        case "failed":
            return "retry" if _is_invited(finding, terms, retry) else "failed"
        case result:
            raise AssertionError(f"no such finding: {result}")


def _is_invited(finding: RecordOutcome, terms: Terms, retry: Retry) -> bool:
    """Whether a status that was received asks for another attempt, or the provider that vouches for the tool does."""
    error = finding.error
    if error is None:
        return False
    if error.retryable and terms.provenance == "provider" and terms.is_safe_to_repeat:
        return True
    if error.code != "http_status" or error.response is None:
        return False
    status = error.response.status_code
    if status in retry.retry_on:
        return True
    return terms.is_safe_to_repeat and status in ASKS_FOR_PATIENCE and finding.retry_after_s is not None


def next_attempt_at(call: Call, retry_after_s: float | None, now: datetime) -> datetime | None:
    """When the next attempt is due; none when there may be none: no attempts left, or it would come too late."""
    if call.tries >= call.retry.attempts:
        return None
    wanted = timedelta(seconds=min(max(0.0, retry_after_s or 0.0), 2 * MAX_RETRY_AFTER.total_seconds()))
    if wanted > MAX_RETRY_AFTER:
        return None
    due_at = now + max(wanted, backoff(call.id, call.tries, call.retry))
    return None if call.deadline_at is not None and due_at >= call.deadline_at else due_at


def backoff(call_id: str, attempt: int, retry: Retry) -> timedelta:
    """The delay after an attempt. Its jitter follows from call and attempt: deciding twice decides the same."""
    try:
        full_s = min(retry.max_delay_s, retry.first_delay_s * retry.factor ** (attempt - 1))
    except OverflowError:
        full_s = retry.max_delay_s
    share = int.from_bytes(blake2b(f"{call_id}:{attempt}".encode(), digest_size=4).digest()) / 2**32
    return timedelta(seconds=full_s * (1 - retry.jitter * share))
