"""Which open waits a call needs no more."""

import pytest

from toolbus_approvals.core.ending import ENDING, GOING_ON, needless
from toolbus_approvals.core.opening import doubt_id
from toolbus_approvals.heeding import Heeding
from toolbus_contracts.digests import wait_id_for_call

APPROVAL = wait_id_for_call("call_1", 1)
FIRST, SECOND = doubt_id("call_1", 1), doubt_id("call_1", 2)


@pytest.mark.parametrize("verb", ["succeeded", "failed", "cancelled", "expired", "approval_voided"])
def test_at_the_end_of_a_call_nothing_is_needed(verb: str) -> None:
    """Whatever is open."""
    assert needless(f"call.{verb}.v1", "call_1", 2, [APPROVAL, SECOND]) == (APPROVAL, SECOND)


@pytest.mark.parametrize("verb", ["doubt_settled", "attempt_failed", "input_required"])
def test_what_is_known_of_an_attempt_ends_its_own_doubt(verb: str) -> None:
    """A person, a probe or a late answer told; the doubt about a later attempt stays, however late one reacts."""
    assert needless(f"call.{verb}.v1", "call_1", 1, [FIRST]) == (FIRST,)
    assert needless(f"call.{verb}.v1", "call_1", 1, [SECOND]) == ()
    assert needless(f"call.{verb}.v1", "call_1", 1, [APPROVAL]) == ()


def test_other_events_end_nothing() -> None:
    """An attempt that starts has its waits behind it."""
    assert needless("call.attempt_started.v1", "call_1", 1, [APPROVAL, FIRST]) == ()


async def test_while_a_doubt_is_open_everything_that_ends_it_is_heard_of() -> None:
    """Also a failure that came late, or that a probe found: another attempt follows, and this one is settled."""
    heeding = Heeding()
    heeding.doubted()
    assert heeding.wanted() >= ENDING | GOING_ON
