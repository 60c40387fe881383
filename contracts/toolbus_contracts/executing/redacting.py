"""What an attempt came to, as it may be told: without the secrets that were used for it."""

from dataclasses import replace

from toolbus_contracts.calls import CallError, InputAsked
from toolbus_contracts.errors import CODES
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redaction import RedactionFailed, Redactor
from toolbus_contracts.tools import Terms

DROPPED = "it could not be searched for secrets"


def redacted(outcome: Outcome, redactor: Redactor, terms: Terms) -> Outcome:
    """The outcome without the secrets. What cannot be searched, for whatever reason, is not told at all."""
    if not redactor:
        return outcome
    try:
        return replace(
            outcome,
            output=redactor.in_json(outcome.output),
            error=None if outcome.error is None else _cleaned(outcome.error, redactor),
            asked=None if outcome.asked is None else _cleaned_asked(outcome.asked, redactor),
            large={name: redactor.in_bytes(body) for name, body in outcome.large.items()},
        )
    except Exception:  # noqa: BLE001 - it fails closed: no fault of ours may let a secret pass
        return _dropped(outcome, terms)


def _cleaned(error: CallError, redactor: Redactor) -> CallError:
    told = error.model_dump(mode="json", by_alias=True)
    return CallError.model_validate(redactor.in_json(told))


def _cleaned_asked(asked: InputAsked, redactor: Redactor) -> InputAsked:
    """What a server asks. Raises: RedactionFailed, when a secret stands in its state: it would not know it again."""
    found = InputAsked.model_validate(redactor.in_json(asked.model_dump(mode="json")))
    if found.request_state != asked.request_state:
        raise RedactionFailed("the state of the server holds a secret")
    return found


def _dropped(outcome: Outcome, terms: Terms) -> Outcome:
    if outcome.asked is not None:
        message = f"what the server asks was dropped, because {DROPPED}"
        return Outcome("failed", error=CallError(code="redaction_failed", message=message))
    if outcome.error is None:
        message = f"the effect was made; its output was dropped, because {DROPPED}"
        happened = CallError(
            code="redaction_failed", message=message, effect_happened="no" if terms.effect == "read" else "yes"
        )
        return Outcome("failed", error=happened)
    error = outcome.error
    told = CallError(
        code=error.code if error.code in CODES else "redaction_failed",
        message=f"the details were dropped, because {DROPPED}",
        retryable=error.retryable,
        effect_happened=error.effect_happened,
    )
    return Outcome(outcome.result, error=told, retry_after_s=outcome.retry_after_s)
