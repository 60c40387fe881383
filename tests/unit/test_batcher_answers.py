"""The batcher answers nobody before what the answer stands on is stored."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Literal

import pytest
from pydantic import BaseModel, TypeAdapter

from toolbus_contracts.errors import Conflict, Unavailable
from toolbus_contracts.keys import Actor
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Aggregate, Command, Decide, Snapshot
from toolbus_runtime.store.admission import Result
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Append


class Opened(BaseModel):
    """The thing is there."""

    kind: Literal["thing.opened.v1"] = "thing.opened.v1"


THINGS = Aggregate("thing", None, TypeAdapter(Opened), lambda _, event: event, lambda _: "together")
ACTOR = Actor(subject="service:test", via="internal")


class FailingStore(MemoryStore):
    """A store that is away for the next `failures` appends."""

    failures = 1

    async def append(self, appends: Sequence[Append]) -> list[Result]:
        """Fail, or store."""
        if self.failures:
            self.failures -= 1
            raise Unavailable("the store is away")
        return await super().append(appends)


@asynccontextmanager
async def running(store: MemoryStore) -> AsyncIterator[Batcher]:
    """A batcher at work on this store."""
    batcher = Batcher(store, {"thing": THINGS}, lambda _: None)
    work = asyncio.create_task(batcher.run())
    yield batcher
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def command(number: int, decide: Decide) -> Command:
    """A command about the one thing."""
    return Command("acme", "thing", "it", f"cause {number}", ACTOR, decide)


def open_once(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
    """Open the thing unless it is open."""
    return () if snapshot.of("acme", "thing", "it") else (Opened(),)


def open_or_conflict(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
    """Open the thing, which must not be open."""
    if snapshot.of("acme", "thing", "it"):
        raise Conflict("already_exists", "it is open")
    return (Opened(),)


async def test_a_repeated_command_is_not_answered_before_the_first_is_stored() -> None:
    """Two equal commands in one batch that cannot be stored: both are told so, and nothing was accepted."""
    store = FailingStore()
    async with running(store) as batcher:
        first, second = batcher.enqueue(command(1, open_once)), batcher.enqueue(command(2, open_once))
        found = await asyncio.gather(first, second, return_exceptions=True)
    stored = await store.head()
    accepted = [one for one in found if not isinstance(one, Unavailable)]
    assert len(accepted) <= stored, f"{len(accepted)} were accepted and {stored} are stored"


async def test_a_conflict_is_not_told_before_what_it_conflicts_with_is_stored() -> None:
    """A command that lost to a neighbour in its batch which was never stored may still be taken."""
    store = FailingStore()
    async with running(store) as batcher:
        first, second = batcher.enqueue(command(1, open_or_conflict)), batcher.enqueue(command(2, open_or_conflict))
        found = await asyncio.gather(first, second, return_exceptions=True)
    assert await store.head() == len([one for one in found if not isinstance(one, BaseException)])
    assert not [one for one in found if isinstance(one, Conflict)]


@pytest.mark.parametrize("count", [2, 50])
async def test_equal_commands_of_one_batch_are_all_answered(count: int) -> None:
    """One of them is stored and each of them hears the same."""
    store = MemoryStore()
    async with running(store) as batcher:
        found = await asyncio.gather(*(batcher.enqueue(command(number, open_once)) for number in range(count)))
    assert await store.head() == 1
    assert {type(decided.state) for decided in found} == {Opened}
