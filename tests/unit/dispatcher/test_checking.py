"""Arguments that a person changed are checked as they will run, and calls go on, or end, with what came of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest

from tests.unit.dispatcher.describers import intake_of
from tests.unit.dispatcher.making import ACTOR, PARAMETERS
from tests.unit.runtime.things import background
from toolbus_contracts.calls import ArgumentFaults, Call, CheckArguments, ResumeCall, call_digest
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import NotFound
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import compact
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.resources import Resources
from toolbus_dispatcher.resuming import Checking, Resuming
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed
from toolbus_runtime.store.memory import MemoryStore

REFUND: dict[str, Any] = {
    "name": "refund",
    "api_call": {"method": "POST", "url": "https://pay.example", "params_schema": PARAMETERS},
    "approval": {"may_edit": True},
    "ask_user": {"fields": {"charge": {}}},
}
MISSING = "sha256:" + "0" * 64


@dataclass
class Scene:
    """A dispatcher without a bus, and one call that stands still."""

    store: MemoryStore
    resources: Resources
    intake: Intake
    checking: Checking
    resuming: Resuming

    async def define(self, **changes: Any) -> None:
        """The tool, once more."""
        definition = ToolDefinition.model_validate({**REFUND, **changes})
        await self.resources.define(definition, tenant="acme", scope="tenant", actor=ACTOR, if_match=None)

    async def submit(self, **body: Any) -> Call:
        """A call of it."""
        sent = {"tool": "refund", "arguments": {"charge": "ch_1"}, **body}
        call: Call = (await self.intake.submit(sent, tenant="acme", actor=ACTOR)).state
        return call

    async def faults(self, call: Call, arguments: Any) -> list[str]:
        """Where these arguments are wrong for the call."""
        command = CheckArguments(call_id=call.id, tenant="acme", arguments=arguments)
        return [fault.path for fault in (await self.checking.check(command)).faults]

    async def close(self, call: Call, outcome: Any, arguments: Any = None) -> Call:
        """Its present wait was closed like this."""
        assert call.wait is not None
        said = {"outcome": outcome, "arguments": arguments, "digest": call_digest("acme", call, arguments)}
        command = ResumeCall.model_validate({"call_id": call.id, "wait_id": call.wait.wait_id, **said})
        cause = f"react:{call.wait.wait_id}"
        found: Call = (await self.resuming.resume("acme", command, causation_id=cause)).state
        return found


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """An empty store with the tool in it."""
    store = MemoryStore()
    feed = Feed(store)
    batcher = Batcher(store, AGGREGATES, feed.offer)
    holding = Holding(cast("Any", None), feed, slots=4, tenants={})
    intake, resources = intake_of(batcher, store, holding), Resources(batcher)
    made = Scene(store, resources, intake, Checking(batcher, store), Resuming(batcher, store, holding))
    async with background(batcher.run()):
        await made.define()
        yield made


async def test_arguments_are_checked_against_what_the_call_runs() -> None:
    """Not against what the tool became meanwhile."""
    async with scene() as found:
        call = await found.submit()
        await found.define(api_call={"method": "POST", "url": "https://pay.example"})
        assert await found.faults(call, {"charge": "ch_2"}) == []
        assert await found.faults(call, {"amount": 1000}) == ["/amount", "/charge"]
        assert await found.faults(call, {"charge": "secret://pay_key"}) == ["/charge"]  # whoever answers names none


async def test_a_definition_that_the_call_brought_is_what_counts() -> None:
    """Nobody else knows it."""
    async with scene() as found:
        own = {**REFUND, "function": {"parameters": {"required": ["page"]}}}
        call = await found.submit(
            tool={name: own[name] for name in ("name", "function", "approval")}, arguments={"page": 1}
        )
        assert await found.faults(call, {}) == ["/page"]


async def test_large_values_are_checked_as_what_they_stand_for() -> None:
    """A reference that leads nowhere, or to no JSON, is a fault like any other."""
    async with scene() as found:
        call = await found.submit()
        number, broken = compact(17).encode(), b"{"
        await found.store.put_payloads("acme", {digest_bytes(body): body for body in (number, broken)})
        for reference, paths in (
            (digest_bytes(number), ["/charge"]),
            (digest_bytes(broken), [""]),
            (MISSING, [""]),
        ):
            assert await found.faults(call, {"charge": {"$payload": reference}}) == paths


async def test_a_call_that_is_not_there_has_no_arguments() -> None:
    """Of another tenant neither; one that was refused before a tool was found takes any."""
    async with scene() as found:
        call = await found.submit()
        with pytest.raises(NotFound):
            await found.checking.check(CheckArguments(call_id=call.id, tenant="other", arguments={}))
        refused = await found.submit(tool="nothing")
        assert await found.checking.check(CheckArguments(call_id=refused.id, tenant="acme", arguments={})) == (
            ArgumentFaults()
        )
        assert [fault.path for fault in await found.checking.faults("acme", call, ["no object"])] == [""]


async def test_a_call_goes_through_its_waits() -> None:
    """Values, an approval with edited arguments, and off to the executors; the same news again moves nothing."""
    async with scene() as found:
        call = await found.submit(arguments={})
        asked = await found.close(call, "answered", {"charge": "ch_2"})
        assert (asked.wait and asked.wait.kind, asked.arguments) == ("approval", {"charge": "ch_2"})
        assert await found.close(call, "answered", {"charge": "ch_3"}) == asked
        done = await found.close(asked, "approved", {"charge": "ch_2", "amount": 7})
        assert (done.status, done.arguments) == ("dispatched", {"charge": "ch_2", "amount": 7})


async def test_what_was_supplied_and_does_not_fit_ends_the_call() -> None:
    """The person was asked for less than the tool wants."""
    async with scene() as found:
        ended = await found.close(await found.submit(arguments={}), "answered", {"charge": 17})
        assert (ended.status, ended.error and ended.error.code) == ("failed", "invalid_arguments")


async def test_a_tool_that_was_defined_anew_is_not_what_was_approved() -> None:
    """Looked up in the very decision; who named a version means that one."""
    async with scene() as found:
        calls = [await found.submit(tool=name, ask_user=None) for name in ("refund", "refund@1")]
        asked = [await found.close(call, "answered", {"charge": "ch_1"}) for call in calls]
        await found.define(timeout_s=5.0)
        ended = [await found.close(call, "approved") for call in asked]
        assert [(call.status, call.error and call.error.code) for call in ended] == [
            ("refused", "approval_void"),
            ("dispatched", None),
        ]
