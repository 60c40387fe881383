"""Intake on a store in memory: what many calls that come together are told about room."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from tests.unit.dispatcher.describers import intake_of
from tests.unit.dispatcher.making import ACTOR
from tests.unit.runtime.things import Store, background
from toolbus_contracts.envelope import StoredEvent
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.core.fairness import ALONE
from toolbus_dispatcher.holding import Holding
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed

SLOTS, BATCH = 4, 3
TOOL = {"name": "look", "api_call": {"method": "GET", "url": "https://x.example/"}}


async def test_many_calls_that_come_together_do_not_all_find_room() -> None:
    """Those that wait to be decided are asked for room when they are: one tenant does not get past its share."""
    store = Store(clock=lambda: datetime.now(UTC))
    holding = Holding(cast("Any", None), Feed(store), slots=SLOTS, tenants={})
    holding._loaded.set()

    def hear(events: Sequence[StoredEvent]) -> None:
        holding._apply(events)

    batcher = Batcher(store, AGGREGATES, hear, batch_size=BATCH)
    intake = intake_of(batcher, store, holding)
    async with background(batcher.run()):
        await asyncio.gather(*(intake.submit({"tool": TOOL}, tenant="acme", actor=ACTOR) for _ in range(40)))
    kinds = [event.kind for event in store.events]
    assert kinds.count("call.requested.v1") == 40
    assert ALONE * SLOTS <= kinds.count("call.dispatched.v1") <= ALONE * SLOTS + BATCH
