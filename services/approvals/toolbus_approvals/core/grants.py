"""
Decide about standing grants: somebody agrees beforehand to the next calls of a tool.

A grant speaks for its giver, and under the same rules: only where the giver may decide in their own right. It is used
on its own stream first and speaks on the wait's stream then; a use that was recorded and not spoken yet is no second
use. It never speaks for arguments that somebody edited, nor for what somebody answered to a server that had asked:
nobody would have looked at them but who wrote them.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from toolbus_approvals.core.approving import agreed
from toolbus_approvals.core.delegating import must_end_soon
from toolbus_approvals.core.eligible import counted, may_in_person, needed
from toolbus_approvals.core.late import is_over
from toolbus_contracts.errors import Conflict, Fault, NotFound, Refused
from toolbus_contracts.expressions import Inexpressible, expression_fault, expression_value
from toolbus_contracts.tools import JsonObject, Tool
from toolbus_contracts.waits import (
    AnyGrantEvent,
    AnyWaitEvent,
    DecisionRecorded,
    GiveGrant,
    Grant,
    GrantGiven,
    GrantUsed,
    Spoken,
    Wait,
)

if TYPE_CHECKING:
    from cel import Program


def decide_give_grant(
    command: GiveGrant, grant: Grant | None, tool: Tool, who: Spoken, *, grant_id: str
) -> tuple[AnyGrantEvent, ...]:
    """
    Agree beforehand to the next calls of a tool, as it is now.

    Raises:
        NotFound: `unknown_tool`: nobody can agree to what is not there.
        Refused: `invalid_request`: a condition that is no expression, or not until a moment at most 31 days ahead.
        Conflict: `already_exists`.
    """
    if grant is not None:
        raise Conflict("already_exists", f"grant {grant_id} exists")
    must_end_soon(command.until, who.at)
    fault = expression_fault(command.condition, _program) if command.condition is not None else None
    if fault is not None:
        raise Refused("invalid_request", fault, (Fault("/while", fault),))
    if tool.latest is None:
        raise NotFound(f"there is no tool {command.tool!r} in scope {command.scope}", "unknown_tool")
    return (
        GrantGiven(
            grant_id=grant_id,
            tool=command.tool,
            scope=command.scope,
            definition_hash=tool.latest.definition_hash,
            uses=command.uses,
            until=command.until,
            condition=command.condition,
            subject=who.subject,
            roles=who.roles,
            key_id=who.key_id,
            note=command.note,
            at=who.at,
        ),
    )


def speaks_for(grant: Grant, wait: Wait, now: datetime) -> bool:
    """
    Whether a grant agrees to this wait: its tool as it was, a use left (or made of it already), in time, the condition.

    A condition without a value, or one that is not true or false, agrees to nothing. A call that brought its own
    definition may use any name: no grant speaks for it.
    """
    if wait.kind != "approval" or is_over(wait, now) or wait.edits or wait.answers:
        return False
    if wait.tool != grant.tool or wait.tool_scope is None:
        return False
    if grant.scope not in {None, wait.tool_scope} or grant.definition_hash not in {None, wait.definition_hash}:
        return False
    if grant.revoked_at is not None or now >= grant.until:
        return False
    if wait.id not in grant.used_by and grant.left(now) == 0:
        return False
    return _holds(grant.condition, about(wait))


def about(wait: Wait) -> JsonObject:
    """What a condition may know of a call."""
    return {
        "tool": wait.tool,
        "arguments": wait.arguments,
        "actor": wait.requester.model_dump(mode="json"),
        "labels": dict(wait.labels),
    }


def would_count(grant: Grant, wait: Wait, now: datetime) -> bool:
    """Whether a grant that speaks would bring the wait further: its giver may decide, and has not yet."""
    has_said = any(grant.subject == decision.subject for decision in wait.decisions)
    return not has_said and may_in_person(wait, grant.subject, grant.roles) and speaks_for(grant, wait, now)


def chosen(grants: Iterable[Grant], wait: Wait, now: datetime) -> tuple[Grant, ...]:
    """
    The grants that are to be used for a wait: one of each giver, and no more than are still needed.

    Those that were used for it already come first, then those that end first.
    """
    missing = needed(wait) - len(counted(wait.decisions))
    found: dict[str, Grant] = {}
    for grant in sorted(grants, key=lambda one: (wait.id not in one.used_by, one.until, one.id)):
        if len(found) < missing and grant.subject not in found and would_count(grant, wait, now):
            found[grant.subject] = grant
    return tuple(found.values())


def decide_use(grant: Grant | None, wait_id: str, now: datetime) -> tuple[AnyGrantEvent, ...]:
    """Use a grant for one wait: once, and only while it has a use left."""
    if grant is None or wait_id in grant.used_by or grant.left(now) == 0:
        return ()
    return (GrantUsed(grant_id=grant.id, wait_id=wait_id, at=now),)


def decide_by_grant(grant: Grant, wait: Wait, *, now: datetime) -> tuple[AnyWaitEvent, ...]:
    """Let a grant that was used for this wait agree in its giver's name; nothing where it may not."""
    if wait.id not in grant.used_by or not would_count(grant, wait, now):
        return ()
    decision = DecisionRecorded(
        wait_id=wait.id,
        decision="approve",
        digest=wait.digest,
        subject=grant.subject,
        key_id=grant.key_id,
        grant_id=grant.id,
        note=grant.note,
        at=now,
    )
    return agreed(wait, decision)


def _holds(condition: str | None, call: JsonObject) -> bool:
    if condition is None:
        return True
    try:
        return expression_value(condition, {"call": call}, _program) is True
    except Inexpressible:
        return False


@lru_cache(maxsize=512)
def _program(text: str) -> "Program":
    import cel  # reading it takes 0.3 s, and most processes never need it

    return cel.compile(text)
