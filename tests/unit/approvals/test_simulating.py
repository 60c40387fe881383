"""Who would have to approve a call."""

from typing import Any

import pytest

from tests.unit.approvals.making import NOW, SOON, grant, person
from tests.unit.dispatcher.making import define
from tests.unit.dispatcher.making import tool as defined
from toolbus_approvals.core.simulating import approval_of, simulate
from toolbus_contracts.tools import Approval, Contract, ToolDefinition
from toolbus_contracts.waits import Grant, Simulated, SimulateWait, view_grant

FINANCE = Approval(approvers=("role:finance", "user:bo"), quorum=2)
DANGEROUS = Contract(effect="dangerous", idempotency="required")
ANA = person("user:ana")


def tool(**changes: Any) -> ToolDefinition:
    """A tool with these promises."""
    return define().model_copy(update=changes)


def told(definition: ToolDefinition, *grants: Grant, **body: Any) -> Simulated:
    """What is told to ana about such a call."""
    command = SimulateWait.model_validate({"tool": "refund", "arguments": {"amount": 7}, **body})
    return simulate(defined(definition).versions[-1], ANA, grants, SOON, command=command)


@pytest.mark.parametrize(
    ("definition", "approval"),
    [
        (tool(), None),
        (tool(contract=Contract(effect="write", idempotency="none")), None),
        (tool(contract=DANGEROUS), Approval()),
        (tool(approval=FINANCE), FINANCE),
        (tool(approval=FINANCE, contract=DANGEROUS), FINANCE),
    ],
)
def test_the_policy_is_that_of_the_tool_or_the_default(definition: ToolDefinition, approval: Approval | None) -> None:
    """What is dangerous always needs somebody; what the tool names comes first."""
    assert approval_of(definition) == approval
    found = told(definition)
    assert (found.needs_approval, found.approval) == (approval is not None, approval)
    assert found.may_decide == (approval.approvers if approval else ())


def test_grants_that_would_speak_are_told() -> None:
    """Of those who may decide, for these arguments and this requester; nothing is used."""
    speaks = grant("user:bo")
    condition = grant("user:cy", "finance", id="grant_2", condition="call.arguments.amount < 10")
    others = [
        grant("user:eve", id="grant_3"),
        grant("user:ana", "finance", id="grant_4"),
        grant("user:bo", id="grant_5", tool="pay"),
        grant("user:bo", id="grant_6", condition="call.arguments.amount < 5"),
        grant("user:bo", id="grant_7", revoked_at=NOW),
    ]
    found = told(tool(approval=FINANCE), speaks, condition, *others)
    assert found.grants == (view_grant(speaks, SOON), view_grant(condition, SOON))
    assert told(tool(), speaks).grants == ()


def test_on_whose_behalf_it_would_be_counts() -> None:
    """Their own grant does not speak for them."""
    found = told(tool(approval=FINANCE), grant("user:bo"), on_behalf_of="user:bo")
    assert found.grants == ()
