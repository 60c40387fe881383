"""What an earlier attempt may have done is told of a call, however it ends afterwards."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.logs import failed, settled
from tests.unit.dispatcher.making import (
    AGAIN,
    CANCEL_REQUESTED,
    DISPATCHED,
    IN_DOUBT,
    LATER,
    LOST,
    NOT_SENT,
    REQUESTED,
    SAFE,
    STARTED,
    after,
    outcome,
)
from tests.unit.dispatcher.standing import AGREED, AROUND, going_on, resume, then
from toolbus_contracts.calls import AnyCallEvent, Call, CallCancelled, CallExpired, CallFailed, Detail, InputAsked
from toolbus_contracts.tools import Approval, AskUser, Terms
from toolbus_dispatcher.core.outcomes import decide_outcome
from toolbus_dispatcher.core.standing import decide_resume

NATIVE = SAFE.model_copy(update={"effect": "write"})
UNKNOWN = failed("call_1", error=LOST.model_copy(update={"effect_happened": "unknown"}))
CITY = InputAsked(form=AskUser(fields={"city": {"type": "string"}}))
NOTHING = failed("call_1")
SECOND = STARTED.model_copy(update={"attempt": 2})


def second(before: AnyCallEvent = UNKNOWN, terms: Terms = NATIVE, **changes: Any) -> Call:
    """A call whose first attempt ended like this, and whose second runs."""
    requested = REQUESTED.model_copy(update={"terms": terms, **changes})
    return after(requested, DISPATCHED, STARTED, before, AGAIN, SECOND)


def asking(call: Call) -> Call:
    """The server of the second attempt wants to know more."""
    found = then(call, *decide_outcome(outcome("input_required", 2, asked=CITY), call, now=LATER))
    assert (found.status, found.tries) == ("waiting", 1)
    return found


def happened(call: Call) -> str:
    """What the call says of its effect."""
    assert call.error is not None
    assert call.is_terminal
    return call.error.effect_happened


HISTORIES = [
    (second(), "unknown"),
    (second(NOTHING), "no"),
    (second(terms=SAFE), "no"),
    (second(failed("call_1", error=LOST.model_copy(update={"effect_happened": "yes"}))), "yes"),
]


@pytest.mark.parametrize(("call", "told"), HISTORIES)
@pytest.mark.parametrize("end", ["denied", "expired"])
def test_a_question_that_nobody_answers_denies_nothing(call: Call, end: str, told: str) -> None:
    """The server of this attempt did nothing; of one before it nobody knows, unless it was never sent or a read."""
    asked = asking(call)
    assert happened(then(asked, *going_on(asked, end))) == told


@pytest.mark.parametrize("end", ["denied", "expired", "void"])
def test_whoever_does_not_agree_again_denies_nothing(end: str) -> None:
    """Neither does silence that means no, nor an approval of something else."""
    asked = asking(second(approval=Approval.model_validate({**AGREED, "on_expiry": "deny"})))
    again = then(asked, *going_on(asked, "answered", answers={"city": "Rome"}))
    assert again.wait is not None
    assert again.wait.kind == "approval"
    if end == "void":
        forged = resume(again, "approved").model_copy(update={"digest": "sha256:" + "0" * 64})
        ended = then(again, *decide_resume(forged, again, AROUND, now=LATER))
    else:
        ended = then(again, *going_on(again, end))
    assert ended.status == ("refused" if end == "void" else "denied")
    assert happened(ended) == "unknown"


def test_arguments_that_do_not_fit_deny_nothing() -> None:
    """Whoever agreed again had changed them."""
    asked = asking(second(approval=Approval.model_validate(AGREED)))
    again = then(asked, *going_on(asked, "answered", answers={"city": "Rome"}))
    around = AROUND._replace(faults=(Detail(path="/charge", message="is no text"),))
    ended = then(again, *decide_resume(resume(again, "approved", arguments={"charge": 1}), again, around, now=LATER))
    assert (ended.error and ended.error.code, happened(ended)) == ("invalid_arguments", "unknown")


@pytest.mark.parametrize(("call", "told"), HISTORIES)
def test_a_call_that_is_stopped_while_it_asks_denies_nothing(call: Call, told: str) -> None:
    """Nor one whose deadline passes."""
    for end in (CallCancelled(call_id="call_1", reason="", at=LATER), CallExpired(call_id="call_1", at=LATER)):
        assert happened(then(asking(call), end)) == told


@pytest.mark.parametrize(("call", "told"), HISTORIES)
def test_a_last_attempt_that_was_not_sent_speaks_for_itself_alone(call: Call, told: str) -> None:
    """The failure that ends the call tells of all of them."""
    late = call.model_copy(update={"deadline_at": LATER + timedelta(milliseconds=1)})
    (event,) = decide_outcome(outcome("not_sent", 2, error=NOT_SENT), late, now=LATER)
    assert isinstance(event, CallFailed)
    assert event.error == NOT_SENT.model_copy(update={"effect_happened": told})
    (stopped,) = decide_outcome(outcome("not_sent", 2, error=NOT_SENT), then(call, CANCEL_REQUESTED), now=LATER)
    assert isinstance(stopped, CallCancelled if told == "no" else CallFailed)


def test_who_lets_a_doubt_run_again_does_not_say_that_nothing_happened() -> None:
    """It stays unknown, until an attempt succeeds."""
    again = after(REQUESTED, DISPATCHED, STARTED, IN_DOUBT, settled("call_1"), AGAIN, SECOND)
    asked = asking(again)
    assert happened(then(asked, *going_on(asked, "denied"))) == "unknown"
    done = then(again, *decide_outcome(outcome("succeeded", 2, output=7), again, now=LATER))
    assert (done.status, done.error) == ("succeeded", None)
