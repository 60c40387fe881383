"""A call that was decided is found again, whether or not anybody can say what its tool takes by now."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from tests.unit.dispatcher.describers import Bus, intake_of
from tests.unit.dispatcher.making import ACTOR
from tests.unit.runtime.things import Store, background
from toolbus_contracts.errors import Conflict, Unavailable
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.holding import Holding
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed

BODY: dict[str, Any] = {"tool": {"name": "echo", "integration": {"provider": "dummy"}}, "idempotency_key": "order-7"}
SURFACE = {"surface": {"arguments": {"type": "object"}}}


async def test_the_same_again_needs_nobody() -> None:
    """Once with the service there and twice without it: one call; a new one has to wait."""
    store, bus = Store(clock=lambda: datetime.now(UTC)), Bus(**SURFACE)
    holding = Holding(cast("Any", None), Feed(store), slots=4, tenants={})
    holding._loaded.set()
    batcher = Batcher(store, AGGREGATES, holding._apply)
    async with background(batcher.run()):
        first = await intake_of(batcher, store, holding, bus=bus).submit(BODY, tenant="acme", actor=ACTOR)
        assert first.state.status == "dispatched", first.state.error
        away = Bus()
        later = intake_of(batcher, store, holding, bus=away)  # as after a restart: nothing is remembered
        again = await later.submit(BODY, tenant="acme", actor=ACTOR)
        assert (again.state, again.events) == (first.state, ())
        with pytest.raises(Conflict, match="asked for something else"):
            await later.submit({**BODY, "priority": 9}, tenant="acme", actor=ACTOR)
        assert away.asked == []
        with pytest.raises(Unavailable):
            await later.submit({**BODY, "idempotency_key": "order-8"}, tenant="acme", actor=ACTOR)
