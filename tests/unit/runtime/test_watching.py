"""Waiting for a call: until it stands still, or until it ended."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from tests.unit.dispatcher.making import LATER, NOW, REQUESTED
from tests.unit.runtime.things import ACTOR, CAUSES, Store, background, in_virtual_time, loop_clock
from toolbus_contracts.calls import Call, CallResumed, CallSucceeded, WaitAsked
from toolbus_dispatcher.aggregates import AGGREGATES, CALL
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Command
from toolbus_runtime.feed import Feed
from toolbus_runtime.watching import CallWatch

DIGEST = "sha256:" + "0" * 64
ASKED = WaitAsked(
    call_id="call_1",
    wait_id="wait_1",
    wait_kind="input",
    number=1,
    digest=DIGEST,
    expires_at=NOW + timedelta(days=1),
    at=NOW,
)
RESUMED = CallResumed(call_id="call_1", wait_id="wait_1", wait_kind="input", digest=DIGEST, by=("user:ana",), at=NOW)
SUCCEEDED = CallSucceeded(call_id="call_1", attempt=0, executor="x", output=1, duration_ms=0, at=LATER)


class World:
    """A batcher on a store in memory, and somebody who watches calls."""

    def __init__(self) -> None:
        store = Store(clock=loop_clock)
        self.feed = Feed(store)
        self.batcher = Batcher(store, AGGREGATES, self.feed.offer, clock=loop_clock)
        self.watch = CallWatch(self.batcher, self.feed)

    async def happen(self, *events: BaseModel) -> Call:
        """These events were stored, in one append."""

        def decide(*_: object) -> Sequence[BaseModel]:
            return events

        command = Command("acme", CALL, "call_1", f"cause {next(CAUSES)}", ACTOR, decide)
        call: Call = (await self.batcher.submit(command)).state
        return call


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """A world that runs."""
    made = World()
    async with background(made.batcher.run()), background(made.watch.run()):
        yield made


def test_a_call_that_enters_a_wait_is_waited_for_no_longer() -> None:
    """Whoever asked to wait a minute hears at once that somebody has to act; and waits again once it goes on."""

    async def story() -> tuple[Any, ...]:
        async with world() as made:
            call = await made.happen(REQUESTED)
            waiting = asyncio.ensure_future(made.watch.until_still("acme", call, 60))
            await made.happen(ASKED)
            asked, since = (await waiting).status, asyncio.get_running_loop().time()
            call = await made.happen(RESUMED)
            waiting = asyncio.ensure_future(made.watch.until_still("acme", call, 60))
            await made.happen(SUCCEEDED)
            return asked, since < 1, (await waiting).status

    assert in_virtual_time(story()) == ("waiting", True, "succeeded")


def test_an_end_is_waited_for_through_every_wait() -> None:
    """What stands still is not the end; without one the call comes back as it is when the time is over."""

    async def story() -> tuple[Any, ...]:
        async with world() as made:
            unknown = await made.watch.until_ended("acme", "call_1", 5)
            await made.happen(REQUESTED, ASKED)
            open_call = await made.watch.until_ended("acme", "call_1", 5)
            waited_s = asyncio.get_running_loop().time()
            waiting = asyncio.ensure_future(made.watch.until_ended("acme", "call_1", 5))
            await made.happen(RESUMED, ASKED.model_copy(update={"number": 2}))
            await made.happen(SUCCEEDED)
            ended, again = await waiting, await made.watch.until_ended("acme", "call_1", 5)
            assert open_call
            assert ended
            assert again
            return unknown, open_call.status, 5 <= waited_s < 6, ended.status, again.status

    assert in_virtual_time(story()) == (None, "waiting", True, "succeeded", "succeeded")
