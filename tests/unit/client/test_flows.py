"""The rules of the client, carried out on scripted replies."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.client import shapes
from toolbus import CallFailed, CallInDoubt, CallParked, CallStillOpen, Problem, Unreachable
from toolbus.client import flows
from toolbus.client.exchange import Answer, Lost, Request
from toolbus.client.flows import Emit, Pause, Reply, Send
from toolbus.client.requests.calls import list_calls, submit_call
from toolbus.client.requests.executions import start_execution
from toolbus.client.requests.server import get_me

LOST = Lost("connection reset", may_have_arrived=True)


def ok(body: Any, status: int = 200) -> Answer:
    """An answer with JSON."""
    return Answer(status, {"content-type": "application/json"}, json.dumps(body).encode())


def no(code: str, status: int, **headers: str) -> Answer:
    """A problem document."""
    told = json.dumps(shapes.problem(code, status)).encode()
    return Answer(status, {"content-type": "application/problem+json", **headers}, told)


class Script:
    """Carries out a flow on replies that were written before; keeps what was sent and how long was paused."""

    def __init__(self, *replies: Reply) -> None:
        self.replies: Iterator[Reply] = iter(replies)
        self.sent: list[Request[object]] = []
        self.paused: list[float] = []
        self.items: list[Any] = []
        self.now = 0.0
        self.holds = True

    def clock(self) -> float:
        """The time of the script: pauses and waits of the server pass in it."""
        return self.now

    def run(self, flow: Any) -> Any:
        """Carry the flow out."""
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                return done.value
            reply = None
            match step:
                case Send(request=request):
                    self.sent.append(request)
                    self.now += request.wait_s if self.holds else 0.0
                    reply = next(self.replies)
                case Pause(seconds=seconds):
                    self.paused.append(seconds)
                    self.now += seconds
                case Emit(item=item):
                    self.items.append(item)


def test_the_same_request_is_sent_again_after_a_lost_answer() -> None:
    """The body holds a key, so the second one is the same call."""
    script = Script(LOST, LOST, ok(shapes.call(), 202))
    call = script.run(flows.exchange(submit_call({"tool": "t", "idempotency_key": "k"})))
    assert call.id == shapes.CALL
    assert script.sent[0] == script.sent[1] == script.sent[2]
    assert len(script.paused) == 2


def test_a_lost_answer_of_what_is_not_repeatable_is_told_as_doubt() -> None:
    """Each start of an execution makes another one: it is sent once."""
    script = Script(LOST)
    with pytest.raises(Unreachable, match="may have been taken") as caught:
        script.run(flows.exchange(start_execution(None, (), None, None)))
    assert caught.value.may_have_arrived
    assert len(script.sent) == 1


def test_giving_up_says_so() -> None:
    """After four tries without an answer there is an error, and no doubt where repeating adds nothing."""
    script = Script(LOST, LOST, LOST, LOST)
    with pytest.raises(Unreachable, match="connection reset") as caught:
        script.run(flows.exchange(get_me()))
    assert not caught.value.may_have_arrived
    assert caught.value.code == "unreachable"


def test_retry_after_is_waited_for() -> None:
    """The server's time counts, not ours."""
    script = Script(no("busy", 503, **{"retry-after": "3"}), ok(shapes.call()))
    script.run(flows.exchange(submit_call({"tool": "t"})))
    assert script.paused == [3.0]


def test_an_answer_that_says_no_is_final() -> None:
    """It is raised at once."""
    script = Script(no("idempotency_key_reused", 409))
    with pytest.raises(Problem) as caught:
        script.run(flows.exchange(submit_call({"tool": "t"})))
    assert (caught.value.code, len(script.sent), script.paused) == ("idempotency_key_reused", 1, [])


def test_waiting_is_cut_into_what_the_server_holds_at_most() -> None:
    """150 seconds are a submission held for 60, and two reads held for 60 and 30."""
    script = Script(ok(shapes.open_call(), 202), ok(shapes.open_call()), ok(shapes.open_call()))
    call = script.run(flows.submit({"tool": "t"}, 150.0, script.clock))
    assert [request.wait_s for request in script.sent] == [60.0, 60.0, 30.0]
    assert [dict(request.query).get("wait_s") for request in script.sent] == ["60", "60", "30"]
    assert call.status == "running"


