"""Decide which open waits a call needs no more, by what happened to it."""

from collections.abc import Collection

from toolbus_approvals.core.opening import doubt_id
from toolbus_contracts.calls import TERMINAL_KINDS

ENDING = TERMINAL_KINDS - {"call.refused.v1", "call.denied.v1"}  # those two leave nothing open
# It is known what came of an attempt.
GOING_ON = frozenset({"call.doubt_settled.v1", "call.attempt_failed.v1", "call.input_required.v1"})


def needless(kind: str, call_id: str, attempt: int | None, opened: Collection[str]) -> tuple[str, ...]:
    """
    The open waits that are to be withdrawn after an event: all at the end of the call, else the attempt's own doubt.

    A reaction may be made again long afterwards: a later attempt may be in doubt by then, and stays so.
    """
    if kind in ENDING:
        return tuple(opened)
    if kind in GOING_ON and attempt is not None:
        return tuple(wait_id for wait_id in opened if wait_id == doubt_id(call_id, attempt))
    return ()
