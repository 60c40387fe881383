"""Wait for a call to end, or to stand still: what `wait_s` does."""

import asyncio
from typing import Final

from toolbus_contracts.calls import TERMINAL_KINDS, Call
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Unavailable
from toolbus_dispatcher.aggregates import CALL, KEY
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed

STILL: Final = TERMINAL_KINDS | {"call.in_doubt.v1"}
RETRY_S = 0.5


class CallWatch:
    """Follows the feed and wakes whoever waits for a call; keeps cached keys fresh on the way."""

    def __init__(self, batcher: Batcher, feed: Feed) -> None:
        self._batcher = batcher
        self._feed = feed
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    async def run(self) -> None:
        """Follow until cancelled."""
        position = self._feed.head
        while True:
            try:
                async for events in self._feed.follow(position):
                    position = events[-1].position
                    for event in events:
                        if event.kind in STILL and event.stream in self._waiting:
                            self._wake(event.stream)
                        elif event.category == KEY:
                            await self._batcher.states.read(event.tenant, KEY, event.subject_id)
            except Unavailable:
                await asyncio.sleep(RETRY_S)

    def _wake(self, stream: str) -> None:
        for future in self._waiting.pop(stream, ()):
            if not future.done():
                future.set_result(None)

    async def until_still(self, tenant: str, call: Call, wait_s: float) -> Call:
        """The call when it ended or stands still, or as it is after `wait_s` seconds."""
        if wait_s <= 0 or is_still(call):
            return call
        stream = stream_name(tenant, CALL, call.id)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(stream, set()).add(future)
        try:
            present: Call = await self._batcher.states.read(
                tenant, CALL, call.id
            )  # it may have ended elsewhere meanwhile
            if is_still(present):
                return present
            async with asyncio.timeout(wait_s):
                await future
        except TimeoutError:
            pass
        finally:
            waiting = self._waiting.get(stream)
            if waiting is not None:
                waiting.discard(future)
                if not waiting:
                    del self._waiting[stream]
        ended: Call = await self._batcher.states.read(tenant, CALL, call.id)
        return ended


def is_still(call: Call) -> bool:
    """True when waiting longer is of no use without somebody acting."""
    return call.is_terminal or call.status in {"waiting", "in_doubt"}
