"""
From what a host said of a call to an outcome: what is known of the effect, and what is too large to travel.

A host may say anything, since its provider may do anything in there: whatever comes of it is an outcome that can be
told and stored.
"""

from typing import Final, assert_never

from toolbus_contracts.calls import CallError, EffectHappened, ResponseExcerpt
from toolbus_contracts.errors import CODES
from toolbus_contracts.executing.outcomes import Failure, Outcome, effect_after, judge_failure
from toolbus_contracts.executing.payloads import digests_in
from toolbus_contracts.retry_after import LONGEST_S
from toolbus_contracts.tools import JsonObject, Terms
from toolbus_contracts.values import compact
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_THRESHOLD_BYTES
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Interrupted, Raised, Stopped

CLIENT_ERRORS: Final = range(400, 500)
SUCCESSES: Final = range(200, 300)
MAX_WORDS: Final = 2000
MAX_EXCERPT_BYTES: Final = 4 * 1024
MAX_EXCERPT_HEADERS: Final = 8 * 1024
LEAST_APART_BYTES: Final = 1024  # a smaller field takes no more room than the reference that would stand for it
MAX_TOLD_BYTES: Final = 512 * 1024  # of an output without what lies apart; a message on the bus holds little more
MAX_APART_BYTES: Final = 50 * 1024 * 1024 - 2  # the bucket takes no more


def judge(ended: Ended, terms: Terms, *, is_sent: bool) -> Outcome:
    """What came of a call; `is_sent`: something of it may have left."""
    match ended:
        case Gave(output=output):
            return _gave(output, terms, is_sent=is_sent)
        case FailedMethod():
            return _failed(ended, terms, is_sent=is_sent)
        case Interrupted(kind=kind, message=words):
            message = words[:MAX_WORDS]
            return judge_failure(Failure(kind, message if is_sent else f"nothing was sent: {message}", is_sent), terms)
        case Raised(message=message):
            return _raised(message[:MAX_WORDS], terms, is_sent=is_sent)
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
    The output, at most 64 KiB of it or small fields, and by name the fields that are too large to travel in it.

    Also what would be taken for a reference to a payload, which a vendor must not forge, lies apart.
    """
    written = {name: compact(value).encode() for name, value in output.items()}
    left = sum(map(len, written.values()))
    large: dict[str, bytes] = {}
    for name in sorted(written, key=lambda name: -len(written[name])):
        is_large = left > PAYLOAD_THRESHOLD_BYTES and len(written[name]) > LEAST_APART_BYTES
        if is_large or next(digests_in(output[name]), None) is not None:
            large[name] = written[name]
            left -= len(written[name])
    return {**output, **dict.fromkeys(large)}, large


def _gave(output: JsonObject, terms: Terms, *, is_sent: bool) -> Outcome:
    """A success, unless nobody could be told of it: the effect happened all the same."""
    kept, large = split(output)
    told = len(compact(kept).encode()) + LEAST_APART_BYTES * len(large)
    if isinstance(output.get(PAYLOAD_KEY), str):
        code, message = "response_invalid", f"the output has a field {PAYLOAD_KEY}, which stands for something else"
    elif told > MAX_TOLD_BYTES:
        code, message = "response_too_large", f"the {len(output)} fields of the output are too much to be told together"
    elif any(len(body) > MAX_APART_BYTES for body in large.values()):
        code, message = "response_too_large", f"a field of the output has more than {MAX_APART_BYTES} bytes"
    else:
        return Outcome("succeeded", output=kept, large=large)
    happened: EffectHappened = "yes" if is_sent and terms.effect != "read" else "no"
    return Outcome("failed", error=CallError(code=code, message=message, effect_happened=happened))


def _failed(ended: FailedMethod, terms: Terms, *, is_sent: bool) -> Outcome:
    error = CallError(
        code=ended.code if ended.code in CODES else "provider_failed",
        message=ended.message[:MAX_WORDS],
        retryable=ended.retryable,
        effect_happened=_happened(ended, terms) if is_sent else "no",
        response=None if ended.response is None else _bounded(ended.response),
    )
    pause_s = None if ended.retry_after_s is None else min(max(ended.retry_after_s, 0.0), LONGEST_S)
    if ended.code == "connection_failed" and ended.retryable and error.effect_happened == "no":
        return Outcome("not_sent", error=error, retry_after_s=pause_s)  # the provider knows that it did not begin
    return Outcome("failed", error=error, retry_after_s=pause_s)


def _bounded(response: ResponseExcerpt) -> ResponseExcerpt:
    """The beginning of an excerpt, as much as any excerpt may have."""
    headers: dict[str, str] = {}
    room = MAX_EXCERPT_HEADERS
    for name, value in response.headers.items():
        room -= len(name) + len(value)
        if room < 0:
            break
        headers[name] = value
    body = response.body_excerpt.encode()[:MAX_EXCERPT_BYTES].decode("utf-8", "ignore")
    return ResponseExcerpt(status_code=response.status_code, headers=headers, body_excerpt=body)


def _happened(ended: FailedMethod, terms: Terms) -> EffectHappened:
    """
    What the provider knows, else what the status says.

    A 4xx to the only request that could change something says that nothing happened, and a 2xx that it did.
    """
    if ended.has_effect is not None:
        return "yes" if ended.has_effect and terms.effect != "read" else "no"
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
