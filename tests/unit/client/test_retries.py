"""When a request is sent again."""

import pytest

from toolbus.client.exchange import Answer, Lost, Request
from toolbus.client.retries import PATIENCE_S, TRIES, pause_before_next

PROBLEM = {"content-type": "application/problem+json"}
HTML = {"content-type": "text/html"}


def pause(reply: Answer | Lost, *, is_repeatable: bool = True, tries: int = 1) -> float | None:
    """The decision for a request."""
    request = Request("POST", "/v1/calls", lambda _: None, is_repeatable=is_repeatable)
    return pause_before_next(request, reply, tries, 0.5)


def busy(status: int, after: str | None) -> Answer:
    """Toolbus says busy."""
    return Answer(status, PROBLEM if after is None else {**PROBLEM, "retry-after": after}, b"{}")


@pytest.mark.parametrize("is_repeatable", [True, False])
def test_what_was_surely_not_taken_is_sent_again(is_repeatable: bool) -> None:
    """Nothing was handed over, or Toolbus itself says busy and names a time."""
    assert pause(Lost("refused", may_have_arrived=False), is_repeatable=is_repeatable) is not None
    assert pause(busy(503, "2"), is_repeatable=is_repeatable) == 2.0
    assert pause(busy(429, "0"), is_repeatable=is_repeatable) is not None


def test_what_may_have_been_taken_is_sent_again_only_when_that_adds_nothing() -> None:
    """A lost answer, or one of a proxy in between."""
    proxies: list[Answer | Lost] = [Answer(status, HTML, b"") for status in (502, 503, 504)]
    for reply in [Lost("reset", may_have_arrived=True), *proxies]:
        assert pause(reply) is not None
        assert pause(reply, is_repeatable=False) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500, 501])
def test_every_other_answer_stands(status: int) -> None:
    """No answer that the server meant is asked for twice."""
    assert pause(Answer(status, PROBLEM, b"{}")) is None
    assert pause(Answer(status, HTML, b"")) is None


@pytest.mark.parametrize("after", [None, "soon", "nan", "inf", "-1", str(PATIENCE_S + 1)])
def test_busy_without_a_time_worth_waiting_for_stands(after: str | None) -> None:
    """No time, a time that is none, or a long one: the caller decides."""
    assert pause(busy(503, after)) is None


def test_tries_are_bounded_and_pauses_grow() -> None:
    """Four tries, each after a longer pause."""
    lost = Lost("refused", may_have_arrived=False)
    pauses = [pause(lost, tries=tries) for tries in range(1, TRIES + 1)]
    assert pauses[-1] is None
    grown = [found for found in pauses if found is not None]
    assert grown == sorted(grown)
    assert len(grown) == TRIES - 1
