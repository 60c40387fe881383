"""Who may have the executors: one tenant alone has them all, several share them by weight, and none is left idle."""

import pytest

from tests.unit.dispatcher.backlogs import at
from toolbus_dispatcher.core.fairness import Shares


def shares(slots: int = 10, **weights: float) -> Shares:
    """Nothing is with the executors yet."""
    return Shares(slots, weights)


def fill(found: Shares, tenant: str, seconds: float = 0.0) -> int:
    """How many more calls the tenant gets when it takes all that it may have."""
    taken = 0
    while found.may_have_more(tenant, at(seconds)):
        found.add(tenant, 1)
        taken += 1
    return taken


def active(found: Shares, *tenants: str, seconds: float = 0.0) -> Shares:
    """These tenants were heard of then."""
    for tenant in tenants:
        found.see(tenant, at(seconds))
    return found


def test_a_tenant_alone_has_all_executors_and_the_next_work_lies_ready() -> None:
    """Twice what they carry out at once."""
    assert fill(active(shares(10), "a"), "a") == 20
    assert fill(shares(10), "a") == 20


def test_several_tenants_share_by_weight() -> None:
    """Each has its share whatever the others have."""
    found = active(shares(60, a=1.0, b=2.0, c=3.0), "a", "b", "c")
    assert fill(found, "a") == 48  # four fifths, since the others want nothing yet
    assert fill(found, "b") == 20
    assert fill(found, "c") == 30


def test_a_tenant_that_comes_shares_at_once() -> None:
    """Each that is seen counts with its weight from then on, and not only when somebody looks who has left."""
    found = active(shares(60, b=2.0, c=3.0), "a")
    found.add("z", 60)  # nothing is to spare
    assert fill(found, "a") == 120
    found.add("a", -120)
    assert fill(active(found, "b"), "a") == 20
    found.add("a", -20)
    assert fill(active(found, "c", "c"), "a") == 10
    assert fill(found, "b") == 20


def test_a_tenant_without_a_weight_has_weight_one() -> None:
    """Nobody has to be named."""
    found = active(shares(40, b=3.0), "a", "b")
    found.add("b", 40)
    assert fill(found, "a") == 10


def test_what_others_leave_may_be_taken_up_to_four_fifths() -> None:
    """The rest stays free for those who come next, whose first call waits for nobody."""
    found = active(shares(100), "a", "b")
    assert fill(found, "a") == 80
    assert fill(found, "b") == 50


def test_every_tenant_may_have_one_call_at_least() -> None:
    """However many there are, and however small its weight."""
    found = active(shares(2, z=0.001), *"abcdefgh", "z")
    assert fill(found, "a") >= 1
    assert fill(found, "z") == 1


def test_a_tenant_that_is_not_known_yet_shares_with_those_that_are() -> None:
    """It counts before it was seen."""
    found = active(shares(10), "a")
    found.add("a", 20)
    assert fill(found, "b") == 5


def test_a_tenant_that_was_not_heard_of_for_a_while_is_forgotten() -> None:
    """A minute after its last sign of life whoever is left has all executors."""
    found = active(active(shares(10), "b"), "a", seconds=59.9)
    assert fill(found, "a", 59.9) == 8
    assert fill(found, "a", 61.0) == 12


def test_a_tenant_with_calls_at_the_executors_is_not_forgotten() -> None:
    """However long they take; when the last of them ended, it is."""
    found = active(shares(10), "a", "b")
    found.add("b", 1)
    assert fill(found, "a", 1000.0) == 7
    found.add("b", -1)
    assert fill(found, "a", 1002.0) == 13


def test_looking_for_who_left_is_not_done_at_every_question() -> None:
    """Once a second: the questions come thousands of times as often."""
    found = active(active(shares(10), "b"), "a", seconds=58.0)
    assert fill(found, "a", 59.5) == 8
    assert fill(found, "a", 60.2) == 0
    assert fill(found, "a", 60.5) == 12


@pytest.mark.parametrize("back_s", [30.0, 3600.0])
def test_a_clock_that_was_set_back_makes_nobody_active_for_longer(back_s: float) -> None:
    """Who was seen in what is the future now was seen just now."""
    found = active(shares(10), "a", "b")
    assert fill(found, "a", 0.0) == 8
    assert fill(found, "a", -back_s) == 0
    assert fill(found, "a", -back_s + 60.0) == 12


def test_a_burden_is_relative_to_the_weight() -> None:
    """Three calls of a tenant of weight three weigh as much as one of weight one."""
    found = shares(10, a=3.0)
    found.add("a", 3)
    found.add("b", 1)
    assert found.burden("a") == found.burden("b") == 1.0
    assert found.burden("c") == 0.0


def test_a_tenant_hears_how_it_stands() -> None:
    """With the numbers."""
    found = shares(10)
    found.add("a", 3)
    assert found.explain("a") == "tenant a has 3 calls with the executors, its share of 10 slots"
    assert found.explain("b") == "tenant b has 0 calls with the executors, its share of 10 slots"


def test_nothing_is_kept_of_a_tenant_that_has_nothing() -> None:
    """Tenants come and go."""
    found = active(shares(10), *(f"t{number}" for number in range(100)))
    for number in range(100):
        found.add(f"t{number}", 1)
        found.add(f"t{number}", -1)
    assert found.may_have_more("a", at(60))
    assert (found._out, found._seen_at, found._total, found._active) == ({}, {}, 0, 0)
