"""Problem details: one shape for every way in which a refusal is told."""

from tests.unit.contracts.calls import DISPATCHED, ERROR, NOW, REFUSED, REQUESTED, after
from toolbus_contracts.calls import CallFailed, Detail
from toolbus_contracts.errors import Fault, NotFound, Unreadable
from toolbus_contracts.problems import MAX_TEXT_CHARS, problem, problem_of_call
from toolbus_contracts.values import MAX_FAULTS

FAILED = CallFailed(call_id="call_1", attempt=1, executor="x", error=ERROR, duration_ms=1, at=NOW)


def test_a_problem_says_what_is_wrong_and_what_to_do() -> None:
    """Type, title, status, code and next step come from the table; nothing empty is told. Source: RFC 9457."""
    assert problem(NotFound("there is no call call_1")) == {
        "type": "urn:toolbus:problem:not_found",
        "title": "No such thing",
        "status": 404,
        "detail": "there is no call call_1",
        "code": "not_found",
        "next_step": "Check the id and the tenant of your key.",
    }


def test_a_problem_names_each_fault_and_where_it_happened() -> None:
    """Input faults are listed with their paths; instance and call id are there when they are known."""
    told = problem(Unreadable("invalid_value", "no", (Fault("/a", "NUL"),)), instance="req_1", call_id="call_1")
    assert told["errors"] == [{"path": "/a", "message": "NUL"}]
    assert (told["instance"], told["call_id"]) == ("req_1", "call_1")


def test_an_unreadable_input_without_faults_is_wrong_as_a_whole() -> None:
    """Whoever reads `errors` finds something there; texts and lists from outside are bounded."""
    assert problem(Unreadable("invalid_json", "no JSON"))["errors"] == [{"path": "", "message": "no JSON"}]
    told = problem(Unreadable("invalid_value", "x" * 10_000, (Fault("/a", "y" * 10_000),) * 1000))
    assert len(told["detail"]) == len(told["errors"][0]["message"]) == MAX_TEXT_CHARS
    assert len(told["errors"]) == MAX_FAULTS


def test_a_refused_call_is_a_problem_too() -> None:
    """Its details are paths into the arguments; a call that goes on, or failed, is none."""
    error = REFUSED.error.model_copy(
        update={"code": "invalid_arguments", "details": (Detail(path="/amount", message="too much"),)}
    )
    told = problem_of_call(after(REFUSED.model_copy(update={"error": error})))
    assert told is not None
    assert (told["code"], told["status"], told["call_id"]) == ("invalid_arguments", 422, "call_1")
    assert told["errors"] == [{"path": "/arguments/amount", "message": "too much"}]
    other = problem_of_call(after(REFUSED.model_copy(update={"error": error.model_copy(update={"code": "busy"})})))
    assert other is not None
    assert other["errors"] == [{"path": "/amount", "message": "too much"}]
    assert problem_of_call(after(REQUESTED, DISPATCHED)) is None
    assert problem_of_call(after(REQUESTED, DISPATCHED, FAILED)) is None
