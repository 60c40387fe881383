"""The batcher and old states: what adds no event is believed only from states that are fresh."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from pydantic import BaseModel

from tests.unit.runtime.things import Counted, Store, background, batcher, count
from toolbus_contracts.errors import Conflict
from toolbus_runtime.deciding import Decide, Snapshot
from toolbus_runtime.store.admission import Result
from toolbus_runtime.store.port import Append


def from_five_on(answer: Exception | None) -> Decide:
    """Count on from five; below, refuse or find nothing to do."""

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        if snapshot.of("acme", "thing", "a") >= 5:
            return (Counted(),)
        if answer is not None:
            raise answer
        return ()

    return decide


@pytest.mark.parametrize("answer", [None, Conflict("busy", "not yet")])
async def test_nobody_is_refused_because_our_memory_is_old(answer: Exception | None) -> None:
    """Another process wrote since: a refusal, and a finding that nothing is to do, are made again on what is stored."""
    store = Store()
    work = batcher(store)
    async with background(work.run()):
        await work.submit(count("a"))
        await store.elsewhere("a", by=4)
        assert (await work.submit(count("a", decide=from_five_on(answer)))).state == 6


async def test_a_refusal_on_fresh_states_is_told() -> None:
    """It is not decided for ever."""
    store = Store()
    work = batcher(store)
    async with background(work.run()):
        await work.submit(count("a"))
        with pytest.raises(Conflict, match="not yet"):
            await work.submit(count("a", decide=from_five_on(Conflict("busy", "not yet"))))
        assert (await work.submit(count("a", decide=from_five_on(None)))).events == ()


async def test_a_fault_of_the_store_is_told_to_everybody_in_the_batch() -> None:
    """Nobody waits for an answer that never comes, and the batcher goes on."""

    class Faulty(Store):
        async def append(self, appends: Sequence[Append]) -> list[Result]:
            """Fail once, as no store should."""
            if not self.appends:
                self.appends.append(appends)
                raise RuntimeError("a fault of ours")
            return await super().append(appends)

    work = batcher(Faulty())
    found = [work.enqueue(count(name)) for name in ("a", "b")]
    async with background(work.run()):
        for future in found:
            with pytest.raises(RuntimeError, match="a fault of ours"):
                await future
        assert (await work.submit(count("a"))).state == 1
