"""How waits are opened: what many of them cost together, and what a late or doubled asking comes to."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tests.unit.dispatcher.logs import asked, requested, resumed, write
from tests.unit.runtime.things import background
from toolbus_approvals.aggregates import AGGREGATES
from toolbus_approvals.keeping import Keeper
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.store.memory import MemoryStore

TENANT = "acme"
NUMBER = 100


class Counted(MemoryStore):
    """A store that counts how often streams are looked for."""

    loads = 0

    async def load(self, wanted: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        """As the memory store."""
        self.loads += bool(wanted)
        return await super().load(wanted)


@asynccontextmanager
async def keeping(store: MemoryStore) -> AsyncIterator[Keeper]:
    """A keeper whose decisions are made."""
    batcher = Batcher(store, AGGREGATES, lambda _: None)
    async with background(batcher.run()):
        yield Keeper(batcher)


async def test_many_that_are_opened_together_are_looked_up_together() -> None:
    """One query for all their calls, and none for their own streams, which are hardly there."""
    store = Counted()
    names = [f"call_{number}" for number in range(NUMBER)]
    await write(store, *([requested(name), asked(name, number)] for number, name in enumerate(names)))
    async with keeping(store) as keeper:
        found = await asyncio.gather(
            *(keeper.open(TENANT, name, f"wait_{number}") for number, name in enumerate(names))
        )
    assert [wait.id for wait in found if wait is not None and wait.is_open] == [f"wait_{n}" for n in range(NUMBER)]
    assert store.loads == 1
    assert keeper.opened_to == store.events[-1].position


async def test_a_wait_is_opened_once_whoever_else_did() -> None:
    """A second asking finds it, in another process as well, and tells that it was open already."""
    store = MemoryStore()
    await write(store, [requested("call_1"), asked("call_1")])
    async with keeping(store) as one, keeping(store) as other:
        one.found_open = other.found_open = False
        assert await one.open(TENANT, "call_1", "wait_1") is not None
        again = await other.open(TENANT, "call_1", "wait_1")
        assert again is not None
        assert (again.is_open, one.found_open, other.found_open) == (True, False, True)
    assert [event.kind for event in store.events].count("wait.opened.v1") == 1


async def test_a_call_that_was_known_before_it_stood_still_is_read_again() -> None:
    """The second wait of a call is opened although the call is remembered with its first."""
    store = MemoryStore()
    await write(store, [requested("call_1"), asked("call_1", 1, "input")])
    async with keeping(store) as keeper:
        assert await keeper.open(TENANT, "call_1", "wait_1") is not None
        await write(store, [resumed("call_1", 1, "input"), asked("call_1", 2)])
        second = await keeper.open(TENANT, "call_1", "wait_2")
        assert second is not None
        assert (second.id, second.kind) == ("wait_2", "approval")
        await write(store, [resumed("call_1", 2)])
        assert await keeper.open(TENANT, "call_1", "wait_3") is None