def test_a_dry_run_is_not_watched() -> None:
    """There is no call to be read afterwards."""
    script = Script(ok(shapes.open_call(status="requested")))
    assert script.run(flows.submit({"tool": "t", "dry_run": True}, 60.0, script.clock)).status == "requested"
    assert len(script.sent) == 1


def test_waiting_without_end_goes_on_until_the_call_ends() -> None:
    """None waits as long as it takes."""
    opened = [ok(shapes.open_call()) for _ in range(5)]
    script = Script(*opened, ok(shapes.call()))
    assert script.run(flows.look(shapes.CALL, None, script.clock)).status == "succeeded"


def test_a_server_that_does_not_hold_is_not_asked_in_a_hot_loop() -> None:
    """An answer that came at once is followed by a pause."""
    script = Script(*(ok(shapes.open_call()) for _ in range(100)))
    script.holds = False
    script.run(flows.look(shapes.CALL, 2.0, script.clock))
    assert len(script.sent) <= 12
    assert sum(script.paused) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (shapes.call(status="failed", error=shapes.error()), CallFailed, "http_status"),
        (shapes.call(status="cancelled", error=shapes.error("cancelled")), CallFailed, "cancelled"),
        (shapes.call(status="expired", error=None), CallFailed, "expired"),
        (shapes.open_call(status="in_doubt", error=shapes.error("connection_lost")), CallInDoubt, "in_doubt"),
        (shapes.open_call(status="waiting", wait=shapes.wait()), CallParked, "call_parked"),
        (shapes.open_call(wait=shapes.wait("input")), CallParked, "call_parked"),
        (shapes.open_call(), CallStillOpen, "call_open"),
    ],
)
def test_insisting_on_an_output(call: dict[str, Any], error: type[Exception], code: str) -> None:
    """Every state but succeeded is an error of its own, with the call in it; nothing is asked twice."""
    script = Script(ok(call))
    with pytest.raises(error) as caught:
        script.run(flows.succeeded(flows.look(shapes.CALL, 0.0, script.clock)))
    assert caught.value.code == code  # type: ignore[attr-defined]  # every one of them has a code
    assert caught.value.call.id == shapes.CALL  # type: ignore[attr-defined]  # and the call


@pytest.mark.parametrize("status", ["in_doubt", "waiting"])
def test_a_standing_call_is_not_waited_for(status: str) -> None:
    """Whoever waits learns at once that somebody must act."""
    script = Script(ok(shapes.open_call(status=status)))
    script.run(flows.look(shapes.CALL, 1000.0, script.clock))
    assert len(script.sent) == 1


def test_lists_go_on_page_by_page_also_over_an_empty_one() -> None:
    """Every item comes once; a page whose items were filtered out is not the end."""
    script = Script(
        ok(shapes.page(shapes.call(id="a"), next_cursor="1")),
        ok(shapes.page(next_cursor="2")),
        ok(shapes.page(shapes.call(id="b"))),
    )
    script.run(flows.every(list_calls({"status": "failed"}, 500)))
    assert [call.id for call in script.items] == ["a", "b"]
    assert [dict(request.query).get("cursor") for request in script.sent] == [None, "1", "2"]
    assert all(dict(request.query)["status"] == "failed" for request in script.sent)


def test_a_cursor_that_comes_again_ends_the_list() -> None:
    """A server that turns in a circle does not keep us."""
    script = Script(*(ok(shapes.page(shapes.call(), next_cursor="1")) for _ in range(9)))
    script.run(flows.every(list_calls({})))
    assert len(script.sent) == 2


def test_many_calls_are_cut_into_batches_and_come_back_in_order() -> None:
    """A thousand at a time; a refused one is a problem in its place."""
    bodies = [{"tool": "t", "idempotency_key": str(number)} for number in range(1001)]
    refused = {"status": 404, "problem": shapes.problem("unknown_tool", 404)}
    taken = {"status": 202, "call": shapes.call()}
    script = Script(ok({"items": [refused] + [taken] * 999}, 202), ok({"items": [taken]}, 202))
    found = script.run(flows.submit_many(bodies))
    assert len(found) == 1001
    assert (type(found[0]).__name__, found[0].code) == ("NotFound", "unknown_tool")
    assert all(call.id == shapes.CALL for call in found[1:])
