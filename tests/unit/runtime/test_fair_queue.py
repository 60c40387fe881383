"""The queue that tenants share."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from toolbus_runtime.fair_queue import FairQueue


class Item(NamedTuple):
    """One thing of a tenant."""

    tenant: str
    number: int


def filled(*lengths: tuple[str, int]) -> FairQueue[Item]:
    """So many items of each tenant."""
    queue: FairQueue[Item] = FairQueue(lambda item: item.tenant)
    for tenant, length in lengths:
        for number in range(length):
            queue.add(Item(tenant, number))
    return queue


def test_a_long_line_delays_nobody_else() -> None:
    """The only item of a tenant comes with the first turn, whoever queued before."""
    queue = filled(("heavy", 1000), ("light", 1))
    assert queue.take(4) == [Item("heavy", 0), Item("light", 0), Item("heavy", 1), Item("heavy", 2)]
    assert (len(queue), queue.waiting("heavy"), queue.waiting("light")) == (997, 997, 0)


def test_small_takes_serve_everybody_in_turn() -> None:
    """Who was served stands last."""
    queue = filled(("a", 3), ("b", 3), ("c", 3))
    assert [queue.take(1)[0].tenant for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=8), st.integers(1, 9))
def test_nothing_is_lost_and_each_tenant_keeps_its_order(parts: list[tuple[str, int]], size: int) -> None:
    """Also when what was taken is put back."""
    queue: FairQueue[Item] = FairQueue(lambda item: item.tenant)
    added = [Item(tenant, number) for tenant, length in parts for number in range(length)]
    for item in added:
        queue.add(item)
    queue.put_back(queue.take(size))
    found = []
    while part := queue.take(size):
        found += part
    for tenant in "abc":
        assert [item for item in found if item.tenant == tenant] == [item for item in added if item.tenant == tenant]
    assert len(found) == len(added)
    assert len(queue) == 0
