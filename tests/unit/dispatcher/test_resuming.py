"""How a call goes on, or ends, when the wait that it stood still for was closed."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, NOW
from tests.unit.dispatcher.standing import (
    AGREED,
    AROUND,
    ASKED,
    FUNCTION,
    decide,
    folded,
    going_on,
    kinds,
    made,
    resume,
    standing,
    then,
)
from toolbus_contracts.calls import (
    AnyCallEvent,
    CallDenied,
    CallDispatched,
    CallExpired,
    CallFailed,
    CallResumed,
    CallSucceeded,
    CancelCall,
    Detail,
    ReleaseCall,
    call_digest,
)
from toolbus_contracts.digests import wait_id_for_call
from toolbus_dispatcher.core.calls import decide_cancel, decide_expire, decide_release
from toolbus_dispatcher.core.standing import Surroundings, decide_resume


def test_an_approved_call_goes_to_the_executors() -> None:
    """With what was approved, and by whom."""
    call = standing(made(approval=AGREED))
    events = going_on(call, "approved", by=("user:bo", "user:cy"))
    digest = call_digest("acme", call)
    assert events == (
        CallResumed(
            call_id="call_1",
            wait_id=wait_id_for_call("call_1", 1),
            wait_kind="approval",
            digest=digest or "",
            by=("user:bo", "user:cy"),
            at=LATER,
        ),
        CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=LATER),
    )
    after = then(call, *events)
    assert after.approved is not None
    assert (after.approved.digest, after.approved.by, after.wait) == (digest, ("user:bo", "user:cy"), None)


def test_a_resumed_call_is_held_like_any_other() -> None:
    """When there is no room, or when it has limits; it is released later."""
    call = standing(made(approval=AGREED))
    full = decide_resume(resume(call, "approved"), call, Surroundings("acme", has_room=False), now=LATER)
    limited = standing(made(approval=AGREED, limits={"concurrency": 1}))
    assert [kinds(full), kinds(going_on(limited, "approved"))] == [["resumed"], ["resumed"]]
    held = then(call, *full)
    release = decide_release(ReleaseCall(call_id="call_1", attempt=1), held, now=LATER)
    assert kinds(release) == ["dispatched"]


def test_waits_come_one_after_the_other() -> None:
    """Values, then an approval of them, then the client; each wait has its own number, and its own digest."""
    call = standing(made(**FUNCTION, ask_user=ASKED, approval=AGREED), arguments={})
    events: tuple[AnyCallEvent, ...] = ()
    seen = []
    for outcome, parts in (("answered", {"arguments": {"charge": "ch_2"}}), ("approved", {}), ("completed", {})):
        assert call.wait is not None
        seen.append((call.waits, call.wait.kind, call.wait.digest))
        events = going_on(call, outcome, **parts)
        call = then(call, *events)
    assert [one[:2] for one in seen] == [(1, "input"), (2, "approval"), (3, "function")]
    assert seen[0][2] != seen[1][2] == seen[2][2]
    assert (call.status, call.arguments, call.has_input) == ("succeeded", {"charge": "ch_2"}, True)


def test_a_wait_that_is_not_the_present_one_moves_nothing() -> None:
    """Also a second time, and for a call that ended or is not known."""
    call = standing(made(approval=AGREED))
    command = resume(call, "approved")
    after = then(call, *decide_resume(command, call, AROUND, now=LATER))
    other = command.model_copy(update={"wait_id": "wait_other"})
    assert decide_resume(command, after, AROUND, now=LATER) == ()
    assert decide_resume(other, call, AROUND, now=LATER) == ()
    assert decide_resume(command, None, AROUND, now=LATER) == ()


@pytest.mark.parametrize(
    ("promises", "outcome"),
    [({"approval": AGREED}, "completed"), ({"approval": AGREED}, "answered"), (FUNCTION, "approved")],
)
def test_an_end_that_no_such_wait_can_have_moves_nothing(promises: dict[str, Any], outcome: str) -> None:
    """Whoever says it, the call stands still."""
    assert going_on(standing(made(**promises)), outcome) == ()


def test_a_no_ends_the_call_with_the_reason() -> None:
    """Nothing was sent."""
    (event,) = going_on(standing(made(approval=AGREED)), "denied", by=("user:bo",), note="not before the audit")
    assert isinstance(event, CallDenied)
    assert (event.error.code, event.error.message) == ("denied", "denied by user:bo: not before the audit")
    (bare,) = going_on(standing(made(approval=AGREED)), "denied")
    assert isinstance(bare, CallDenied)
    assert bare.error.message == "denied"


@pytest.mark.parametrize(
    ("promises", "body", "kind", "code"),
    [
        ({"approval": AGREED}, {}, "denied", "wait_expired"),
        ({"approval": {**AGREED, "on_expiry": "expire"}}, {}, "expired", "wait_expired"),
        ({"ask_user": ASKED}, {}, "expired", "wait_expired"),
        (FUNCTION, {}, "expired", "wait_expired"),
        ({"approval": AGREED}, {"deadline_s": 5.0}, "expired", "deadline_passed"),
        (FUNCTION, {"deadline_s": 5.0}, "expired", "deadline_passed"),
    ],
)
def test_silence_ends_the_call(promises: dict[str, Any], body: dict[str, Any], kind: str, code: str) -> None:
    """By default silence is a no; whose time was over is told: the wait's, or that of the call."""
    call = standing(made(**promises), **body)
    (event,) = going_on(call, "expired")
    assert kinds((event,)) == [kind]
    after = then(call, event)
    assert after.error is not None
    assert (after.error.code, after.wait, after.is_terminal) == (code, None, True)


