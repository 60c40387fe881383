"""Why an open call is not done yet: text for a person, with the numbers."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.contracts.calls import DISPATCHED, ERROR, NOW, REQUESTED, STARTED, after
from toolbus_contracts.calls import (
    AttemptFailed,
    Call,
    CallInDoubt,
    CallStatus,
    CallSucceeded,
    CancelRequested,
    DoubtProbed,
    WaitAsked,
    explain,
    view_call,
)
from toolbus_contracts.tools import Approval, AskUser

LATER = NOW + timedelta(seconds=10)
RETRY_AT = LATER + timedelta(seconds=5)
SUCCEEDED = CallSucceeded(call_id="call_1", attempt=1, executor="x", output={"ok": True}, duration_ms=5, at=LATER)
IN_DOUBT = CallInDoubt(call_id="call_1", attempt=1, error=ERROR, at=LATER)
CANCEL_REQUESTED = CancelRequested(call_id="call_1", reason="", at=LATER)
ATTEMPT_FAILED = AttemptFailed(
    call_id="call_1", attempt=1, executor="x", error=ERROR, retry_at=RETRY_AT, duration_ms=5, at=LATER
)
PROBED = DoubtProbed(
    call_id="call_1", attempt=1, probe_call_id="call_2", verdict="unclear", note="none found", at=LATER
)


def standing(kind: Any, **promises: Any) -> Call:
    """A call that stands still for another minute."""
    requested = REQUESTED.model_copy(update=promises)
    told: dict[str, Any] = {"wait_id": "wait_1", "wait_kind": kind, "number": 1, "digest": "sha256:1"}
    return after(requested, WaitAsked(call_id="call_1", expires_at=NOW + timedelta(seconds=60), at=NOW, **told))


def test_what_a_call_stands_still_for_is_shown() -> None:
    """With the id to answer to, and the digest to answer with."""
    shown = view_call(standing("function"), tenant="acme", now=LATER)
    assert shown.wait is not None
    assert (shown.wait.id, shown.wait.kind, shown.wait.digest) == ("wait_1", "function", "sha256:1")
    assert (shown.wait.since, shown.wait.expires_at) == (NOW, NOW + timedelta(seconds=60))
    assert view_call(after(REQUESTED), tenant="acme", now=LATER).wait is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (after(REQUESTED), "accepted 10.0 s ago; about to be given to an executor"),
        (
            after(REQUESTED, DISPATCHED),
            "attempt 1 waits for a free api_call executor since 9.0 s, or runs there (at most 30 s)",
        ),
        (after(REQUESTED, DISPATCHED, STARTED), "attempt 1 runs and is stopped in 30.0 s at the latest"),
        (
            after(REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED),
            "attempt 1 runs and is stopped in 30.0 s at the latest; asked to stop",
        ),
        (
            after(REQUESTED, DISPATCHED, STARTED, IN_DOUBT),
            "attempt 1 may or may not have had its effect: the target answered 500; settle it",
        ),
        (after(REQUESTED).model_copy(update={"status": "waiting"}), "waiting since 10.0 s"),
        (standing("approval"), "waits for approval since 10.0 s, expires in 50.0 s"),
        (
            standing("approval", approval=Approval(approvers=("role:finance", "user:bo"))),
            "waits for approval by role:finance, user:bo since 10.0 s, expires in 50.0 s",
        ),
        (standing("approval", approval=Approval(quorum=2)), "waits for 2 approvals since 10.0 s, expires in 50.0 s"),
        (standing("input"), "waits for a person to supply values since 10.0 s, expires in 50.0 s"),
        (
            standing("input", ask_user=AskUser(fields={"iban": {}, "amount": {}})),
            "waits for a person to supply iban, amount since 10.0 s, expires in 50.0 s",
        ),
        (standing("function"), "waits for a client to carry out refund since 10.0 s, expires in 50.0 s"),
        (after(REQUESTED, SUCCEEDED), None),
    ],
)
def test_an_open_call_says_what_it_waits_for(call: Call, told: str | None) -> None:
    """`why` is text for a person, with the numbers; an ended call needs none."""
    assert explain(call, LATER) == told


@pytest.mark.parametrize("status", ["running", "dispatched", "in_doubt"])
def test_a_state_without_its_details_is_explained_all_the_same(status: CallStatus) -> None:
    """A status whose details are missing (a log cut in the middle) is no reason to fail."""
    assert explain(after(REQUESTED).model_copy(update={"status": status}), LATER)


@pytest.mark.parametrize(
    ("due_in_s", "held", "told"),
    [
        (2.5, None, "the next one is due in 2.5 s"),
        (2.5, "tool refund has 5 of 5 calls running", "the next one is due in 2.5 s"),
        (0, None, "the next one is due in 0.0 s"),
        (0, "tool refund has 5 of 5 calls running", "the next one is due and tool refund has 5 of 5 calls running"),
        (-3, None, "the next one is due in 0.0 s"),
        (-3, "nobody knows", "the next one is due and nobody knows"),
        (None, None, "the next one is due in 0.0 s"),
    ],
)
def test_a_call_that_is_tried_again_says_when_or_what_holds_it(
    due_in_s: float | None, held: str | None, told: str
) -> None:
    """What holds it is of interest once it is due."""
    due_at = None if due_in_s is None else LATER + timedelta(seconds=due_in_s)
    call = after(REQUESTED, DISPATCHED, ATTEMPT_FAILED).model_copy(update={"retry_at": due_at})
    failed = "attempt 1 of 4 came to nothing (the target answered 500)"
    assert explain(call, LATER, held) == f"{failed}; {told}"
    assert (explain(call.model_copy(update={"error": None}), LATER, held) or "").startswith(
        "attempt 1 of 4 came to nothing;"
    )


def test_a_call_that_is_held_says_by_what() -> None:
    """What the dispatcher that is asked knows of it, before a person guesses."""
    held = "tool refund has 5 of 5 calls running (limits.concurrency); 3 wait for the same"
    assert explain(after(REQUESTED), LATER, held) == f"accepted 10.0 s ago; {held}"
    assert view_call(after(REQUESTED), tenant="acme", now=LATER, held=held).why == f"accepted 10.0 s ago; {held}"


def test_a_doubt_that_will_be_probed_says_when() -> None:
    """A person may wait for it, or settle at once; once it was asked, only the person is left."""
    doubtful = (REQUESTED, DISPATCHED, STARTED, IN_DOUBT.model_copy(update={"probe_at": RETRY_AT}))
    told = "attempt 1 may or may not have had its effect: the target answered 500"
    assert explain(after(*doubtful), LATER) == f"{told}; find_refund is asked in 5.0 s"
    assert explain(after(*doubtful, PROBED), LATER) == f"{told}; settle it"
    without = after(*doubtful).model_copy(update={"probe": None})
    assert explain(without, LATER) == f"{told}; settle it"


def test_what_is_over_time_is_never_told_as_less_than_nothing() -> None:
    """A clock behind the event's shows 0.0 seconds."""
    call = after(REQUESTED, DISPATCHED, STARTED)
    assert "in 0.0 s" in (explain(call, STARTED.stop_by + timedelta(seconds=5)) or "")
    assert "accepted 0.0 s ago" in (explain(after(REQUESTED), NOW - timedelta(seconds=5)) or "")
