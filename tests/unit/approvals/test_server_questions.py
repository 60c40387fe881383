"""Waits in which a server asks: what it is told, and what whoever agrees afterwards is shown."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.approvals.making import DIGEST, NOW, OTHER, SOON, TENANT, after, approval, edit, grant, person, question
from tests.unit.dispatcher.making import DISPATCHED, REQUESTED, STARTED
from tests.unit.dispatcher.making import after as call_after
from toolbus_approvals.core.answering import MAX_ANSWERS_BYTES, decide_answer
from toolbus_approvals.core.ending import needless
from toolbus_approvals.core.grants import speaks_for
from toolbus_approvals.core.opening import digest_with, doubt_id, open_for_call
from toolbus_contracts.calls import Call, CallResumed, InputAsked, InputRequired, Question, WaitAsked, call_digest
from toolbus_contracts.errors import Conflict, Refused
from toolbus_contracts.tools import Approval, AskUser
from toolbus_contracts.waits import AnswerWait, Wait, WaitClosed, view_wait

ANA, BO = person("user:ana"), person("user:bo")
ASKED = question(is_from_server=True)
FORM = AskUser(fields={"iban": {"type": "string"}}, message="Which account?")
WANTED = InputAsked(form=FORM, questions=(Question(name="which", properties={"iban": "iban"}),), request_state="s1")
TOLD = {"which": {"action": "accept", "content": {"iban": "DE1"}}}


def answer(wait: Wait, values: Any, who: Any = ANA, digest: str = DIGEST) -> tuple[Any, ...]:
    """Somebody answers the server."""
    return decide_answer(AnswerWait(digest=digest, values=values), wait, who, faults=(), tenant=TENANT)


def standing(kind: Any, *, is_answered: bool = False) -> Call:
    """A call that stands still for this, after its server has asked."""
    requested = REQUESTED.model_copy(update={"approval": Approval(may_edit=True)})
    required = InputRequired(call_id="call_1", attempt=1, executor="x", asked=WANTED, duration_ms=1, at=NOW)
    resumed = CallResumed(
        call_id="call_1", wait_id="w", wait_kind="input", answers={"iban": "DE1"}, digest="", by=(), at=NOW
    )
    call = call_after(requested, DISPATCHED, STARTED, required, *([resumed] if is_answered else []))
    asked: dict[str, Any] = {"wait_kind": kind, "number": 1, "digest": call_digest(TENANT, call)}
    expires_at = NOW + timedelta(hours=1)
    standing = WaitAsked(call_id="call_1", wait_id="wait_1", expires_at=expires_at, at=NOW, **asked)
    return call_after(requested, DISPATCHED, STARTED, required, *([resumed] if is_answered else []), standing)


def opened(call: Call) -> Wait:
    """The wait that is opened for it."""
    found = open_for_call(call, TENANT, now=SOON)
    assert found is not None
    return after(found)


def test_the_form_is_that_of_the_server() -> None:
    """Its state is in no wait: nobody is shown it."""
    wait = opened(standing("input"))
    assert (wait.ask_user, wait.is_from_server, wait.answers, wait.attempt) == (FORM, True, {}, 1)
    assert "s1" not in view_wait(wait).model_dump_json()
    assert view_wait(wait).is_from_server


def test_what_is_answered_goes_to_the_server() -> None:
    """No argument changes, and so the digest does not; the arguments may be anything."""
    assert answer(ASKED, {"iban": "DE1"}) == (
        WaitClosed(
            wait_id="wait_1",
            call_id="call_1",
            wait_kind="input",
            outcome="answered",
            digest=DIGEST,
            answers={"iban": "DE1"},
            by=("user:ana",),
            at=SOON,
        ),
    )


@pytest.mark.parametrize(("values", "who"), [({"iban": True}, ANA), ({"iban": 1}, BO)])
def test_the_same_answer_again_is_the_same_answer(values: Any, who: Any) -> None:
    """Of the same person with the same values, to the text of a number; anything else came too late."""
    closed = ASKED.model_copy(update={"closed": answer(ASKED, {"iban": 1})[0]})
    assert answer(closed, {"iban": 1}) == ()
    (late,) = answer(closed, values, who)
    assert late.kind == "wait.answer_came_late.v1"
    with pytest.raises(Conflict):
        answer(ASKED, {"iban": 1}, digest=OTHER)


def test_a_server_is_not_told_a_book() -> None:
    """What it is told travels with the work, and rests in the log."""
    with pytest.raises(Refused) as refusal:
        answer(ASKED, {"iban": "x" * MAX_ANSWERS_BYTES})
    assert refusal.value.code == "body_too_large"
    (closed,) = answer(question(), {"iban": "x" * MAX_ANSWERS_BYTES})
    assert closed.outcome == "answered"


def test_whoever_agrees_sees_what_the_server_is_told() -> None:
    """It is under the digest; the arguments stay as they are, since the server has begun with them."""
    call = standing("approval", is_answered=True)
    wait = opened(call)
    assert (wait.answers, wait.is_from_server, wait.ask_user) == (TOLD, False, None)
    assert view_wait(wait).answers == TOLD
    assert wait.digest == digest_with(wait, TENANT, wait.arguments) == call_digest(TENANT, call)
    assert digest_with(wait.model_copy(update={"answers": {}}), TENANT, wait.arguments) != wait.digest
    with pytest.raises(Refused) as refusal:
        edit(wait, BO, {"charge": "ch_2"})
    assert refusal.value.code == "edit_not_allowed"


def test_no_grant_speaks_for_what_was_answered() -> None:
    """Its giver has not seen it."""
    assert speaks_for(grant(), approval(), SOON)
    assert not speaks_for(grant(), approval().model_copy(update={"answers": TOLD}), SOON)


def test_a_server_that_asks_ends_the_doubt_about_its_attempt() -> None:
    """It says that it has done nothing."""
    doubt = doubt_id("call_1", 1)
    assert needless("call.input_required.v1", "call_1", 1, ["wait_1", doubt]) == (doubt,)
