"""Standing grants: given, used, exhausted, revoked; and for whom they speak."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.approvals.making import (
    DIGEST,
    EXPIRES,
    NOW,
    SOON,
    approval,
    approve,
    deny,
    edit,
    function,
    grant,
    kinds,
    person,
    then,
)
from tests.unit.dispatcher.making import define
from tests.unit.dispatcher.making import tool as defined
from toolbus_approvals.core.delegating import LONGEST
from toolbus_approvals.core.grants import (
    about,
    chosen,
    decide_by_grant,
    decide_give_grant,
    decide_use,
    speaks_for,
    would_count,
)
from toolbus_contracts.errors import Conflict, NotFound, Refused
from toolbus_contracts.expressions import MAX_CHARS
from toolbus_contracts.tools import Tool
from toolbus_contracts.waits import (
    DecisionRecorded,
    GiveGrant,
    Grant,
    GrantGiven,
    GrantUsed,
    Wait,
    evolve_grant,
)

BO = person("user:bo", "finance", key_id="key_2")
WAIT = approval()
TWO = approval("role:finance", quorum=2)
UNTIL = SOON + timedelta(days=1)
USED = grant(used_by=("wait_1",))
REFUND = defined(define("refund"))


def give(
    changes: dict[str, Any] | None = None, *, before: Grant | None = None, tool: Tool = REFUND
) -> tuple[object, ...]:
    """Somebody agrees to the next calls."""
    body = {"tool": "refund", "uses": 3, "until": UNTIL, "while": "call.arguments.amount < 10", "note": "small ones"}
    return decide_give_grant(
        GiveGrant.model_validate({**body, **(changes or {})}), before, tool, BO, grant_id="grant_1"
    )


def test_a_grant_is_given_with_the_roles_of_who_gives_it() -> None:
    """As they are now, with its bounds."""
    given = GrantGiven(
        grant_id="grant_1",
        tool="refund",
        scope="tenant",
        definition_hash=REFUND.versions[-1].definition_hash,
        uses=3,
        until=UNTIL,
        condition="call.arguments.amount < 10",
        subject="user:bo",
        roles=("finance",),
        key_id="key_2",
        note="small ones",
        at=SOON,
    )
    assert give() == (given,)
    assert len(give({"while": None})) == 1
    with pytest.raises(Conflict) as caught:
        give(before=evolve_grant(None, given))
    assert caught.value.code == "already_exists"


def test_nobody_agrees_to_what_is_not_there() -> None:
    """A tool that was never defined, or was retired."""
    for gone in (Tool(), REFUND.model_copy(update={"retired_at": NOW})):
        with pytest.raises(NotFound, match=r"^there is no tool 'refund' in scope tenant$") as caught:
            give(tool=gone)
        assert caught.value.code == "unknown_tool"


@pytest.mark.parametrize(
    ("changes", "speaks"),
    [
        ({"scope": "tenant", "definition_hash": WAIT.definition_hash}, True),
        ({"scope": "tenant", "definition_hash": "sha256:" + "1" * 64}, False),
        ({"scope": "agent:a1", "definition_hash": WAIT.definition_hash}, False),
        ({"scope": None, "definition_hash": None}, True),
    ],
)
def test_a_grant_speaks_for_the_tool_as_it_was(changes: dict[str, Any], *, speaks: bool) -> None:
    """Not for one that was defined anew since, nor for one of the same name elsewhere; a grant of old named neither."""
    assert speaks_for(grant(**changes), WAIT, SOON) == speaks


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"while": "call."}, "/while"),
        ({"while": "1 +" * MAX_CHARS}, "/while"),
        ({"while": "[1].all(a, [1].all(b, [1].all(c, true)))"}, "/while"),
        ({"until": SOON}, "/until"),
        ({"until": SOON + LONGEST + timedelta(microseconds=1)}, "/until"),
    ],
)
def test_a_grant_that_could_not_be_kept_is_refused(changes: dict[str, Any], path: str) -> None:
    """What is no expression, or a costly one; what has no end that can be awaited."""
    with pytest.raises(Refused) as caught:
        give(changes)
    assert (caught.value.code, [fault.path for fault in caught.value.faults]) == ("invalid_request", [path])


@pytest.mark.parametrize(
    ("condition", "speaks"),
    [
        (None, True),
        ("call.arguments.amount < 10", True),
        ("call.arguments.amount < 7", False),
        ("call.tool == 'refund' && call.labels.team == 'billing'", True),
        ("call.actor.on_behalf_of == 'user:ana' && call.actor.subject.startsWith('agent:')", True),
        ("call.arguments.missing < 10", False),
        ("call.arguments.amount", False),
        ("'true'", False),
        ("1 / 0 == 1", False),
        ("other.id == 1", False),
    ],
)
def test_a_grant_speaks_while_its_condition_holds(condition: str | None, *, speaks: bool) -> None:
    """What is not true, or cannot be told, agrees to nothing."""
    assert speaks_for(grant(condition=condition), WAIT, SOON) == speaks


def test_a_condition_may_know_this_of_a_call() -> None:
    """What it was asked with, by whom, and how it is labelled."""
    assert about(WAIT) == {
        "tool": "refund",
        "arguments": {"charge": "ch_1", "amount": 7},
        "actor": {"subject": "agent:bot", "key_id": "key_0", "via": "http", "on_behalf_of": "user:ana"},
        "labels": {"team": "billing"},
    }


EDITABLE = approval(may_edit=True)


@pytest.mark.parametrize(
    ("found", "wait"),
    [
        (grant(tool="pay"), WAIT),
        (grant(until=SOON), WAIT),
        (grant(revoked_at=NOW), WAIT),
        (grant(uses=2, used_by=("wait_8", "wait_9")), WAIT),
        (grant(uses=1, used_by=("wait_1",), until=SOON), WAIT),
        (grant(used_by=("wait_1",), revoked_at=NOW), WAIT),
        (grant(), function()),
        (grant(), WAIT.model_copy(update={"tool_scope": None, "tool_version": None})),
        (grant(), WAIT.model_copy(update={"expires_at": SOON})),
        (grant(), then(WAIT, deny(WAIT, person("user:cy")))),
        (grant(), then(EDITABLE, edit(EDITABLE, person("user:cy"), {"amount": 1}))),
    ],
)
def test_a_grant_does_not_speak_for_other_waits(found: Grant, wait: Wait) -> None:
    """
    Another tool, another kind, out of time, exhausted, revoked.

    Nor for a call that brought a definition of its own under the name of the tool, nor for what somebody edited.
    """
    assert not speaks_for(found, wait, SOON)
    assert not would_count(found, wait, SOON)
    assert decide_by_grant(found, wait, now=SOON) == ()


def test_the_last_use_still_speaks_for_its_wait() -> None:
    """It was made for this wait and for no other."""
    last = grant(uses=2, used_by=("wait_9", "wait_1"))
    assert speaks_for(last, WAIT, SOON)
    assert not speaks_for(last, WAIT.model_copy(update={"id": "wait_2"}), SOON)


def test_a_grant_is_used_once_for_a_wait_and_no_more_often_than_it_says() -> None:
    """Also when it is asked again after a crash; nothing is used of one that is gone."""
    found: Grant | None = grant(uses=2)
    for wait_id, is_used in [
        ("wait_1", True),
        ("wait_1", False),
        ("wait_2", True),
        ("wait_3", False),
        ("wait_2", False),
    ]:
        events = decide_use(found, wait_id, SOON)
        assert events == ((GrantUsed(grant_id="grant_1", wait_id=wait_id, at=SOON),) if is_used else ())
        for event in events:
            found = evolve_grant(found, event)
    for gone in (None, grant(revoked_at=NOW), grant(until=SOON)):
        assert decide_use(gone, "wait_1", SOON) == ()


def test_a_used_grant_agrees_in_the_name_of_its_giver() -> None:
    """The decision names the grant, and completes a quorum as any other yes."""
    decision = DecisionRecorded(
        wait_id="wait_1",
        decision="approve",
        digest=DIGEST,
        subject="user:bo",
        key_id="key_2",
        grant_id="grant_1",
        note="small ones",
        at=SOON,
    )
    events = decide_by_grant(USED, WAIT, now=SOON)
    assert events[0] == decision
    closed = then(WAIT, events).closed
    assert closed is not None
    assert (closed.outcome, closed.by, closed.arguments) == ("approved", ("user:bo",), None)


def test_a_grant_agrees_only_after_its_use_was_recorded() -> None:
    """Otherwise it could agree more often than it says."""
    assert decide_by_grant(grant(), WAIT, now=SOON) == ()


@pytest.mark.parametrize(
    "found", [grant("user:eve", used_by=("wait_1",)), grant("user:ana", "finance", used_by=("wait_1",))]
)
def test_a_giver_who_may_not_decide_agrees_to_nothing(found: Grant) -> None:
    """Neither who is not named, nor who asked for the call."""
    assert speaks_for(found, TWO, SOON)
    assert not would_count(found, TWO, SOON)
    assert decide_by_grant(found, TWO, now=SOON) == ()


def test_a_grant_is_one_word_of_its_giver() -> None:
    """With a quorum of two another person is still needed, and the giver's own yes adds nothing."""
    found = grant("user:bo", "finance", used_by=("wait_1",))
    wait = then(TWO, decide_by_grant(found, TWO, now=SOON))
    assert wait.is_open
    assert approve(wait, BO) == ()
    assert decide_by_grant(found, wait, now=SOON) == ()
    assert kinds(approve(wait, person("user:cy", "finance"))) == ["decision_recorded", "closed"]


def test_as_many_grants_are_chosen_as_are_needed() -> None:
    """One of each giver, those used already first, then those that end first."""
    used = grant("user:cy", "finance", id="grant_9", used_by=("wait_1",))
    early = grant("user:bo", "finance", id="grant_2", until=SOON + timedelta(hours=1))
    late = grant("user:bo", "finance", id="grant_3", until=EXPIRES)
    other = grant("user:di", "finance", id="grant_4", until=EXPIRES)
    stranger = grant("user:eve", id="grant_5", until=SOON + timedelta(minutes=1))
    everything = [late, other, stranger, early, used]
    assert chosen(everything, TWO, SOON) == (used, early)
    assert chosen([late, other, stranger, early], TWO, SOON) == (early, other)
    decided = then(TWO, approve(TWO, BO))
    assert chosen(everything, decided, SOON) == (used,)
    assert chosen([late, early], decided, SOON) == ()
    assert chosen([], TWO, SOON) == ()


def test_no_grant_is_chosen_for_what_is_decided() -> None:
    """A use is not wasted."""
    assert chosen([grant()], then(WAIT, approve(WAIT, person("user:cy"))), SOON) == ()
