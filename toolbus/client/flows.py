"""
What the client does, step by step, without doing it.

A flow is a generator: it yields the step that it needs next and is sent the reply. The synchronous and
the asynchronous client only carry out steps, so that there is one place for every rule.
"""

import random
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from toolbus.client.exchange import FIRST_ERROR, Answer, Lost, Page, Request, problem_of
from toolbus.client.failures import Problem, UnexpectedAnswer, Unreachable, is_moving, not_succeeded
from toolbus.client.requests import calls as call_requests
from toolbus.client.requests.parts import MAX_WAIT_S
from toolbus.client.retries import pause_before_next
from toolbus_contracts.calls import CallView
from toolbus_contracts.values import Json

T = TypeVar("T")
BATCH = 1000  # Source: API.md, POST /v1/calls/batch
PAGE = 500  # the largest page that the server gives
REDIRECTION = 3  # the first digit of its statuses
NO_HOLD_S = 0.2  # an answer that came this soon was not held


@dataclass(frozen=True)
class Send:
    """Send a request and read the whole answer; the reply is an Answer or Lost."""

    request: Request[object]


@dataclass(frozen=True)
class Pause:
    """Wait so many seconds; the reply is None."""

    seconds: float


@dataclass(frozen=True)
class Open:
    """Open a stream; the reply is Opened, an Answer that is an error, or Lost."""

    request: Request[object]


@dataclass(frozen=True)
class Opened:
    """The stream is open."""


@dataclass(frozen=True)
class Read:
    """Read the next piece of the open stream; the reply is text, None at its end, or Lost."""


@dataclass(frozen=True)
class Emit(Generic[T]):
    """Hand an item to the caller; the reply is None."""

    item: T


Step: TypeAlias = Send | Pause | Open | Read
Reply: TypeAlias = Answer | Lost | Opened | str | None
Flow: TypeAlias = Generator[Step, Reply, T]
Stream: TypeAlias = Generator[Step | Emit[T], Reply, None]
AnyStream: TypeAlias = Generator[Step | Emit[T], Reply, int | None]


def exchange(request: Request[T]) -> Flow[T]:
    """
    Send a request, again if that is safe and promising, and read its answer.

    Raises:
        Problem: the server said no.
        Unreachable: no answer came.
        UnexpectedAnswer: the address is another one.
    """
    tries = 0
    while True:
        reply = yield Send(request)
        tries += 1
        if isinstance(reply, Answer) and reply.status // 100 == REDIRECTION:
            told = f"{reply.status} to {reply.headers.get('location', 'nowhere')}; use that address"
            raise UnexpectedAnswer(f"the server redirects: {told}")
        if isinstance(reply, Answer) and (reply.status < FIRST_ERROR or is_asked_for(request, reply)):
            return request.read(reply)
        assert isinstance(reply, Answer | Lost)  # noqa: S101 - what Send is answered with
        pause = pause_before_next(request, reply, tries, random.random())  # noqa: S311 - spreads repeats in time
        if pause is None:
            raise failure_of(request, reply)
        yield Pause(pause)


def is_asked_for(request: Request[object], answer: Answer) -> bool:
    """Readiness answers 503 with the same shape as 200."""
    return request.path == "/readyz" and not answer.is_problem and answer.body.startswith(b"{")


def failure_of(request: Request[object], reply: Answer | Lost) -> Problem | Unreachable:
    """Make a typed error of a reply that is not what was asked for."""
    if isinstance(reply, Answer):
        return problem_of(reply)
    doubt = reply.may_have_arrived and not request.is_repeatable
    told = "; the request may have been taken all the same" if doubt else ""
    return Unreachable(f"{request.method} {request.path}: {reply.message}{told}", may_have_arrived=doubt)


# ── calls ───────────────────────────────────────────────────────────────────────────────────────


def submit(body: Mapping[str, Json], wait: float | None, clock: Callable[[], float] = time.monotonic) -> Flow[CallView]:
    """Submit a call and watch it for `wait` seconds (None: as long as it takes); its state as last seen."""
    until = float("inf") if wait is None else clock() + wait
    call = yield from exchange(call_requests.submit_call(body, MAX_WAIT_S if wait is None else wait))
    if body.get("dry_run"):
        return call  # nothing was recorded that could be watched
    return (yield from _watch(call, until, clock))


def look(call_id: str, wait: float | None, clock: Callable[[], float] = time.monotonic) -> Flow[CallView]:
    """Read a call and watch it for `wait` seconds; its state as last seen."""
    until = float("inf") if wait is None else clock() + wait
    call = yield from exchange(call_requests.get_call(call_id, MAX_WAIT_S if wait is None else wait))
    return (yield from _watch(call, until, clock))


def _watch(call: CallView, until: float, clock: Callable[[], float]) -> Flow[CallView]:
    while is_moving(call) and (left := _left(until, clock)) > 0:
        asked_at = clock()
        call = yield from exchange(call_requests.get_call(call.id, left))
        if is_moving(call) and clock() - asked_at < min(NO_HOLD_S, left):
            yield Pause(min(NO_HOLD_S, left))
    return call


def _left(until: float, clock: Callable[[], float]) -> float:
    return min(MAX_WAIT_S, max(0.0, until - clock()))


def succeeded(flow: Flow[CallView]) -> Flow[CallView]:
    """
    Insist on an output.

    Raises:
        CallFailed: the call ended otherwise.
        CallInDoubt: its effect may or may not have happened.
        CallParked: it waits for somebody.
        CallStillOpen: the waiting time is over.
    """
    call = yield from flow
    failure = not_succeeded(call)
    if failure is not None:
        raise failure
    return call


def submit_many(bodies: Iterable[Mapping[str, Json]]) -> Flow[list[CallView | Problem]]:
    """Submit any number of calls, a thousand at a time; one result for each, in order."""
    asked = list(bodies)
    found: list[CallView | Problem] = []
    for start in range(0, len(asked), BATCH):
        found += yield from exchange(call_requests.submit_batch(asked[start : start + BATCH]))
    return found


# ── lists ───────────────────────────────────────────────────────────────────────────────────────


def every(request: Request[Page[T]], cursor_name: str = "cursor") -> Stream[T]:
    """Hand out every item of a list, page after page."""
    seen: set[str] = set()
    while True:
        page = yield from exchange(request)
        for item in page.items:
            yield Emit(item)
        if page.next_cursor is None or page.next_cursor in seen:
            return
        seen.add(page.next_cursor)
        request = request.with_query(**{cursor_name: page.next_cursor})
