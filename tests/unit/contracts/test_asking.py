"""What a server wants to know before it goes on: what a person is asked, and what the server is told."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.contracts.calls import DISPATCHED, NOW, REQUESTED, STARTED, after
from toolbus_contracts.calls import (
    AttemptFailed,
    Call,
    CallError,
    CallResumed,
    Continued,
    InputAsked,
    InputRequired,
    Question,
    RecordOutcome,
    WaitAsked,
    call_digest,
    evolve_call,
    explain,
    responses_to,
)
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.permits import held_digest
from toolbus_contracts.executing.redacting import redacted
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.tools import AskUser, Terms
from toolbus_contracts.work import WorkItem

LATER = NOW + timedelta(seconds=10)
CITY = InputAsked(
    form=AskUser(fields={"city": {"type": "string"}}, message="Which city?"),
    questions=(Question(name="where", properties={"city": "name"}),),
    request_state="s1",
)
AGAIN = InputAsked(request_state="s2")


def required(asked: InputAsked, attempt: int = 1) -> InputRequired:
    """The server of an attempt wants to know this."""
    return InputRequired(call_id="call_1", attempt=attempt, executor="x", asked=asked, duration_ms=5, at=LATER)


def stands(kind: Any = "input") -> WaitAsked:
    """The call stands still for somebody."""
    told: dict[str, Any] = {"wait_id": "wait_1", "wait_kind": kind, "number": 1, "digest": "sha256:1"}
    return WaitAsked(call_id="call_1", expires_at=LATER + timedelta(seconds=60), at=LATER, **told)


def resumed(kind: Any = "input", **parts: Any) -> CallResumed:
    """Somebody spoke."""
    told: dict[str, Any] = {"wait_id": "wait_1", "wait_kind": kind, "digest": "sha256:1", "by": ("user:bo",), **parts}
    return CallResumed(call_id="call_1", at=LATER, **told)


def then(call: Call, *events: Any) -> Call:
    """The call after these further events."""
    for event in events:
        call = evolve_call(call, event) or call
    return call


ASKED = after(REQUESTED, DISPATCHED, STARTED, required(CITY), stands())
ANSWERED = then(ASKED, resumed(answers={"city": "Rome"}))


@pytest.mark.parametrize(
    ("question", "answers", "response"),
    [
        (
            Question(name="q", properties={"a": "x", "b": "y"}),
            {"a": 1, "c": 2},
            {"action": "accept", "content": {"x": 1}},
        ),
        (Question(name="q", consent="q"), {"q": True}, {"action": "accept", "content": {}}),
        (Question(name="q", mode="url", consent="q"), {"q": True}, {"action": "accept"}),
        (Question(name="q", mode="url", consent="q"), {"q": False}, {"action": "decline"}),
        (Question(name="q", consent="q"), {}, {"action": "decline"}),
        (Question(name="q", consent="q"), {"q": 1}, {"action": "decline"}),
    ],
)
def test_a_server_is_told_by_the_names_of_its_questions(question: Question, answers: Any, response: Any) -> None:
    """What a person left out is left out; only a plain yes is one."""
    assert responses_to(InputAsked(questions=(question,)), answers) == {"q": response}


def test_while_its_server_asks_a_call_shows_the_form_of_the_server() -> None:
    """Nothing is started any more, and what the server is told is open."""
    assert (ASKED.form, ASKED.start, ASKED.error, ASKED.continued) == (CITY.form, None, None, None)
    assert ASKED.asked is not None
    assert (ASKED.asked.round, ASKED.asked.is_open, ASKED.asked.continued.responses) == (1, True, {})
    told = "waits for a person to supply city since 0.0 s, expires in 60.0 s"
    assert explain(ASKED, LATER) == told


def test_an_answer_goes_to_the_server_and_changes_no_argument() -> None:
    """With the server's own state; what was approved before has to be approved again."""
    assert ANSWERED.status == "requested"
    assert ANSWERED.arguments == REQUESTED.arguments
    assert not ANSWERED.has_input
    told = {"where": {"action": "accept", "content": {"name": "Rome"}}}
    assert ANSWERED.continued == Continued(responses=told, request_state="s1")
    assert ANSWERED.form == REQUESTED.ask_user
    agreed = then(ANSWERED, stands("approval"), resumed("approval"))
    assert agreed.approved is not None
    asked_again = then(agreed, required(CITY, 2), stands(), resumed(answers={"city": "Bonn"}))
    assert asked_again.approved is None


