"""Values that a person supplies, and what a client's function came to."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.approvals.making import (
    AFTERWARDS,
    ARGUMENTS,
    DIGEST,
    EXPIRES,
    OTHER,
    SOON,
    TENANT,
    approval,
    function,
    kinds,
    person,
    question,
    then,
)
from toolbus_approvals.core.answering import answer_schema, decide_answer, decide_complete, merged
from toolbus_approvals.core.closing import decide_expire, decide_withdraw
from toolbus_approvals.core.late import MAX_LATE, came_late
from toolbus_approvals.core.opening import digest_with
from toolbus_contracts.calls import CallError
from toolbus_contracts.errors import Conflict, Fault, Refused
from toolbus_contracts.tools import AskUser
from toolbus_contracts.values import Json
from toolbus_contracts.waits import (
    AnswerCameLate,
    AnswerWait,
    AnyWaitEvent,
    CompleteCall,
    FunctionError,
    Spoken,
    Wait,
    WaitClosed,
)

ANA = person("user:ana")
WORKER = person("service:worker", key_id="key_7")
VALUES = {"iban": "DE1", "amount": 5}
ASKED, FUNCTION = question(), function()


def answer(
    wait: Wait, who: Spoken = ANA, values: dict[str, Json] | None = None, digest: str = DIGEST, **parts: Any
) -> tuple[AnyWaitEvent, ...]:
    """Somebody supplies values."""
    command = AnswerWait(digest=digest, values=VALUES if values is None else values)
    return decide_answer(command, wait, who, **{"faults": (), "tenant": TENANT, **parts})


def complete(wait: Wait, output: Json = None, error: FunctionError | None = None) -> tuple[AnyWaitEvent, ...]:
    """A client tells what its function came to."""
    return decide_complete(CompleteCall(output=output, error=error), wait, WORKER)


ANSWERED = then(ASKED, answer(ASKED))
FAILURE = FunctionError(message="no such letter", code="no_letter")


@pytest.mark.parametrize(("required", "expected"), [(None, ["iban", "amount"]), ((), []), (("iban",), ["iban"])])
def test_an_answer_has_the_fields_that_were_asked_for(required: tuple[str, ...] | None, expected: list[str]) -> None:
    """All of them unless told otherwise, and no other: the rest of the arguments is the model's."""
    fields: dict[str, Json] = {"iban": {"type": "string"}, "amount": {"type": "integer"}}
    assert answer_schema(AskUser(fields=fields, required=required)) == {
        "type": "object",
        "properties": fields,
        "required": expected,
        "additionalProperties": False,
    }


def test_values_are_laid_over_the_arguments() -> None:
    """The person's word counts, whatever the model said; where there are no single arguments the values are all."""
    assert merged(ARGUMENTS, VALUES) == {"charge": "ch_1", "amount": 5, "iban": "DE1"}
    assert merged(None, VALUES) == VALUES


def test_an_answer_ends_the_wait_with_a_new_digest() -> None:
    """The call goes on with what the person made of its arguments; the requester may be that person."""
    arguments = merged(ARGUMENTS, VALUES)
    assert answer(ASKED) == (
        WaitClosed(
            wait_id="wait_1",
            call_id="call_1",
            wait_kind="input",
            outcome="answered",
            digest=digest_with(ASKED, TENANT, arguments),
            arguments=arguments,
            by=("user:ana",),
            at=SOON,
        ),
    )


def test_large_arguments_may_rest_elsewhere() -> None:
    """Then the caller says what the merged ones are, as they will rest in the log."""
    slim = {"$payload": "sha256:abc"}
    (closed,) = answer(ASKED, arguments=slim)
    assert isinstance(closed, WaitClosed)
    assert (closed.arguments, closed.digest) == (slim, digest_with(ASKED, TENANT, slim))


def test_values_that_do_not_fit_are_refused() -> None:
    """With the paths that are wrong; the wait stays open."""
    faults = (Fault("/values/iban", "not a string"), Fault("/values/x", "there is no such field"))
    with pytest.raises(Refused) as caught:
        answer(ASKED, faults=faults)
    assert (caught.value.code, caught.value.faults) == ("invalid_request", faults)
    assert caught.value.message == "the values do not fit: not a string"


def test_an_answer_to_something_else_is_a_conflict() -> None:
    """By its digest, or by the kind of the wait."""
    with pytest.raises(Conflict) as caught:
        answer(ASKED, digest=OTHER)
    assert caught.value.code == "digest_mismatch"
    with pytest.raises(Conflict) as caught:
        answer(approval())
    assert caught.value.code == "wrong_wait_kind"


