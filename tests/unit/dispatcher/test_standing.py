"""For whom a submitted call stands still."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import NOW
from tests.unit.dispatcher.standing import (
    AGREED,
    ASKED,
    FUNCTION,
    decide,
    folded,
    kinds,
    made,
)
from toolbus_contracts.calls import (
    CallRefused,
    CallRequested,
    WaitAsked,
    call_digest,
)
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.tools import Approval


def test_a_call_that_needs_an_approval_stands_still() -> None:
    """Nothing is given to executors; the wait has the id that everybody can compute, and the digest of the call."""
    requested, asked = decide(made(approval=AGREED))
    assert isinstance(requested, CallRequested)
    assert requested.approval == Approval.model_validate(AGREED)
    call = folded(requested, asked)
    assert asked == WaitAsked(
        call_id="call_1",
        wait_id=wait_id_for_call("call_1", 1),
        wait_kind="approval",
        number=1,
        digest=call_digest("acme", folded(requested)) or "",
        expires_at=NOW + timedelta(seconds=60),
        at=NOW,
    )
    assert (call.status, call.wait and call.wait.kind) == ("waiting", "approval")


@pytest.mark.parametrize(
    ("promises", "body", "kind", "expires_s"),
    [
        ({}, {"approval": {"expires_s": 9.0}}, "approval", 9.0),
        ({"approval": AGREED}, {"approval": {"expires_s": 9.0}}, "approval", 60.0),
        ({"approval": AGREED}, {"deadline_s": 7.0}, "approval", 7.0),
        ({"approval": AGREED, "ask_user": ASKED}, {}, "input", 30.0),
        ({}, {"ask_user": ASKED}, "input", 30.0),
        ({"ask_user": ASKED}, {"ask_user": {**ASKED, "expires_s": 5.0}}, "input", 30.0),
        ({"contract": {"effect": "dangerous", "idempotency": "none"}}, {}, "approval", 86400.0),
        (FUNCTION, {}, "function", 31 * 86400.0),
        ({**FUNCTION, "expires_s": 12.0}, {}, "function", 12.0),
        ({**FUNCTION, "expires_s": 12.0, "approval": AGREED}, {}, "approval", 60.0),
        ({**FUNCTION, "contract": {"effect": "dangerous", "idempotency": "none"}}, {}, "approval", 86400.0),
    ],
)
def test_the_tool_comes_first_and_the_deadline_ends_every_wait(
    promises: dict[str, Any], body: dict[str, Any], kind: str, expires_s: float
) -> None:
    """Input before approval before the function itself; what a submitter asks for counts where the tool is silent."""
    _, asked = decide(made(**promises), **body)
    assert isinstance(asked, WaitAsked)
    assert (asked.wait_kind, asked.expires_at) == (kind, NOW + timedelta(seconds=expires_s))


def test_who_submits_something_dangerous_cannot_be_the_one_who_approves_it() -> None:
    """Where danger alone asks for an approval, the submitter's own rule is no way around another person."""
    own = {"approvers": ["user:ana"], "requester_may_approve": True}
    dangerous, _ = decide(made(contract={"effect": "dangerous", "idempotency": "none"}), approval=own)
    harmless, _ = decide(made(), approval=own)
    told = [one.approval for one in (dangerous, harmless) if isinstance(one, CallRequested)]
    assert [one and (one.approvers, one.requester_may_approve) for one in told] == [
        (("user:ana",), False),
        (("user:ana",), True),
    ]


def test_what_a_person_is_asked_for_may_be_missing() -> None:
    """Everything else must be right from the beginning."""
    assert kinds(decide(made(ask_user=ASKED), arguments={})) == ["requested", "wait_asked"]
    (refused,) = decide(made(ask_user=ASKED), arguments={"amount": 1000})
    assert isinstance(refused, CallRefused)
    assert [detail.path for detail in refused.error.details] == ["/amount"]
    (without,) = decide(made(), arguments={})
    assert isinstance(without, CallRefused)


def test_an_approval_that_nobody_could_give_is_refused() -> None:
    """Whoever submits names one person and wants two."""
    (refused,) = decide(made(), approval={"approvers": ["user:ana"], "quorum": 2})
    assert isinstance(refused, CallRefused)
    assert (refused.error.code, refused.error.details[0].path) == ("invalid_request", "/approval/quorum")


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ({"fields": {"a": {"type": "nonsense"}}}, "/ask_user/fields"),
        ({"fields": {"a": {}}, "required": ["b"]}, "/ask_user/required"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(question: dict[str, Any], path: str) -> None:
    """Of a submitter as of a tool."""
    (refused,) = decide(made(), ask_user=question)
    assert isinstance(refused, CallRefused)
    assert (refused.error.code, refused.error.details[0].path) == ("invalid_request", path)


def test_a_function_is_checked_like_any_tool() -> None:
    """Its schema is `parameters`; one that has none takes any arguments."""
    (refused,) = decide(made(**FUNCTION), arguments={"amount": 1})
    assert isinstance(refused, CallRefused)
    assert refused.error.details[0].path == "/charge"
    assert kinds(decide(made(name="refund", function={}), arguments={"any": 1})) == ["requested", "wait_asked"]


@pytest.mark.parametrize(("tool_name", "is_pinned"), [("refund", False), ("refund@1", True)])
def test_it_is_remembered_whether_a_version_was_named(tool_name: str, *, is_pinned: bool) -> None:
    """Then it does not matter what the tool is when the approval comes."""
    assert folded(*decide(made(approval=AGREED), tool=tool_name)).is_pinned == is_pinned
