"""From what a host said of a call to an outcome: what is known of the effect, and what is too large to travel."""

from typing import assert_never

from toolbus_contracts.calls import CallError, EffectHappened
from toolbus_contracts.executing.outcomes import Failure, Outcome, effect_after, judge_failure
from toolbus_contracts.executing.payloads import digests_in
from toolbus_contracts.tools import JsonObject, Terms
from toolbus_contracts.values import compact
from toolbus_contracts.work import PAYLOAD_THRESHOLD_BYTES
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Interrupted, Raised, Stopped

CLIENT_ERRORS = range(400, 500)
SUCCESSES = range(200, 300)


def judge(ended: Ended, terms: Terms, *, is_sent: bool) -> Outcome:
    """What came of a call; `is_sent`: something of it may have left."""
    match ended:
        case Gave(output=output):
            kept, large = split(output)
            return Outcome("succeeded", output=kept, large=large)
        case FailedMethod():
            return _failed(ended, terms, is_sent=is_sent)
        case Interrupted(kind=kind, message=message):
            return judge_failure(Failure(kind, message if is_sent else f"nothing was sent: {message}", is_sent), terms)
        case Raised(message=message):
            return _raised(message, terms, is_sent=is_sent)
        case Stopped():
            return judge_failure(Failure("timeout", "no answer in time", is_sent), terms)
        case _:
            assert_never(ended)


def judge_lost(reason: str, terms: Terms, *, is_sent: bool, retry_after_s: float = 0.0) -> Outcome:
    """The process of the provider ended during the call."""
    message = f"the provider's process ended: {reason}"
    if not is_sent:
        error = CallError(code="executor_lost", message=f"{message}; nothing was sent", retryable=True)
        return Outcome("not_sent", error=error, retry_after_s=retry_after_s or None)
    error = CallError(
        code="executor_lost",
        message=message,
        retryable=terms.is_safe_to_repeat,
        effect_happened=effect_after(terms),
    )
    return Outcome("unknown", error=error, retry_after_s=retry_after_s or None)


def away(message: str, retry_after_s: float) -> Outcome:
    """The provider is not there now; the others are."""
    error = CallError(code="unavailable", message=message, retryable=True)
    return Outcome("not_sent", error=error, retry_after_s=retry_after_s)


def split(output: JsonObject) -> tuple[JsonObject, dict[str, bytes]]:
    """
    The output, at most 64 KiB of it, and by name the fields that are too large to travel in it.

    Also what would be taken for a reference to a payload, which a vendor must not forge, lies apart.
    """
    written = {name: compact(value).encode() for name, value in output.items()}
    left = sum(map(len, written.values()))
    large: dict[str, bytes] = {}
    for name in sorted(written, key=lambda name: -len(written[name])):
        if left > PAYLOAD_THRESHOLD_BYTES or next(digests_in(output[name]), None) is not None:
            large[name] = written[name]
            left -= len(written[name])
    return {**output, **dict.fromkeys(large)}, large


def _failed(ended: FailedMethod, terms: Terms, *, is_sent: bool) -> Outcome:
    error = CallError(
        code=ended.code,
        message=ended.message,
        retryable=ended.retryable,
        effect_happened=_happened(ended, terms) if is_sent else "no",
        response=ended.response,
    )
    return Outcome("failed", error=error, retry_after_s=ended.retry_after_s)


def _happened(ended: FailedMethod, terms: Terms) -> EffectHappened:
    """
    What the provider knows, else what the status says.

    A 4xx to the only request that could change something says that nothing happened, and a 2xx that it did.
    """
    if ended.has_effect is not None:
        return "yes" if ended.has_effect else "no"
    if terms.is_safe_to_repeat:
        return "no"
    if ended.response is None or ended.effects > 1:
        return effect_after(terms)
    if ended.response.status_code in CLIENT_ERRORS:
        return "no"
    return "yes" if ended.response.status_code in SUCCESSES and ended.effects else effect_after(terms)


def _raised(message: str, terms: Terms, *, is_sent: bool) -> Outcome:
    """A fault of the provider: before anything was sent it is the outcome, and behind it nobody knows."""
    happened = effect_after(terms) if is_sent else "no"
    error = CallError(code="provider_failed", message=f"the provider broke: {message}", effect_happened=happened)
    return Outcome("unknown" if happened == "unknown" else "failed", error=error)
