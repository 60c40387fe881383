"""Decide what it means that the server of an attempt wants to know more before it goes on: it did nothing yet."""

from datetime import datetime

from toolbus_contracts.calls import (
    MAX_ROUNDS,
    Call,
    CallError,
    Detail,
    InputAsked,
    InputRequired,
    RecordOutcome,
    evolve_call,
)
from toolbus_contracts.errors import Refused
from toolbus_dispatcher.core.resources import check_ask_user


def why_not_asked(call: Call, asked: InputAsked) -> CallError | None:
    """Why nobody is asked: the server has asked too often, or in a way that nobody could answer."""
    if call.asked is not None and call.asked.round >= MAX_ROUNDS:
        return CallError(code="too_many_rounds", message=f"the server wanted to know more for {MAX_ROUNDS} times")
    if asked.form is None:
        return None
    try:
        check_ask_user(asked.form)
    except Refused as refusal:
        details = tuple(Detail(path=fault.path, message=fault.message) for fault in refusal.faults)
        message = f"what the server wants to know makes no form: {refusal.message}"
        return CallError(code="input_required", message=message, details=details)
    return None


def decide_asked(command: RecordOutcome, call: Call, asked: InputAsked, *, now: datetime) -> tuple[InputRequired, Call]:
    """What the server wants is on the record, and the call as it stands then: what comes next has no attempt yet."""
    required = InputRequired(
        call_id=call.id,
        attempt=command.attempt,
        executor=command.executor,
        asked=asked,
        duration_ms=command.duration_ms,
        response_ms=command.response_ms,
        at=now,
    )
    return required, evolve_call(call, required) or call
