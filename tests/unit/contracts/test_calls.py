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
    AttemptFailed,
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
    DoubtProbed,
    DoubtSettled,
    Start,
    SubmitCall,
    call_digest,
    evolve_call,
    view_call,
)
from toolbus_contracts.digests import digest
from toolbus_contracts.tools import Retry

LATER = NOW + timedelta(seconds=10)
SUCCEEDED = CallSucceeded(call_id="call_1", attempt=1, executor="x", output={"ok": True}, duration_ms=5, at=LATER)
FAILED = CallFailed(call_id="call_1", attempt=1, executor="x", error=ERROR, duration_ms=5, at=LATER)
IN_DOUBT = CallInDoubt(call_id="call_1", attempt=1, error=ERROR, at=LATER)
SETTLED = DoubtSettled(call_id="call_1", attempt=1, outcome="retry", note="nothing arrived", at=LATER)
SETTLED_AS_FAILED = SETTLED.model_copy(update={"outcome": "failed"})
RETRY_AT = LATER + timedelta(seconds=5)
ATTEMPT_FAILED = AttemptFailed(
    call_id="call_1", attempt=1, executor="x", error=ERROR, retry_at=RETRY_AT, duration_ms=5, at=LATER
)
PROBED = DoubtProbed(
    call_id="call_1", attempt=1, probe_call_id="call_2", verdict="not_happened", note="none found", at=LATER
)
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
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED), "retrying"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, PROBED), "in_doubt"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED_AS_FAILED), "in_doubt"),
        ((REQUESTED, DISPATCHED, STARTED, ATTEMPT_FAILED), "retrying"),
        ((REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED, DISPATCHED), "dispatched"),
        ((REQUESTED, CANCELLED), "cancelled"),
        ((REQUESTED, DISPATCHED, EXPIRED), "expired"),
    ],
)
def test_events_move_a_call(events: tuple[AnyCallEvent, ...], status: CallStatus) -> None:
    """The status follows from the events alone; a doubt that was probed or settled as an end waits for that end."""
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
    """What the first event tells and the state has a field for is in the state, unchanged; no retry is the default."""
    call = after(event)
    shared = set(type(event).model_fields) & set(Call.model_fields)
    told = {name: getattr(event, name) for name in shared}
    assert {name: getattr(call, name) for name in shared} == told
    assert after(REQUESTED.model_copy(update={"retry": None})).retry == Retry()
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
    again = DISPATCHED.model_copy(update={"attempt": 2})
    for failed in ((IN_DOUBT, SETTLED), (ATTEMPT_FAILED,)):
        call = after(REQUESTED, DISPATCHED, STARTED, *failed, again)
        assert (call.attempt, call.error, call.start, call.retry_at) == (2, None, None, None)


def test_a_call_that_is_tried_again_carries_why_and_when() -> None:
    """The failure of the attempt and the next one's time; its permission to start is over."""
    call = after(REQUESTED, DISPATCHED, STARTED, ATTEMPT_FAILED)
    assert (call.attempt, call.error, call.retry_at, call.start) == (1, ERROR, RETRY_AT, None)
    settled = after(REQUESTED, DISPATCHED, STARTED, IN_DOUBT, SETTLED)
    assert (settled.attempt, settled.error, settled.retry_at, settled.start) == (1, ERROR, LATER, None)


def test_a_doubt_carries_when_it_is_probed_until_it_was() -> None:
    """The probe is asked once; what a person settles need not be asked."""
    doubtful = (REQUESTED, DISPATCHED, STARTED, IN_DOUBT.model_copy(update={"probe_at": RETRY_AT}))
    assert after(*doubtful).probe_at == RETRY_AT
    assert after(*doubtful, PROBED).probe_at is None
    assert after(*doubtful, SETTLED).probe_at is None


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
    retried = after(REQUESTED, DISPATCHED, ATTEMPT_FAILED)
    for call in (after(REQUESTED, DISPATCHED, SUCCEEDED), after(REQUESTED, DISPATCHED, FAILED), retried):
        view = view_call(call, tenant="acme", now=LATER)
        shared = set(CallView.model_fields) & set(Call.model_fields)
        assert {name: getattr(view, name) for name in shared} == {name: getattr(call, name) for name in shared}
        assert (view.type, view.contract) == (call.tool_type, call.terms)
    assert view_call(retried.model_copy(update={"status": "failed"}), tenant="acme", now=LATER).retry_at is None


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
