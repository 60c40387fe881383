"""States in memory: given way when there are too many, imagined, and as new as is asked for."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel

from tests.unit.runtime.things import Counted, Store, adding, background, batcher, count
from toolbus_runtime.deciding import Snapshot


async def test_states_give_way_when_there_are_too_many() -> None:
    """A batch over more streams than are kept is decided rightly, and so is the next one."""
    store = Store()
    work = batcher(store, cache_size=2)
    names = [f"t{n}" for n in range(5)]
    async with background(work.run()):
        for expected in (1, 2, 3):
            found = await asyncio.gather(*(work.enqueue(count(name)) for name in names))
            assert {decided.state for decided in found} == {expected}
        await store.elsewhere("t0", by=10)
        assert await work.states.read("acme", "thing", "t0") == 13
    assert len(store.events) == 16


async def test_what_a_decision_would_lead_to_is_imagined_without_storing_it() -> None:
    """Streams are loaded as the decision asks for them."""
    store = Store()
    await store.elsewhere("a", by=5)
    await store.elsewhere("b", by=7)

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        return (Counted(by=snapshot.of("acme", "thing", "b")),)

    work = batcher(store)
    assert await work.imagine(decide, "acme/thing/a") == 12
    assert await work.imagine(adding("a"), "acme/thing/a") == 6
    assert len(store.events) == 2


async def test_states_are_as_new_as_is_asked_for() -> None:
    """From memory where that is new enough, from the store where it is not."""
    store = Store()
    await store.elsewhere("a")
    states = batcher(store).states
    assert await states.known(["acme/thing/a", "acme/thing/b"]) == {"acme/thing/a": 1, "acme/thing/b": 0}
    await store.elsewhere("a")
    assert await states.known(["acme/thing/a"]) == {"acme/thing/a": 1}
    assert await states.reaching({"acme/thing/a": 1}) == {"acme/thing/a": 1}
    assert await states.reaching({"acme/thing/a": 2, "acme/thing/b": 0}) == {"acme/thing/a": 2, "acme/thing/b": 0}
    assert [dict(wanted) for wanted in store.loads] == [{"acme/thing/a": 0, "acme/thing/b": 0}, {"acme/thing/a": 1}]
