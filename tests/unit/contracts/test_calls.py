"""Calls: what each event makes of the state, and what people are told."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from tests.unit.contracts.calls import ACTOR, DISPATCHED, ERROR, NOW, REFUSED, REQUESTED, STARTED, after
from toolbus_contracts.calls import (
    MAX_LABELS,
    OPEN,
    TERMINAL,
    AnyCallEvent,
    Call,
    CallCancelled,
    CallExpired,
    CallFailed,
    CallInDoubt,
    CallRefused,
    CallRequested,
    CallStatus,
    CallSucceeded,
    CallView,
    CancelRequested,
    DoubtSettled,
    Start,
    SubmitCall,
    call_digest,
    evolve_call,
    explain,
    view_call,
)
from toolbus_contracts.digests import digest

LATER = NOW + timedelta(seconds=10)
SUCCEEDED = CallSucceeded(call_id="call_1", attempt=1, executor="x", output={"ok": True}, duration_ms=5, at=LATER)
FAILED = CallFailed(call_id="call_1", attempt=1, executor="x", error=ERROR, duration_ms=5, at=LATER)
IN_DOUBT = CallInDoubt(call_id="call_1", attempt=1, error=ERROR, at=LATER)
SETTLED = DoubtSettled(call_id="call_1", attempt=1, outcome="retry", note="nothing arrived", at=LATER)
CANCEL_REQUESTED = CancelRequested(call_id="call_1", reason="", at=LATER)
CANCELLED = CallCancelled(call_id="call_1", reason="changed my mind", at=LATER)
EXPIRED = CallExpired(call_id="call_1", at=LATER)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((REQUESTED,), "requested"),
        ((REFUSED,), "refused"),
        ((REQUESTED, DISPATCHED), "dispatched"),
        ((REQUESTED, DISPATCHED, STARTED), "running"),
        ((REQUESTED, DISPATCHED, SUCCEEDED), "succeeded"),
        ((REQUESTED, DISPATCHED, STARTED, FAILED), "failed"),
        ((REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED), "running"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT), "in_doubt"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED), "in_doubt"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED, DISPATCHED), "dispatched"),
        ((REQUESTED, CANCELLED), "cancelled"),
        ((REQUESTED, DISPATCHED, EXPIRED), "expired"),
    ],
)
def test_events_move_a_call(events: tuple[AnyCallEvent, ...], status: CallStatus) -> None:
    """The status follows from the events alone; a settled doubt is moved by the event that comes with it."""
    call = after(*events)
    assert call.status == status
    assert call.is_terminal == (status in TERMINAL)
    assert call.finished_at == (events[-1].at if status in TERMINAL else None)


def test_every_status_is_either_open_or_terminal() -> None:
    """There is no third kind."""
    assert set(OPEN) | TERMINAL == set(Call.model_fields["status"].annotation.__args__)  # type: ignore[union-attr]
    assert not set(OPEN) & TERMINAL


@pytest.mark.parametrize("event", [REQUESTED, REFUSED])
def test_a_call_carries_all_that_it_was_submitted_with(event: CallRequested | CallRefused) -> None:
    """What the first event tells and the state has a field for is in the state, unchanged."""
    call = after(event)
    shared = set(type(event).model_fields) & set(Call.model_fields)
    assert {name: getattr(call, name) for name in shared} == {name: getattr(event, name) for name in shared}
    assert (call.id, call.requested_at) == (event.call_id, event.at)


def test_a_running_call_carries_its_permission_to_start() -> None:
    """Until when it may start, and when it stops, are told by the event."""
    call = after(REQUESTED, DISPATCHED, STARTED)
    assert call.start == Start(attempt=1, start_id="st_1", start_by=STARTED.start_by, stop_by=STARTED.stop_by)
    assert (call.attempt, call.dispatched_at) == (1, DISPATCHED.at)


def test_an_ended_call_carries_what_came_of_it() -> None:
    """Output or error, and the time; a success forgets what went wrong before."""
    succeeded, failed = after(REQUESTED, DISPATCHED, IN_DOUBT, SUCCEEDED), after(REQUESTED, DISPATCHED, FAILED)
    assert (succeeded.output, succeeded.error, succeeded.finished_at) == ({"ok": True}, None, LATER)
    assert (failed.output, failed.error, failed.finished_at) == (None, ERROR, LATER)
    assert after(REQUESTED, DISPATCHED, STARTED, IN_DOUBT).error == ERROR
    assert after(REQUESTED, CANCEL_REQUESTED).is_cancel_requested


def test_a_retry_after_a_doubt_is_a_new_wish() -> None:
    """Whoever settles a doubt with a retry wants it to run: the cancel of the attempt before is forgotten."""
    call = after(REQUESTED, DISPATCHED, STARTED, CANCEL_REQUESTED, IN_DOUBT, SETTLED, DISPATCHED)
    assert not call.is_cancel_requested


def test_a_retry_forgets_the_failure_and_the_start_of_the_attempt_before() -> None:
    """The new attempt must ask to start again."""
    call = after(REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED, DISPATCHED.model_copy(update={"attempt": 2}))
    assert (call.attempt, call.error, call.start) == (2, None, None)


def test_an_ended_call_says_why() -> None:
    """Cancelling and expiring leave an error with a code, and the reason if one was given."""
    cancelled, expired = after(REQUESTED, CANCELLED), after(REQUESTED, EXPIRED)
    assert cancelled.error is not None
    assert expired.error is not None
    assert (cancelled.error.code, cancelled.error.message) == ("cancelled", "the call was cancelled: changed my mind")
    assert (expired.error.code, expired.error.message) == (
        "deadline_passed",
        "the deadline passed before the call was done",
    )


def test_a_stream_cut_at_its_head_tells_nothing() -> None:
    """Events of a call whose beginning is unknown leave it unknown."""
    assert evolve_call(None, SUCCEEDED) is None


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
        (after(REQUESTED).model_copy(update={"status": "retrying"}), "retrying since 10.0 s"),
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


def test_the_digest_covers_whatever_can_change_the_effect() -> None:
    """Tenant, call, definition, arguments, deadline and the person it is made for: each changes it."""
    call = after(REQUESTED)
    first = call_digest("acme", call)
    changes: list[dict[str, object]] = [
        {"id": "call_2"},
        {"definition_hash": "sha256:" + "1" * 64},
        {"arguments": {"charge": "ch_2"}},
        {"deadline_at": None},
        {"actor": ACTOR.model_copy(update={"on_behalf_of": "user:bob"})},
    ]
    digests = {first, call_digest("other", call), *(call_digest("acme", call.model_copy(update=c)) for c in changes)}
    assert len(digests) == 2 + len(changes)
    assert call_digest("acme", after(REFUSED)) is None


def test_the_digest_can_be_computed_by_anybody() -> None:
    """It is the RFC 8785 digest of these six values, under these names."""
    call = after(REQUESTED)
    values = {
        "tenant": "acme",
        "call_id": "call_1",
        "definition_hash": call.definition_hash,
        "arguments": {"charge": "ch_1"},
        "on_behalf_of": "user:ana",
        "deadline_at": "2026-01-02T01:00:00+00:00",
    }
    assert call_digest("acme", call) == digest(values)


def test_a_view_shows_the_call_and_who_made_it() -> None:
    """What people see carries the state, the digest, the actor and why it is not done."""
    view = view_call(after(REQUESTED, DISPATCHED), tenant="acme", now=LATER)
    assert (view.id, view.status, view.actor, view.wait) == ("call_1", "dispatched", ACTOR, None)
    assert view.digest == call_digest("acme", after(REQUESTED))
    assert view.why is not None


def test_a_view_shows_every_field_that_the_state_has() -> None:
    """Nothing is lost between state and view, neither for a success nor for a failure."""
    for call in (after(REQUESTED, DISPATCHED, SUCCEEDED), after(REQUESTED, DISPATCHED, FAILED)):
        view = view_call(call, tenant="acme", now=LATER)
        shared = set(CallView.model_fields) & set(Call.model_fields)
        assert {name: getattr(view, name) for name in shared} == {name: getattr(call, name) for name in shared}
        assert (view.type, view.contract) == (call.tool_type, call.terms)


def test_what_is_over_time_is_never_told_as_less_than_nothing() -> None:
    """A clock behind the event's shows 0.0 seconds."""
    call = after(REQUESTED, DISPATCHED, STARTED)
    assert "in 0.0 s" in (explain(call, STARTED.stop_by + timedelta(seconds=5)) or "")
    assert "accepted 0.0 s ago" in (explain(after(REQUESTED), NOW - timedelta(seconds=5)) or "")


