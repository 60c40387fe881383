"""Which wait is opened for a call that stands still or is in doubt."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.approvals.making import EXPIRES, NOW, SOON, TENANT, after
from tests.unit.dispatcher.making import IN_DOUBT, REQUESTED, STARTED
from tests.unit.dispatcher.making import after as call_after
from toolbus_approvals.core.opening import decide_open, digest_with, doubt_id, open_for_call, open_for_doubt
from toolbus_contracts.calls import Call, CallCancelled, CallDispatched, DoubtSettled, WaitAsked, call_digest
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.tools import Approval, AskUser, FunctionWebhook
from toolbus_contracts.waits import WaitOpened

POLICIES: dict[str, Any] = {
    "approval": Approval(approvers=("role:finance",)),
    "ask_user": AskUser(fields={"iban": {}}),
    "webhook": FunctionWebhook(url="https://a.example", secret="secret://hook"),
}
ASKED = WaitAsked(
    call_id="call_1", wait_id="wait_7", wait_kind="approval", number=1, digest="sha256:x", expires_at=EXPIRES, at=NOW
)
MORE = {"deadline_at": NOW + timedelta(days=3), "labels": {"team": "billing"}, **POLICIES}
DOUBT = call_after(REQUESTED, CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW), STARTED)


def standing(kind: str = "approval", **changes: Any) -> Call:
    """A call that stands still for this."""
    return call_after(REQUESTED.model_copy(update={**MORE, **changes}), ASKED.model_copy(update={"wait_kind": kind}))


def opened(call: Call) -> WaitOpened:
    """The wait of a call that stands still."""
    found = open_for_call(call, TENANT, now=SOON)
    assert found is not None
    return found


def test_the_wait_of_a_call_tells_all_that_a_person_must_know() -> None:
    """Its id, digest and end are those that the call was told; the rest is that of the call."""
    assert opened(standing()) == WaitOpened(
        wait_id="wait_7",
        call_id="call_1",
        wait_kind="approval",
        execution_id="exec_1",
        tool="refund",
        tool_scope="tenant",
        tool_version=1,
        definition_hash=REQUESTED.definition_hash,
        terms=REQUESTED.terms,
        arguments=REQUESTED.arguments,
        digest="sha256:x",
        requester=REQUESTED.actor,
        deadline_at=NOW + timedelta(days=3),
        labels={"team": "billing"},
        approval=POLICIES["approval"],
        attempt=0,
        expires_at=EXPIRES,
        at=SOON,
    )


@pytest.mark.parametrize(("kind", "field"), [("approval", "approval"), ("input", "ask_user"), ("function", "webhook")])
def test_a_wait_has_the_policy_of_its_kind(kind: str, field: str) -> None:
    """And none of the others, which belong to other waits of the same call."""
    found = opened(standing(kind))
    assert found.wait_kind == kind
    assert {name: getattr(found, name) for name in POLICIES} == {**dict.fromkeys(POLICIES), field: POLICIES[field]}


def test_only_a_doubt_tells_of_an_error() -> None:
    """What befell the call otherwise is no matter of who is asked."""
    assert opened(standing().model_copy(update={"error": IN_DOUBT.error})).error is None


def test_an_approval_without_a_policy_has_the_default() -> None:
    """One person, whoever it is."""
    assert opened(standing(approval=None)).approval == Approval()


def test_a_call_that_goes_on_has_no_wait_to_open() -> None:
    """Whoever comes late to open it finds that it ended or was resumed."""
    ended = call_after(REQUESTED, ASKED, CallCancelled(call_id="call_1", reason="", at=NOW))
    for call in (ended, call_after(REQUESTED)):
        assert open_for_call(call, TENANT, now=SOON) is None


def test_a_doubt_shows_what_is_known() -> None:
    """Attempt and error, with the digest of what was sent; it ends when it is settled."""
    call = call_after(
        REQUESTED, CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW), STARTED, IN_DOUBT
    )
    found = open_for_doubt(call, TENANT, now=SOON)
    assert found is not None
    assert (found.wait_kind, found.attempt, found.error, found.expires_at) == ("doubt", 1, IN_DOUBT.error, None)
    assert found.digest == call_digest(TENANT, call)
    assert found.wait_id == doubt_id("call_1", 1) == wait_id_for_call("call_1", 1001)
    assert (found.approval, found.ask_user, found.webhook) == (None, None, None)


def test_a_settled_doubt_is_not_opened() -> None:
    """Neither before there is one."""
    settled = DoubtSettled(call_id="call_1", attempt=1, outcome="retry", note="", at=NOW)
    call = call_after(
        REQUESTED,
        CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW),
        STARTED,
        IN_DOUBT,
        settled,
    )
    for one in (call, DOUBT):
        assert open_for_doubt(one, TENANT, now=SOON) is None


def test_a_call_without_definition_still_makes_a_wait() -> None:
    """One of an older log may lack its hash: it is shown all the same."""
    call = DOUBT.model_copy(update={"status": "in_doubt", "definition_hash": None})
    found = open_for_doubt(call, TENANT, now=SOON)
    assert found is not None
    assert (found.definition_hash, found.digest) == ("", "")


def test_a_wait_is_opened_once() -> None:
    """Whatever is asked a second time adds nothing; nothing to open adds nothing."""
    found = opened(standing())
    assert decide_open(found, None) == (found,)
    assert decide_open(found, after(found)) == ()
    assert decide_open(None, None) == ()


def test_the_digest_is_that_of_the_call() -> None:
    """What the dispatcher computes of the call with the same arguments, and what an executor computes again."""
    call = standing()
    wait = after(opened(call))
    for arguments in (call.arguments, {"charge": "ch_2"}):
        assert digest_with(wait, TENANT, arguments) == call_digest(TENANT, call, arguments)
    assert digest_with(wait, "other", call.arguments) != digest_with(wait, TENANT, call.arguments)
