"""A server that wants to know more before it goes on: a person is asked, and the call goes on with the answer."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import (
    CANCEL_REQUESTED,
    DISPATCHED,
    IN_DOUBT,
    LATER,
    NOT_SENT,
    NOW,
    REQUESTED,
    SAFE,
    STARTED,
    after,
    outcome,
    start,
)
from tests.unit.dispatcher.standing import AGREED, AROUND, going_on, kinds, resume, then
from toolbus_contracts.calls import (
    MAX_ROUNDS,
    Approved,
    AttemptFailed,
    Call,
    CallCancelled,
    CallDispatched,
    CallExpired,
    CallFailed,
    CancelCall,
    InputAsked,
    InputRequired,
    Question,
    ReleaseCall,
    WaitAsked,
    call_digest,
)
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.tools import Approval, AskUser, Limit
from toolbus_dispatcher.core.calls import decide_cancel, decide_release, decide_start
from toolbus_dispatcher.core.outcomes import decide_outcome
from toolbus_dispatcher.core.standing import decide_resume
from toolbus_dispatcher.messages import work_json
from toolbus_runtime.executing.executor import read_work

CITY = InputAsked(
    form=AskUser(fields={"city": {"type": "string"}}, message="Which city?", expires_s=60.0),
    questions=(Question(name="where", properties={"city": "city"}),),
    request_state="s1",
)
AGAIN = InputAsked(request_state="s2")
RUNNING = after(REQUESTED, DISPATCHED, STARTED)
DEFINITION = b'"definition":{"name":"refund","mcp":{"server":"pay","tool":"refund"}}'


def wants(asked: InputAsked = CITY, call: Call = RUNNING, **parts: Any) -> tuple[Any, ...]:
    """What is decided when the server of the present attempt wants to know this."""
    may_retry = parts.pop("may_retry", True)
    command = outcome("input_required", parts.pop("attempt", call.attempt), asked=asked, **parts)
    return decide_outcome(command, call, may_retry=may_retry, now=LATER)


ASKED = then(RUNNING, *wants())
ANSWERED = then(ASKED, *going_on(ASKED, "answered", answers={"city": "Rome"}))


def test_the_call_stands_still_for_what_the_server_wants_to_know() -> None:
    """Two events at once: what was asked, and the wait; its expiry is that of the form."""
    required, asked = wants()
    assert required == InputRequired(
        call_id="call_1", attempt=1, executor="api_caller@a", asked=CITY, duration_ms=12.5, at=LATER
    )
    assert asked == WaitAsked(
        call_id="call_1",
        wait_id=wait_id_for_call("call_1", 1),
        wait_kind="input",
        number=1,
        digest=call_digest("acme", RUNNING) or "",
        expires_at=LATER + timedelta(seconds=60),
        at=LATER,
    )
    assert (ASKED.status, ASKED.start) == ("waiting", None)


def test_what_is_told_again_or_by_another_adds_nothing() -> None:
    """A delivery twice, an earlier attempt, and somebody who does not hold the start."""
    assert wants(call=ASKED) == ()
    assert wants(call=then(ANSWERED, STARTED.model_copy(update={"attempt": 2})), attempt=1) == ()
    assert wants(delivery_id="st_9") == ()


def test_an_answer_lets_the_call_go_on_with_another_attempt() -> None:
    """The work holds the answer, by the names of the server, its state, and the arguments as they were."""
    assert (ANSWERED.status, ANSWERED.attempt, ANSWERED.arguments) == ("dispatched", 2, REQUESTED.arguments)
    item = read_work(work_json("acme", ANSWERED, DEFINITION))
    assert item.continued is not None
    assert item.continued.responses == {"where": {"action": "accept", "content": {"city": "Rome"}}}
    assert item.continued.request_state == "s1"
    assert read_work(work_json("acme", RUNNING, DEFINITION)).continued is None
    events, answer = decide_start(start(2), ANSWERED, now=LATER)
    assert (kinds(events), answer.verdict) == (["attempt_started"], "go")


def test_an_attempt_that_goes_on_may_be_tried_again_with_the_same_answer() -> None:
    """As often as any other call: that the server asked was no failure."""
    call = ANSWERED
    for attempt in (2, 3, 4):
        (failed,) = decide_outcome(outcome("not_sent", attempt, error=NOT_SENT), call, now=LATER)
        if attempt == 4:
            assert isinstance(failed, CallFailed)
            break
        assert isinstance(failed, AttemptFailed)
        call = then(call, failed)
        call = then(call, *decide_release(ReleaseCall(call_id="call_1", attempt=attempt + 1), call, now=LATER))
        assert call.continued == ANSWERED.continued


def test_a_held_call_is_released_with_its_next_attempt() -> None:
    """One under a limit waits for its turn, as it did the first time."""
    limited = after(REQUESTED.model_copy(update={"limits": (Limit(of="tool", name="refund", concurrency=1),)}))
    call = then(limited, DISPATCHED, STARTED)
    call = then(call, *wants(call=call))
    call = then(call, *going_on(call, "answered", answers={"city": "Rome"}))
    assert (call.status, call.attempt) == ("requested", 1)
    assert kinds(decide_release(ReleaseCall(call_id="call_1", attempt=1), call, now=LATER)) == []
    (released,) = decide_release(ReleaseCall(call_id="call_1", attempt=2), call, now=LATER)
    assert isinstance(released, CallDispatched)


def test_whoever_had_agreed_is_asked_again() -> None:
    """What a person answered to the server is part of what runs: an earlier yes did not know it."""
    requested = REQUESTED.model_copy(update={"approval": Approval.model_validate(AGREED)})
    asked = after(requested)
    agreed = asked.model_copy(
        update={"approved": Approved(wait_id="w", digest=call_digest("acme", asked) or "", by=("user:bo",))}
    )
    call = then(agreed, DISPATCHED, STARTED)
    call = then(call, *wants(call=call))
    resumed, approval = going_on(call, "answered", answers={"city": "Rome"})
    assert isinstance(approval, WaitAsked)
    call = then(call, resumed, approval)
    assert (approval.wait_kind, approval.digest) == ("approval", call_digest("acme", call))
    assert approval.digest != call_digest("acme", asked)
    call = then(call, *going_on(call, "approved", by=("user:bo",)))
    assert call.status == "dispatched"
    events, answer = decide_start(start(2, digest=call_digest("acme", call)), call, now=LATER)
    assert answer.verdict == "go"
    (voided,), answer = decide_start(start(2, digest=call_digest("acme", asked)), call, now=LATER)
    assert (voided.kind, answer.verdict) == ("call.approval_voided.v1", "drop")
    assert voided.model_dump()["error"]["effect_happened"] == "no"
    assert kinds(events) == ["attempt_started"]


def test_a_call_that_is_to_be_stopped_is_stopped() -> None:
    """The server did nothing yet."""
    (ended,) = wants(call=then(RUNNING, CANCEL_REQUESTED))
    assert isinstance(ended, CallCancelled)
    (at_once,) = decide_cancel(CancelCall(call_id="call_1"), ASKED, now=LATER)
    assert isinstance(at_once, CallCancelled)


def test_nobody_is_asked_when_the_deadline_has_passed() -> None:
    """The call is over; one that passes while somebody is asked ends the wait."""
    late = after(REQUESTED.model_copy(update={"deadline_at": NOW}), DISPATCHED, STARTED)
    required, expired = wants(call=late)
    assert isinstance(expired, CallExpired)
    soon = LATER + timedelta(seconds=1)
    early = after(REQUESTED.model_copy(update={"deadline_at": soon}), DISPATCHED, STARTED)
    _, asked = wants(call=early)
    assert isinstance(asked, WaitAsked)
    assert asked.expires_at == soon
    assert kinds((required,)) == ["input_required"]


def test_an_unanswered_question_expires_the_call() -> None:
    """As any other input that nobody supplied."""
    (expired,) = going_on(ASKED, "expired")
    assert expired == CallExpired(call_id="call_1", wait_id=wait_id_for_call("call_1", 1), at=LATER)


def test_a_doubt_is_over_when_the_server_says_that_it_did_nothing() -> None:
    """Its answer came late, and from whoever had started."""
    doubted = then(RUNNING, IN_DOUBT)
    assert kinds(wants(call=doubted)) == ["input_required", "wait_asked"]
    call = then(doubted, *wants(call=doubted))
    assert (call.status, call.error, call.probe_at) == ("waiting", None, None)


def test_a_success_that_comes_late_ends_the_call_while_it_asks() -> None:
    """Another run of the same work was answered."""
    events = decide_outcome(outcome("succeeded", output={"ok": True}), ASKED, now=LATER)
    assert then(ASKED, *events).status == "succeeded"
    assert then(ASKED, *events).wait is None


def test_a_server_may_ask_again_and_not_without_end() -> None:
    """Each round has its own wait; beyond the last the call has failed."""
    call = RUNNING
    for number in range(1, MAX_ROUNDS + 1):
        call = then(call, *wants(call=call))
        assert call.wait is not None
        assert call.wait.wait_id == wait_id_for_call("call_1", number)
        call = then(call, *going_on(call, "answered", answers={"city": str(number)}))
        call = then(call, STARTED.model_copy(update={"attempt": call.attempt}))
    (failed,) = wants(call=call)
    assert isinstance(failed, CallFailed)
    assert (failed.error.code, failed.error.effect_happened) == ("too_many_rounds", "no")


@pytest.mark.parametrize("is_safe", [True, False])
def test_a_server_that_wants_nothing_but_the_same_call_again_is_called_again(*, is_safe: bool) -> None:
    """After a pause, with its state; nobody is asked, and what was answered before is not sent again."""
    call = ANSWERED if not is_safe else ANSWERED.model_copy(update={"terms": SAFE})
    required, failed = wants(AGAIN, call=call)
    assert isinstance(failed, AttemptFailed)
    assert failed.retry_at > LATER
    assert failed.error.code == "input_required"
    call = then(call, required, failed)
    (released,) = decide_release(ReleaseCall(call_id="call_1", attempt=3), call, now=LATER)
    call = then(call, released)
    assert call.continued is not None
    assert (call.continued.responses, call.continued.request_state) == ({}, "s2")


def test_a_tool_without_retries_left_is_not_called_again() -> None:
    """Its budget counts for this too."""
    required, failed = wants(AGAIN, may_retry=False)
    assert isinstance(failed, CallFailed)
    assert (failed.error.code, failed.error.effect_happened) == ("input_required", "no")
    assert kinds((required,)) == ["input_required"]


def test_a_form_that_nobody_could_fill_in_is_not_shown() -> None:
    """The call has failed, and says where the fault is."""
    bad = CITY.model_copy(update={"form": AskUser(fields={"city": {"type": "nonsense"}})})
    (failed,) = wants(bad)
    assert isinstance(failed, CallFailed)
    assert (failed.error.code, failed.error.effect_happened) == ("input_required", "no")
    assert failed.error.details[0].path == "/ask_user/fields"


def test_an_answer_that_is_told_again_changes_nothing() -> None:
    """The call went on."""
    told = resume(ASKED, "answered", answers={"city": "Rome"})
    assert decide_resume(told, ANSWERED, AROUND, now=LATER) == ()