def test_answers_of_every_round_are_part_of_what_is_approved() -> None:
    """Also when the server wants nothing more than the same call again, to which no old answer is sent."""
    first = call_digest("acme", ANSWERED)
    again = then(ANSWERED, DISPATCHED.model_copy(update={"attempt": 2}), required(AGAIN, 2))
    assert again.continued is not None
    assert (again.continued.responses, again.continued.request_state) == ({}, "s2")
    assert call_digest("acme", again) == first != call_digest("acme", after(REQUESTED))
    assert again.definition is not None
    item = WorkItem(
        call_id="call_1",
        tenant="acme",
        execution_id="exec_1",
        attempt=3,
        definition=again.definition,
        arguments=again.arguments,
        continued=again.continued,
        terms=Terms(),
        needs_start=True,
        approved=first,
        on_behalf_of=again.actor.on_behalf_of,
        deadline_at=again.deadline_at,
    )
    call = again.model_copy(update={"definition_hash": item.definition.definition_hash()})
    assert held_digest(item) == call_digest("acme", call)
    assert held_digest(item.model_copy(update={"continued": None})) != call_digest("acme", call)


def test_an_attempt_whose_server_asked_counts_as_no_retry() -> None:
    """It did not fail."""
    assert (ASKED.tries, after(REQUESTED, DISPATCHED).tries) == (0, 1)
    second = then(ANSWERED, DISPATCHED.model_copy(update={"attempt": 2}))
    assert second.tries == 1
    error = CallError(code="input_required", message="once more")
    due: dict[str, Any] = {"executor": "x", "error": error, "retry_at": LATER, "duration_ms": 5, "at": LATER}
    waits = then(second, required(AGAIN, 2), AttemptFailed(call_id="call_1", attempt=2, **due))
    assert explain(waits, LATER) == "its server wants to be called again (once more); the next one is due in 0.0 s"


def test_what_a_server_asks_is_told_without_secrets() -> None:
    """A state that holds one is not kept: the server would not know it without."""
    redactor = Redactor([("token", "s3cr3t-value")])
    said = CITY.model_copy(update={"form": AskUser(fields={"city": {"title": "of s3cr3t-value"}})})
    found = redacted(Outcome("input_required", asked=said), redactor, Terms())
    assert found.asked is not None
    assert found.asked.form is not None
    assert found.asked.form.fields == {"city": {"title": "of [secret:token]"}}
    assert found.asked.request_state == "s1"
    kept = said.model_copy(update={"request_state": "x=s3cr3t-value"})
    dropped = redacted(Outcome("input_required", asked=kept), redactor, Terms())
    assert dropped.error is not None
    assert (dropped.result, dropped.asked) == ("failed", None)
    assert (dropped.error.code, dropped.error.effect_happened) == ("redaction_failed", "no")


@pytest.mark.parametrize(("result", "asked"), [("input_required", None), ("failed", CITY), ("succeeded", AGAIN)])
def test_an_outcome_asks_when_it_says_so_and_only_then(result: str, asked: InputAsked | None) -> None:
    """What cannot be decided is not let in."""
    told = {"call_id": "call_1", "tenant": "acme", "attempt": 1, "delivery_id": "st_1", "executor": "x"}
    with pytest.raises(ValidationError, match="input_required"):
        RecordOutcome.model_validate({**told, "result": result, "asked": asked})
    found = RecordOutcome.model_validate({**told, "result": "input_required", "asked": CITY})
    assert found.asked == CITY
