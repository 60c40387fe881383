"""The prober on a store in memory: what a successor makes of what was asked before it led."""

from datetime import UTC, datetime
from typing import Any, cast

from tests.unit.dispatcher.describers import intake_of
from tests.unit.dispatcher.making import ACTOR
from tests.unit.runtime.things import Store, background
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.probing import Prober
from toolbus_dispatcher.resources import Resources
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.feed import Feed
from toolbus_runtime.lull import Lull
from toolbus_runtime.watching import CallWatch

PROBE_CALL = "call_" + "b" * 32


async def test_a_probe_that_was_asked_before_is_not_asked_anew() -> None:
    """Whoever led before asked it; its tool was defined anew since, and what it answered still counts."""
    store = Store(clock=lambda: datetime.now(UTC))
    feed = Feed(store)
    batcher = Batcher(store, AGGREGATES, feed.offer)
    holding, unused = Holding(cast("Any", None), feed, slots=4, tenants={}), cast("Any", None)
    intake, resources = intake_of(batcher, store, holding), Resources(batcher)
    lifecycle, watch = Lifecycle(batcher, store, unused), CallWatch(batcher, feed)
    prober = Prober(unused, batcher, intake, lifecycle, watch, Calendar(), Lull(feed))
    body: dict[str, Any] = {"tool": "find", "arguments": {}}
    async with background(batcher.run()):
        for url in ("https://x.example/a", "https://x.example/b"):
            definition = ToolDefinition.model_validate({"name": "find", "api_call": {"method": "GET", "url": url}})
            await resources.define(definition, tenant="acme", scope="tenant", if_match=None, actor=ACTOR)
            asked = await prober._submitted("acme", body, PROBE_CALL)
            assert (asked.id, asked.tool_version, asked.status) == (PROBE_CALL, 1, "dispatched")
