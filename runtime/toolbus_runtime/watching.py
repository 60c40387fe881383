"""Wait for a call to end, or to stand still: what `wait_s` does."""

import asyncio
from collections import OrderedDict
from typing import Final

from toolbus_contracts.calls import TERMINAL_KINDS, Call
from toolbus_contracts.envelope import StoredEvent, stream_name
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed

STILL: Final = TERMINAL_KINDS | {"call.in_doubt.v1", "call.wait_asked.v1"}
MOVING: Final = frozenset({"call.dispatched.v1", "call.resumed.v1"})  # what stood still goes on
RETRY_S = 0.5
KEPT = 20_000
CALL = "call"  # the category of calls
KEY = "key"  # that of API keys


class CallWatch:
    """Follows the feed and wakes whoever waits for a call; keeps cached keys fresh on the way."""

    def __init__(self, batcher: Batcher, feed: Feed) -> None:
        self._batcher = batcher
        self._feed = feed
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._still: OrderedDict[str, int] = OrderedDict()  # streams that stood still lately, and at which version

    def is_waited(self) -> bool:
        """Whether anybody waits for a call at this moment."""
        return bool(self._waiting)

    async def run(self) -> None:
        """Follow until cancelled."""
        position: int | None = None
        while True:
            try:
                if position is None:
                    position = await self._feed.newest()
                async for events in self._feed.follow(position):
                    for event in events:
                        await self._see(event)
                    position = events[-1].position
            except Unavailable:
                await asyncio.sleep(RETRY_S)

    async def _see(self, event: StoredEvent) -> None:
        if event.kind in STILL:
            self._still[event.stream] = event.version
            if len(self._still) > KEPT:
                self._still.popitem(last=False)
            for future in self._waiting.pop(event.stream, ()):
                if not future.done():
                    future.set_result(None)
        elif event.kind in MOVING:
            self._still.pop(event.stream, None)
        elif event.category == KEY:
            await self._batcher.states.read(event.tenant, KEY, event.subject_id)

    async def until_still(self, tenant: str, call: Call, wait_s: float) -> Call:
        """
        The call when it ended or stands still, or as it is after `wait_s` seconds.

        An end that was seen between reading `call` and waiting for it is found among the latest ones.
        """
        if wait_s <= 0 or is_still(call):
            return call
        stream = stream_name(tenant, CALL, call.id)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(stream, set()).add(future)
        try:
            async with asyncio.timeout(0 if stream in self._still else wait_s):
                await future
        except TimeoutError:
            pass
        finally:
            self._forget(stream, future)
        if stream in self._still:
            ended: Call = (await self._batcher.states.reaching({stream: self._still[stream]}))[stream]
            return ended
        open_call: Call = await self._batcher.states.read(tenant, CALL, call.id)
        return open_call

    async def until_ended(self, tenant: str, call_id: str, wait_s: float) -> Call | None:
        """The call when it ended, or as it is after `wait_s` seconds, standing still or not; none when unknown."""
        stream = stream_name(tenant, CALL, call_id)
        until = asyncio.get_running_loop().time() + wait_s
        call: Call | None = None
        while True:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(stream, set()).add(future)  # before reading: what comes later wakes it
            try:
                call = await self._batcher.states.read(tenant, CALL, call_id)
                if call is None or call.is_terminal:
                    return call
                async with asyncio.timeout_at(until):
                    await future
            except TimeoutError:
                return call
            finally:
                self._forget(stream, future)

    def _forget(self, stream: str, future: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(stream, set())
        waiting.discard(future)
        if not waiting:
            self._waiting.pop(stream, None)


def is_still(call: Call) -> bool:
    """True when waiting longer is of no use without somebody acting."""
    return call.is_terminal or call.status in {"waiting", "in_doubt"}
