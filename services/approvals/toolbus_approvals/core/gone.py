"""Decide whether a call still stands still for a wait: its own stream says so sooner than the reaction to it."""

from datetime import datetime

from toolbus_approvals.core.closing import Events, decide_withdraw
from toolbus_contracts.calls import Call
from toolbus_contracts.waits import Wait


def decide_gone(wait: Wait, call: Call | None, *, now: datetime) -> Events:
    """
    Close a wait whose call was cancelled, or ended otherwise, a moment ago: nobody's word counts there any more.

    A doubt is settled on the call's own stream, and by nobody's word about its wait.
    """
    if wait.kind == "doubt" or (call is not None and call.wait is not None and call.wait.wait_id == wait.id):
        return ()
    note = "the call is not there" if call is None else f"the call is {call.status}"
    return decide_withdraw(wait, note=note, now=now)
