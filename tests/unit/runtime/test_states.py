"""States in memory: given way when there are too many, imagined, and as new as is asked for."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel

from tests.unit.runtime.things import COUNTS, Counted, Store, adding, background, batcher, count
from toolbus_runtime.deciding import Snapshot
from toolbus_runtime.states import MAX_CHARS, RESTING, States, Versioned


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


async def test_large_states_give_way_sooner() -> None:
    """Not only their number is bounded, but the text that they were folded from; a state counts once."""
    store = Store()
    states = batcher(store).states
    for name in ("a", "b", "c"):
        states.remember(f"acme/thing/{name}", Versioned(1, 0, MAX_CHARS // 2))
        states.remember(f"acme/thing/{name}", Versioned(2, 0, MAX_CHARS // 2))
    assert states.kept("acme/thing/a") is None
    assert states.kept("acme/thing/b") == states.kept("acme/thing/c") == Versioned(2, 0, MAX_CHARS // 2)


async def test_of_states_that_rest_few_are_kept() -> None:
    """However many come to rest, those that do not stay; and whoever is moved again counts as others do."""
    things = replace(COUNTS, rests=lambda state: state == 0)
    states = States(Store(), {"thing": things}, 10 * RESTING)
    states.remember("acme/thing/awake", Versioned(1, 1))
    states.remember("acme/thing/moved", Versioned(1, 0))
    states.remember("acme/thing/moved", Versioned(2, 1))
    for name in range(RESTING + 1):
        states.remember(f"acme/thing/{name}", Versioned(1, 0))
    assert states.kept("acme/thing/0") is None
    assert all(states.kept(f"acme/thing/{name}") for name in ("awake", "moved", 1, RESTING))


async def test_made_up_ids_push_nothing_out() -> None:
    """Reading what is not there, as anybody can with a made-up key, leaves no trace in memory."""
    store = Store()
    await store.elsewhere("a")
    states = batcher(store, cache_size=2).states
    assert await states.read("acme", "thing", "a") == 1
    for name in ("x", "y", "z"):
        assert await states.read("acme", "thing", name) == 0
        assert await states.known([f"acme/thing/{name}"]) == {f"acme/thing/{name}": 0}
        assert await states.read_many([f"acme/thing/{name}"]) == {f"acme/thing/{name}": 0}
        assert states.kept(f"acme/thing/{name}") is None
    assert states.kept("acme/thing/a") is not None


async def test_text_is_counted_where_it_comes_from() -> None:
    """Committed here or read from the store: as many characters as the events have."""
    store = Store()
    work = batcher(store)
    async with background(work.run()):
        for _ in range(2):
            await work.submit(count("a"))
    kept = work.states.kept("acme/thing/a")
    assert kept is not None
    assert kept.chars == sum(len(event.data) for event in store.events)
    assert (await batcher(store).states.refresh(["acme/thing/a"]))["acme/thing/a"] == kept


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
    # What is not there may come to be there, and is asked for each time.
    assert [dict(wanted) for wanted in store.loads] == [
        {"acme/thing/a": 0, "acme/thing/b": 0},
        {"acme/thing/a": 1, "acme/thing/b": 0},
    ]