@pytest.mark.parametrize(
    "body",
    [
        {"tool": "refund"},
        {"tool": "refund@3", "arguments": {"charge": "ch_1"}, "labels": {"a/b.c": "x"}},
        {"tool": {"name": "t", "api_call": {"method": "GET", "url": "https://a.example"}}},
    ],
)
def test_a_call_names_a_tool_or_brings_one(body: dict[str, object]) -> None:
    """By name, by name and version, or by a definition of its own."""
    assert SubmitCall.model_validate(body).priority == 5


@pytest.mark.parametrize(
    "body",
    [
        {"tool": "refund@0"},
        {"tool": "no spaces"},
        {"tool": "refund\n"},
        {"tool": "refund", "arguments": []},
        {"tool": "refund", "unknown": 1},
        {"tool": "refund", "priority": 10},
        {"tool": "refund", "deadline_s": 0},
        {"tool": "refund", "idempotency_key": ""},
        {"tool": "refund", "execution_id": "exec_1"},
        {"tool": "refund", "expected_definition_hash": "sha256:1"},
        {"tool": "refund", "labels": {f"l{n}": "" for n in range(MAX_LABELS + 1)}},
        {"tool": "refund", "labels": {"-": "x"}},
        {"tool": {"name": "t"}},
    ],
)
def test_what_no_call_can_be_is_refused(body: dict[str, object]) -> None:
    """Unknown fields, broken references and values out of bounds do not pass."""
    with pytest.raises(ValidationError):
        SubmitCall.model_validate(body)
