"""Large values: what references stand for is bounded, and what the bus refuses stops nobody."""

from collections.abc import Mapping
from typing import Any, cast

import orjson
import pytest

from tests.unit.dispatcher.making import NOW, REQUESTED
from toolbus_contracts.calls import CallDispatched, evolve_call
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import BusRefused, Unreadable
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.adapters.payloads import MAX_RESOLVED_BYTES, resolve
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.messages import Outbox
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.store.memory import MemoryStore


async def kept(store: MemoryStore, body: bytes) -> dict[str, str]:
    """The reference to a stored body."""
    await store.put_payloads("acme", {digest_bytes(body): body})
    return {"$payload": digest_bytes(body)}


async def test_references_give_the_values_that_they_stand_for() -> None:
    """Small ones and large ones, wherever they stand and however often."""
    store = MemoryStore()
    small, large = await kept(store, b"1"), await kept(store, orjson.dumps("x" * 300_000))
    found = await resolve(store, "acme", {"a": small, "b": [large, {"c": small}]})
    assert found == {"a": 1, "b": ["x" * 300_000, {"c": 1}]}


async def test_a_thousand_references_to_one_body_are_a_thousand_bodies() -> None:
    """Written out they would fill the memory of everybody: they are refused before that."""
    store = MemoryStore()
    body = await kept(store, orjson.dumps("x" * 1_000_000))
    with pytest.raises(Unreadable) as refused:
        await resolve(store, "acme", {"a": [body] * (MAX_RESOLVED_BYTES // 1_000_000 + 1)})
    assert refused.value.code == "body_too_large"


class StingyBus:
    """Takes no payload."""

    async def put_payload(self, digest: str, body: bytes) -> None:
        """Refuse."""
        raise BusRefused(f"{digest}: {len(body)} bytes are too many")


async def test_a_payload_that_the_bus_refuses_does_not_stop_the_relay() -> None:
    """The work goes out without it, and fails at its executor; every other event goes on."""
    store = MemoryStore()
    reference: Mapping[str, Any] = await kept(store, b'"large"')
    definition = ToolDefinition.model_validate({"name": "refund", "api_call": {"method": "POST", "url": "http://x/r"}})
    requested = REQUESTED.model_copy(update={"definition": definition, "arguments": {"a": reference}})
    dispatched = CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=NOW)
    call = evolve_call(evolve_call(None, requested), dispatched)
    assert call is not None
    outbox = Outbox(Batcher(store, AGGREGATES, lambda _: None), store, cast("Any", StingyBus()))
    assert (await outbox.work("acme", call)).stream == "WORK"
