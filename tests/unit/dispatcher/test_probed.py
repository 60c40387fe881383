"""What a probe found out about a call in doubt."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import (
    AGAIN,
    CANCEL_REQUESTED,
    DISPATCHED,
    LATER,
    LOST,
    NOW,
    REQUESTED,
    STARTED,
    STOP_BY,
    after,
    outcome,
)
from toolbus_contracts.calls import (
    AnyCallEvent,
    AttemptFailed,
    Call,
    CallCancelled,
    CallError,
    CallFailed,
    CallInDoubt,
    CallSucceeded,
    DoubtAttempt,
    DoubtProbed,
    RecordProbe,
    SettleDoubt,
)
from toolbus_contracts.tools import Probe, Retry
from toolbus_dispatcher.core.outcomes import decide_doubt, decide_outcome, decide_probe, decide_settle

PROBE = Probe(tool="find_refund", happened="output.count > 0", settle_after_s=7.0)
RETRY = Retry(attempts=2, first_delay_s=10.0, jitter=0.0)
RUNNING = (REQUESTED.model_copy(update={"probe": PROBE, "retry": RETRY}), DISPATCHED, STARTED)
IN_DOUBT = CallInDoubt(call_id="call_1", attempt=1, error=LOST, probe_at=NOW, at=NOW)
DOUBTFUL = (*RUNNING, IN_DOUBT)
ERROR = CallError(code="probed_failed", message="the probe says that it did not happen: none found")
TOLD: dict[str, Any] = {"call_id": "call_1", "attempt": 1, "executor": "probe:call_2", "duration_ms": 0.0, "at": LATER}


def found(verdict: str, attempt: int = 1, **parts: Any) -> RecordProbe:
    """What the probe's call came to."""
    return RecordProbe.model_validate(
        {
            "call_id": "call_1",
            "attempt": attempt,
            "probe_call_id": "call_2",
            "verdict": verdict,
            "note": "none found",
            **parts,
        }
    )


def probed(verdict: str) -> DoubtProbed:
    """The verdict on the record."""
    return DoubtProbed.model_validate(
        {
            "call_id": "call_1",
            "attempt": 1,
            "probe_call_id": "call_2",
            "verdict": verdict,
            "note": "none found",
            "at": LATER,
        }
    )


def test_what_happened_ends_the_call() -> None:
    """As a success; its output is what the probe saw, and told as that."""
    events = decide_probe(found("happened", output={"count": 1}), after(*DOUBTFUL), now=LATER)
    assert events == (probed("happened"), CallSucceeded(**TOLD, output={"probe": {"count": 1}}))


def test_what_did_not_happen_is_tried_again() -> None:
    """As if nothing had been sent."""
    events = decide_probe(found("not_happened"), after(*DOUBTFUL), now=LATER)
    retry_at = LATER + timedelta(seconds=10)
    assert events == (probed("not_happened"), AttemptFailed(**TOLD, error=ERROR, retry_at=retry_at))
    assert after(*DOUBTFUL, *events).status == "retrying"


@pytest.mark.parametrize("changes", [{"retry": Retry(attempts=1)}, {"deadline_at": LATER + timedelta(seconds=10)}])
def test_what_did_not_happen_and_may_not_be_tried_again_has_failed(changes: dict[str, Any]) -> None:
    """No attempt is left, or it would come too late."""
    call = after(*DOUBTFUL).model_copy(update=changes)
    assert decide_probe(found("not_happened"), call, now=LATER) == (
        probed("not_happened"),
        CallFailed(**TOLD, error=ERROR),
    )


def test_what_did_not_happen_and_was_to_be_stopped_is_cancelled() -> None:
    """It is not tried again."""
    call = after(*RUNNING, CANCEL_REQUESTED, IN_DOUBT)
    cancelled = CallCancelled(call_id="call_1", reason="nothing was sent", at=LATER)
    assert decide_probe(found("not_happened"), call, now=LATER) == (probed("not_happened"), cancelled)


def test_what_is_unclear_is_left_to_a_person() -> None:
    """The probe is asked once; afterwards the doubt can be settled, or answered late."""
    events = decide_probe(found("unclear"), after(*DOUBTFUL), now=LATER)
    assert events == (probed("unclear"),)
    call = after(*DOUBTFUL, *events)
    assert (call.status, call.probe_at) == ("in_doubt", None)
    assert decide_probe(found("happened"), call, now=LATER) == ()
    settle = SettleDoubt(call_id="call_1", outcome="failed", note="seen it")
    assert [event.kind for event in decide_settle(settle, call, executor="user:bo", now=LATER)] == [
        "call.doubt_settled.v1",
        "call.failed.v1",
    ]
    assert len(decide_outcome(outcome("succeeded"), call, now=LATER)) == 1


@pytest.mark.parametrize(
    "history",
    [
        RUNNING,
        (*RUNNING, IN_DOUBT.model_copy(update={"probe_at": None})),
        (*DOUBTFUL, AGAIN),
        (*DOUBTFUL, AGAIN, STARTED.model_copy(update={"attempt": 2}), IN_DOUBT.model_copy(update={"attempt": 2})),
        (*DOUBTFUL, CallFailed(**TOLD, error=LOST)),
    ],
)
@pytest.mark.parametrize("verdict", ["happened", "not_happened", "unclear"])
def test_only_a_doubt_that_waits_for_its_probe_is_probed(history: tuple[AnyCallEvent, ...], verdict: str) -> None:
    """A person, or a late answer, was faster; or the probe speaks of another attempt."""
    assert decide_probe(found(verdict), after(*history), now=LATER) == ()
    assert decide_probe(found(verdict), None, now=LATER) == ()


@pytest.mark.parametrize("has_probe", [True, False])
def test_a_doubt_says_when_it_will_be_probed(has_probe: bool) -> None:
    """So long after it, as the tool says; without a probe only a person can tell."""
    call = after(*RUNNING) if has_probe else after(*RUNNING).model_copy(update={"probe": None})

    def probe_at(*events: AnyCallEvent) -> Any:
        (event,) = events
        assert isinstance(event, CallInDoubt)
        return event.probe_at

    def expected(now: Any) -> Any:
        return now + timedelta(seconds=7) if has_probe else None

    assert probe_at(*decide_outcome(outcome("unknown"), call, now=LATER)) == expected(LATER)
    silent = decide_doubt(DoubtAttempt(call_id="call_1", attempt=1), call, now=STOP_BY)
    assert probe_at(*silent) == expected(STOP_BY)


def test_a_late_answer_is_faster_than_the_probe() -> None:
    """What the executor says itself counts."""
    call: Call = after(*DOUBTFUL)
    events = decide_outcome(outcome("succeeded", output=7), call, now=LATER)
    assert decide_probe(found("not_happened"), after(*DOUBTFUL, *events), now=LATER) == ()
