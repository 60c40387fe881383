"""What an attempt came to, and what each way of failing says about the effect. Source: DESIGN §5."""

from dataclasses import dataclass, field
from typing import Literal

from toolbus_contracts.calls import CallError, EffectHappened, ResponseExcerpt
from toolbus_contracts.errors import Refused
from toolbus_contracts.tools import JsonObject, Terms


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one attempt; `large` holds, by output field, what is too large to travel inside it."""

    result: Literal["succeeded", "failed", "unknown"]
    output: JsonObject | None = None
    error: CallError | None = None
    large: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """
    An exchange that brought no complete answer.

    `is_sent` is our own flag at the socket: true from just before the first byte could leave.
    """

    kind: Literal["timeout", "lost", "too_late", "denied"]
    message: str
    is_sent: bool
    response: ResponseExcerpt | None = None


def refused(error: Refused) -> Outcome:
    """Nothing was sent, because no valid request could be made."""
    return Outcome("failed", error=CallError(code=error.code, message=error.message))


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
        return Outcome(
            "failed", error=CallError(code="egress_denied", message=failure.message, effect_happened=happened)
        )
    if not failure.is_sent:
        error = CallError(code="connection_failed", message=failure.message, retryable=True)
        return Outcome("failed", error=error)
    error = CallError(
        code="connection_lost" if failure.kind == "lost" else "timeout",
        message=failure.message,
        retryable=terms.is_safe_to_repeat,
        effect_happened=effect_after(terms),
        response=failure.response,
    )
    return Outcome("failed" if terms.is_safe_to_repeat else "unknown", error=error)
