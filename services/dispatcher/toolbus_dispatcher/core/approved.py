"""What was approved is what runs: compared when the approval comes, and again just before the effect."""

from datetime import datetime
from typing import Final, NamedTuple

from toolbus_contracts.calls import ApprovalVoided, Call, CallError, call_digest
from toolbus_contracts.stored import StoredValues, stored_digest
from toolbus_contracts.tools import Tool


class ByNow(NamedTuple):
    """What an approved call named, as it is now, where that matters: its tool, and what is stored for it."""

    tool: Tool | None = None
    stored: StoredValues | None = None


UNSEEN: Final = ByNow()


def names_a_tool(call: Call) -> bool:
    """Whether it matters to an approved call what its tool is by now: it brought no definition, named no version."""
    return call.approval is not None and call.tool_scope is not None and not call.is_pinned


def why_void(call: Call, tenant: str, *, held: str | None, by_now: ByNow = UNSEEN) -> str | None:
    """
    Why an approved call must not be carried out any more; nothing when it may be, or needed no approval.

    `held` is the digest of what is about to be sent, as whoever sends it computes it.
    """
    if call.approved is None:
        return None
    if call.approved.digest != call_digest(tenant, call):
        return "the call is not what was approved"
    if held != call.approved.digest:
        return "what would be sent is not what was approved"
    if by_now.stored is not None and stored_digest(by_now.stored) != call.stored_digest:
        return f"what is stored for {call.tool} changed after the approval was asked for"
    tool = by_now.tool
    if tool is None or not names_a_tool(call):
        return None
    if tool.latest is None:
        return f"{call.tool} was retired after the approval was asked for"
    if tool.latest.definition_hash != call.definition_hash:
        return f"{call.tool} was defined anew after the approval was asked for: version {tool.latest.version}"
    return None


def voided(call: Call, reason: str, now: datetime) -> ApprovalVoided:
    """The call is refused: nothing is sent; what an earlier attempt did stands."""
    wait_id = call.approved.wait_id if call.approved else ""
    error = CallError(code="approval_void", message=reason, effect_happened=call.effect_before)
    return ApprovalVoided(call_id=call.id, wait_id=wait_id, error=error, at=now)
