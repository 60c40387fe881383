"""What the answer of a webhook's receiver means."""

from typing import NamedTuple

from pydantic import ValidationError

from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import parse_json
from toolbus_contracts.waits import CompleteCall

OK = range(200, 300)
ANSWERED = 200
GONE = 410
MAX_ERROR_CHARS = 500


class Answer(NamedTuple):
    """What came back: a status, or (0) why nothing did; the body only as far as it was asked for."""

    status: int
    body: bytes = b""
    retry_after_s: float | None = None
    error: str | None = None
    is_cut: bool = False


class Judged(NamedTuple):
    """What it means: whether the message arrived, is wanted no more, and what a function answered at once."""

    has_arrived: bool
    is_gone: bool = False
    answer: CompleteCall | None = None
    error: str | None = None


def judge_event(answer: Answer) -> Judged:
    """2xx: it arrived. 410: nothing is wanted there any more. Anything else, redirects too, is tried again."""
    if answer.status in OK:
        return Judged(has_arrived=True)
    return Judged(has_arrived=False, is_gone=answer.status == GONE, error=_told(answer))


def judge_function(answer: Answer) -> Judged:
    """
    200 with a JSON object is the answer; 2xx without a body, or another 2xx: it comes later.

    A body that is neither is a fault in the receiver, and tried again: it may be mended meanwhile.
    """
    judged = judge_event(answer)
    if answer.status != ANSWERED or not answer.body.strip():
        return judged
    if answer.is_cut:
        return Judged(has_arrived=False, error="the answer is too large")
    try:
        value = parse_json(answer.body)
        if not isinstance(value, dict) or value.keys() not in ({"output"}, {"error"}):
            return Judged(has_arrived=False, error='the answer is no {"output": …} and no {"error": {…}}')
        found = CompleteCall.model_validate(value)
    except Unreadable as error:
        return Judged(has_arrived=False, error=f"the answer cannot be read: {error.message}"[:MAX_ERROR_CHARS])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return Judged(has_arrived=False, error=f"the answer does not fit: {place}: {first['msg']}"[:MAX_ERROR_CHARS])
    if "error" in value and found.error is None:
        return Judged(has_arrived=False, error="the answer does not fit: error: it is null")
    return Judged(has_arrived=True, answer=found)


def _told(answer: Answer) -> str:
    return answer.error or f"it answered {answer.status}"
