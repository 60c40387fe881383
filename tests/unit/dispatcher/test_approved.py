"""What was approved is what runs: anything else is refused just before the effect."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.dispatcher.logs import failed
from tests.unit.dispatcher.making import DISPATCHED, LATER, LOST, define, start, tool
from tests.unit.dispatcher.standing import AGREED, AROUND, decide, folded, going_on, kinds, made, resume, standing, then
from toolbus_contracts.calls import ApprovalVoided, Call, StartAnswer, call_digest
from toolbus_contracts.tools import Tool, ToolDefinition
from toolbus_dispatcher.core.approved import ByNow, names_a_tool
from toolbus_dispatcher.core.calls import decide_start
from toolbus_dispatcher.core.standing import decide_resume

DROP = StartAnswer(verdict="drop")
REFUND = made(approval=AGREED)


def approved(definition: ToolDefinition = REFUND, **body: Any) -> Call:
    """An approved call that lies with the executors."""
    call = standing(definition, **body)
    found = then(call, *going_on(call, "approved"))
    assert found.status == "dispatched"
    return found


def held(call: Call) -> str | None:
    """The digest of what an executor was given."""
    return call_digest("acme", call)


def test_an_approved_call_asks_to_start_and_may() -> None:
    """Also one that is safe to repeat: what runs is compared with what was approved."""
    safe = made(approval=AGREED, contract={"effect": "read", "idempotency": "native"})
    for call, found in ((approved(), tool(REFUND)), (approved(safe), tool(safe))):
        assert call.needs_start
        events, answer = decide_start(start(digest=held(call)), call, by_now=ByNow(found), now=LATER)
        assert (kinds(events), answer.verdict) == (["attempt_started"], "go")


CHANGES: dict[str, Callable[[], ToolDefinition]] = {
    "url": lambda: made(approval=AGREED, api_call={"method": "POST", "url": "https://other.example"}),
    "method": lambda: made(approval=AGREED, api_call={"method": "PUT", "url": "https://pay.example"}),
    "headers": lambda: made(
        approval=AGREED, api_call={"method": "POST", "url": "https://pay.example", "headers": {"x": "1"}}
    ),
    "approval": lambda: made(approval={**AGREED, "quorum": 1}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_tool_that_was_defined_anew_voids_the_approval(change: str) -> None:
    """Whatever of it changed; the call is refused, and nothing is sent."""
    call = approved()
    found = tool(REFUND, CHANGES[change]())
    events, answer = decide_start(start(digest=held(call)), call, by_now=ByNow(found), now=LATER)
    (event,) = events
    assert isinstance(event, ApprovalVoided)
    assert (event.error.code, answer) == ("approval_void", DROP)
    assert "defined anew" in event.error.message
    after = then(call, event)
    assert (after.status, after.finished_at) == ("refused", LATER)
    assert decide_start(start(digest=held(call)), after, by_now=ByNow(found), now=LATER) == ((), DROP)


def test_a_webhook_that_was_changed_voids_the_approval() -> None:
    """Of a function nobody asks to start: it is compared when the approval comes."""
    hook = {"url": "https://a.example", "secret": "secret://hook"}
    first = made(function={}, approval=AGREED, webhook=hook)
    second = made(function={}, approval=AGREED, webhook={**hook, "url": "https://b.example"})
    call = standing(first)
    around = AROUND._replace(by_now=ByNow(tool(first, second)))
    events = decide_resume(resume(call, "approved"), call, around, now=LATER)
    assert kinds(events) == ["resumed", "approval_voided"]
    assert kinds(
        decide_resume(resume(call, "approved"), call, AROUND._replace(by_now=ByNow(tool(first))), now=LATER)
    ) == [
        "resumed",
        "wait_asked",
    ]


@pytest.mark.parametrize(
    ("found", "told"),
    [(tool(REFUND, is_retired=True), "retired"), (Tool(), "retired"), (tool(define()), "defined anew")],
)
def test_a_tool_that_is_gone_voids_the_approval(found: Tool, told: str) -> None:
    """Retired, or another one by that name."""
    call = approved()
    ((event,), _) = decide_start(start(digest=held(call)), call, by_now=ByNow(found), now=LATER)
    assert isinstance(event, ApprovalVoided)
    assert told in event.error.message


def test_who_named_a_version_or_brought_a_definition_means_just_that() -> None:
    """What the tool became meanwhile does not matter to such a call."""
    pinned = approved(tool="refund@1")
    inline = REFUND.model_dump(mode="json", by_alias=True, exclude_none=True)
    own = approved(tool=inline)
    for call in (pinned, own):
        assert not names_a_tool(call)
        events, answer = decide_start(start(digest=held(call)), call, by_now=ByNow(tool(REFUND, define())), now=LATER)
        assert (kinds(events), answer.verdict) == (["attempt_started"], "go")


@pytest.mark.parametrize("digest", [None, "sha256:" + "0" * 64])
def test_an_executor_that_holds_something_else_sends_nothing(digest: str | None) -> None:
    """Or does not say what it holds."""
    events, answer = decide_start(start(digest=digest), approved(), by_now=ByNow(tool(REFUND)), now=LATER)
    assert (kinds(events), answer) == (["approval_voided"], DROP)


def test_a_call_that_is_not_what_was_approved_sends_nothing() -> None:
    """Whatever made it so; and an approval of something else lets it go nowhere."""
    call = approved()
    other = call.model_copy(update={"arguments": {"charge": "ch_9"}})
    events, answer = decide_start(start(digest=held(other)), other, by_now=ByNow(tool(REFUND)), now=LATER)
    assert (kinds(events), answer) == (["approval_voided"], DROP)
    asked = standing(REFUND)
    forged = resume(asked, "approved").model_copy(update={"digest": "sha256:" + "0" * 64})
    assert kinds(decide_resume(forged, asked, AROUND, now=LATER)) == ["resumed", "approval_voided"]


def test_edited_arguments_are_what_runs() -> None:
    """They were approved with their own digest."""
    call = standing(REFUND)
    events = going_on(call, "approved", arguments={"charge": "ch_2", "amount": 1})
    after = then(call, *events)
    assert (after.arguments, kinds(events)) == ({"charge": "ch_2", "amount": 1}, ["resumed", "dispatched"])
    started, _ = decide_start(start(digest=held(after)), after, by_now=ByNow(tool(REFUND)), now=LATER)
    assert kinds(started) == ["attempt_started"]
    stale, _ = decide_start(start(digest=held(call)), after, by_now=ByNow(tool(REFUND)), now=LATER)
    assert kinds(stale) == ["approval_voided"]


def test_what_an_earlier_attempt_did_is_not_denied() -> None:
    """The approval of a call that is tried again may be void; of an attempt that was sent nothing is claimed."""
    call = approved()
    sent = failed(call.id, error=LOST.model_copy(update={"effect_happened": "unknown"}))
    second = DISPATCHED.model_copy(update={"attempt": 2})
    histories = ((), "no"), ((failed(call.id), second), "no"), ((sent, second), "unknown")
    for history, happened in histories:
        tried = then(call, *history)
        ((event,), _) = decide_start(start(tried.attempt), tried, by_now=ByNow(tool(REFUND)), now=LATER)
        assert isinstance(event, ApprovalVoided)
        assert event.error.effect_happened == happened


def test_a_call_without_an_approval_is_compared_with_nothing() -> None:
    """It needed none."""
    call = folded(*decide(made()))
    assert DISPATCHED.attempt == call.attempt
    events, answer = decide_start(start(), call, by_now=ByNow(Tool()), now=LATER)
    assert (kinds(events), answer.verdict) == (["attempt_started"], "go")
