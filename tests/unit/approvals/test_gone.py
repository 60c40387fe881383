"""Waits whose call has gone: closed by whoever speaks first, and nobody's word counts any more."""

import pytest

from tests.unit.approvals.making import ARGUMENTS, DIGEST, EXPIRES, NOW, REQUESTER, SOON, function, kinds
from toolbus_approvals.core.gone import decide_gone
from toolbus_contracts.calls import Call, Standing

WAIT = function()
STANDING = Standing(wait_id=WAIT.id, kind="function", digest=DIGEST, since=NOW, expires_at=EXPIRES)
CALL = Call(
    id="call_1",
    status="waiting",
    tool="refund",
    execution_id="exec_1",
    is_bare=True,
    external_id=None,
    idempotency_key=None,
    actor=REQUESTER,
    fingerprint="fp",
    wait=STANDING,
    arguments=ARGUMENTS,
    labels={},
    requested_at=NOW,
)
CANCELLED = CALL.model_copy(update={"status": "cancelled", "wait": None})


def test_a_wait_that_its_call_stands_still_for_goes_on() -> None:
    """Nothing is added."""
    assert decide_gone(WAIT, CALL, now=SOON) == ()


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (CANCELLED, "the call is cancelled"),
        (None, "the call is not there"),
        (CALL.model_copy(update={"wait": STANDING.model_copy(update={"wait_id": "wait_2"})}), "the call is waiting"),
    ],
)
def test_a_wait_that_its_call_needs_no_more_is_withdrawn(call: Call | None, note: str) -> None:
    """Also when the call stands still for another one; once it is closed nothing is added."""
    gone = decide_gone(WAIT, call, now=SOON)
    assert kinds(gone) == ["closed"]
    assert (gone[0].outcome, gone[0].note) == ("withdrawn", note)  # type: ignore[union-attr]
    closed = WAIT.model_copy(update={"closed": gone[0]})
    assert decide_gone(closed, call, now=SOON) == ()


def test_a_doubt_is_left_alone() -> None:
    """Its call stands still for nobody, and is settled on its own stream."""
    assert decide_gone(WAIT.model_copy(update={"kind": "doubt"}), CANCELLED, now=SOON) == ()