def test_the_same_answer_again_adds_nothing() -> None:
    """From the same person, however late."""
    assert answer(ANSWERED, person("user:ana", key_id="key_9", at=AFTERWARDS)) == ()


@pytest.mark.parametrize(
    "events",
    [
        answer(ANSWERED, values={"iban": "DE2"}),
        answer(ANSWERED, person("user:bo")),
        answer(ANSWERED, digest=OTHER),
        answer(then(ASKED, decide_withdraw(ASKED, note="", now=SOON))),
        answer(then(ASKED, decide_expire(ASKED, now=EXPIRES))),
        answer(ASKED, person("user:bo", at=EXPIRES)),
    ],
)
def test_any_other_answer_is_late(events: tuple[AnyWaitEvent, ...]) -> None:
    """It is recorded, without effect and without its values."""
    (event,) = events
    assert isinstance(event, AnswerCameLate)
    assert (event.said, event.note) == ("answer", "")


@pytest.mark.parametrize("output", [{"letter": "l_1"}, None, [], 0, False, "", 1.5])
def test_a_function_may_come_to_any_value(output: Json) -> None:
    """Also to nothing."""
    assert complete(FUNCTION, output) == (
        WaitClosed(
            wait_id="wait_1",
            call_id="call_1",
            wait_kind="function",
            outcome="completed",
            digest=DIGEST,
            output=output,
            by=("service:worker",),
            at=SOON,
        ),
    )


def test_a_function_may_fail() -> None:
    """With the client's own code; whether its part was done is not known."""
    (closed,) = complete(FUNCTION, error=FAILURE)
    assert isinstance(closed, WaitClosed)
    assert (closed.outcome, closed.output) == ("failed", None)
    assert closed.error == CallError(code="no_letter", message="no such letter", effect_happened="unknown")


ANSWERS: list[tuple[Json, FunctionError | None]] = [
    (1, None),
    (1.0, None),
    (True, None),
    ({"a": 1, "b": 2}, None),
    (None, None),
    (None, FAILURE),
    (None, FAILURE.model_copy(update={"message": "gone"})),
    (None, FunctionError(message="no such letter")),
]


@pytest.mark.parametrize(("first", "error"), ANSWERS)
def test_one_answer_is_taken(first: Json, error: FunctionError | None) -> None:
    """The same again is the same answer, also after its time; every other one is a conflict."""
    done = then(FUNCTION, complete(FUNCTION, first, error))
    for output, failure in ANSWERS:
        if (repr(output), failure) == (repr(first), error):
            assert complete(done, output, failure) == ()
            assert (
                decide_complete(CompleteCall(output=output, error=failure), done, person("user:bo", at=AFTERWARDS))
                == ()
            )
            continue
        with pytest.raises(Conflict) as caught:
            complete(done, output, failure)
        assert (caught.value.code, caught.value.status) == ("answer_taken", 409)


def test_the_order_of_keys_makes_no_other_answer() -> None:
    """A retry may be written by another serializer."""
    done = then(FUNCTION, complete(FUNCTION, {"a": 1, "b": 2}))
    assert complete(done, {"b": 2, "a": 1}) == ()


@pytest.mark.parametrize(
    "wait",
    [
        then(FUNCTION, decide_withdraw(FUNCTION, note="cancelled", now=SOON)),
        then(FUNCTION, decide_expire(FUNCTION, now=EXPIRES)),
        function(expires_at=SOON),
    ],
)
def test_an_answer_after_the_end_is_recorded_and_refused(wait: Wait) -> None:
    """The call has ended or is about to, and the worker hears that it came too late."""
    events = complete(wait, {"letter": "l_1"})
    assert kinds(events) == ["answer_came_late"]
    assert came_late(events)
    with pytest.raises(Conflict):
        complete(wait.model_copy(update={"late": MAX_LATE}))


def test_a_function_is_answered_until_its_last_moment() -> None:
    """Not one microsecond earlier than it expires."""
    wait = function(expires_at=SOON + timedelta(microseconds=1))
    assert kinds(complete(wait)) == ["closed"]


def test_only_functions_are_completed() -> None:
    """An approval is not."""
    with pytest.raises(Conflict) as caught:
        complete(approval())
    assert caught.value.code == "wrong_wait_kind"
