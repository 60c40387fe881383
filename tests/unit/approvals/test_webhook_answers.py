"""What the answers of receivers mean."""

import pytest

from toolbus_approvals.core.answers import Answer, judge_event, judge_function


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_says_that_it_arrived(status: int) -> None:
    """Whatever the body."""
    assert judge_event(Answer(status, b"<html>")).has_arrived


@pytest.mark.parametrize("status", [0, 100, 301, 302, 307, 400, 404, 429, 500, 503])
def test_anything_else_is_tried_again(status: int) -> None:
    """A redirect too: what is signed for one url goes to no other."""
    judged = judge_event(Answer(status, error="no answer within 15 s" if status == 0 else None))
    assert not judged.has_arrived
    assert not judged.is_gone
    assert judged.error == ("no answer within 15 s" if status == 0 else f"it answered {status}")


def test_410_says_that_nothing_is_wanted_any_more() -> None:
    """Of a webhook and of a function alike."""
    assert judge_event(Answer(410)).is_gone
    assert judge_function(Answer(410)).is_gone


@pytest.mark.parametrize("output", ["null", "42", '{"a": [1]}', '"text"'])
def test_an_output_in_the_answer_is_the_outcome(output: str) -> None:
    """Any JSON value may be one."""
    judged = judge_function(Answer(200, f'{{"output": {output}}}'.encode()))
    assert judged.has_arrived
    assert judged.answer is not None
    assert judged.answer.error is None


def test_an_error_in_the_answer_is_the_outcome() -> None:
    """The function says itself that it came to nothing."""
    judged = judge_function(Answer(200, b'{"error": {"message": "no such letter", "code": "not_here"}}'))
    assert judged.answer is not None
    assert judged.answer.error is not None
    assert (judged.answer.error.message, judged.answer.error.code) == ("no such letter", "not_here")


@pytest.mark.parametrize(("status", "body"), [(202, b""), (204, b""), (200, b""), (200, b" \n"), (202, b"queued")])
def test_the_answer_may_come_later(status: int, body: bytes) -> None:
    """The message arrived; the call's token completes it."""
    judged = judge_function(Answer(status, body))
    assert judged.has_arrived
    assert judged.answer is None


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"ok", "cannot be read"),
        (b"42", "no {"),
        (b"{}", "no {"),
        (b'{"output": 1, "error": {"message": "m"}}', "no {"),
        (b'{"result": 1}', "no {"),
        (b'{"error": null}', "does not fit"),
        (b'{"error": {"message": ""}}', "error.message"),
        (b'{"error": "broken"}', "does not fit"),
        (b'{"output": 1e999}', "cannot be read"),
    ],
)
def test_an_answer_that_cannot_be_understood_is_a_fault_of_the_receiver(body: bytes, told: str) -> None:
    """It is told, and tried again: no output is made up."""
    judged = judge_function(Answer(200, body))
    assert not judged.has_arrived
    assert judged.error is not None
    assert told in judged.error


def test_an_answer_that_is_too_large_is_none() -> None:
    """Half an output is no output."""
    judged = judge_function(Answer(200, b'{"output": 1}', is_cut=True))
    assert not judged.has_arrived
    assert judged.error == "the answer is too large"