def test_what_a_client_says_is_what_its_function_came_to() -> None:
    """An output of any kind, or an error; no executor made an attempt."""
    call = standing(made(**FUNCTION))
    (done,) = going_on(call, "completed", output=[1, None], by=("service:crm",))
    assert isinstance(done, CallSucceeded)
    assert (done.attempt, done.executor, done.output, done.duration_ms) == (0, "service:crm", [1, None], 3000.0)
    error = {"code": "no_paper", "message": "the printer is empty"}
    (failed,) = going_on(call, "failed", error=error)
    assert isinstance(failed, CallFailed)
    assert (failed.attempt, failed.executor, failed.error.code) == (0, "client", "no_paper")
    (silent,) = going_on(call, "failed")
    assert isinstance(silent, CallFailed)
    assert silent.error.code == "function_failed"


def test_arguments_that_do_not_fit_after_all_end_the_call() -> None:
    """What a person supplied was what was asked for, and is less than the tool wants: nothing is sent."""
    call = standing(made(ask_user=ASKED), arguments={})
    around = AROUND._replace(faults=(Detail(path="/amount", message="is missing"),))
    command = resume(call, "answered", arguments={"charge": "x"})
    resumed, failed = decide_resume(command, call, around, now=LATER)
    assert isinstance(failed, CallFailed)
    assert (resumed.kind, failed.error.code, failed.error.details) == (
        "call.resumed.v1",
        "invalid_arguments",
        around.faults,
    )


def test_an_answer_that_comes_with_the_deadline_comes_too_late() -> None:
    """It is recorded, and nothing is given to executors."""
    call = standing(made(approval=AGREED), deadline_s=3.0)
    assert kinds(going_on(call, "approved")) == ["resumed", "expired"]


def test_a_standing_call_is_cancelled_at_once_and_expired_by_nobody_else() -> None:
    """Its wait expires, which is decided where people speak."""
    call = standing(made(approval=AGREED), deadline_s=5.0)
    assert decide_expire(call, now=NOW + timedelta(days=1)) == ()
    (cancelled,) = decide_cancel(CancelCall(call_id="call_1"), call, now=LATER)
    after = then(call, cancelled)
    assert (after.status, after.wait) == ("cancelled", None)
    assert decide_expire(folded(*decide(made(), has_room=False, deadline_s=5.0)), now=NOW + timedelta(days=1)) == (
        CallExpired(call_id="call_1", at=NOW + timedelta(days=1)),
    )
