"""What an attempt came to, and what each way of failing says about the effect. Source: DESIGN §5."""

from dataclasses import dataclass, field
from typing import Final, Literal

from toolbus_contracts.calls import CallError, Detail, EffectHappened, InputAsked, ResponseExcerpt
from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import JsonObject, Terms

MAX_DETAILS: Final = 100  # whatever is wrong in every item of a long list: an outcome must fit into one message


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of one attempt: what was found, not what it means for the call.

    `large` holds, by output field, what is too large to travel inside it; `retry_after_s` is for how long
    the target wants to be left alone. `asked` is what a server that did nothing yet wants to know (`input_required`).
    """

    result: Literal["succeeded", "failed", "not_sent", "unknown", "input_required"]
    output: JsonObject | None = None
    error: CallError | None = None
    asked: InputAsked | None = None
    retry_after_s: float | None = None
    large: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """
    An exchange that brought no complete answer.

    `is_sent` is our own flag at the socket: true from just before the first byte could leave. `unwanted`:
    somebody asked for the call to be stopped. `code` is that of the rule by which it was `denied`.
    """

    kind: Literal["timeout", "lost", "too_late", "denied", "unwanted"]
    message: str
    is_sent: bool
    response: ResponseExcerpt | None = None
    code: str = "egress_denied"


def refused(error: Refused) -> Outcome:
    """
    Nothing was sent, because no valid request could be made.

    A large value that was lost on its way is laid down again with the next attempt.
    """
    is_lost = error.code == "payload_missing"
    details = tuple(Detail(path=path, message=message) for path, message in error.faults[:MAX_DETAILS])
    told = CallError(code=error.code, message=error.message, retryable=is_lost, details=details)
    return Outcome("not_sent" if is_lost else "failed", error=told)


def deadline_passed() -> Outcome:
    """Nothing was sent, because nobody waits for the answer any more."""
    return Outcome("failed", error=CallError(code="deadline_passed", message="the deadline passed before it was sent"))


def effect_after(terms: Terms) -> EffectHappened:
    """What is known of the effect once a request has left and no answer tells."""
    return "no" if terms.effect == "read" else "unknown"


def judge_failure(failure: Failure, terms: Terms) -> Outcome:
    """
    What it means that no complete answer came.

    A hop that the guard refused was not sent; a redirect that led to it was, and like any redirect it
    leaves open whether the effect happened.
    """
    if failure.kind == "denied":
        happened = effect_after(terms) if failure.is_sent else "no"
        return Outcome("failed", error=CallError(code=failure.code, message=failure.message, effect_happened=happened))
    if not failure.is_sent:
        is_unwanted = failure.kind == "unwanted"
        code = "cancelled" if is_unwanted else "connection_failed"
        return Outcome("not_sent", error=CallError(code=code, message=failure.message, retryable=not is_unwanted))
    error = CallError(
        code="connection_lost" if failure.kind == "lost" else "timeout",
        message=failure.message,
        retryable=terms.is_safe_to_repeat,
        effect_happened=effect_after(terms),
        response=failure.response,
    )
    return Outcome("unknown", error=error)
