"""Releasing: the leader lets calls go that were held, or are due again, as soon as limits and shares allow."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from toolbus_contracts.calls import Call, ReleaseCall
from toolbus_contracts.errors import ToolbusError, Unavailable
from toolbus_dispatcher.core.lanes import Grant
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_runtime.deciding import Decided

log = structlog.get_logger(__name__)
AT_ONCE: Final = 256  # one batch of the batcher
LOOK_S: Final = 1.0  # at least so often, whatever the clocks say
RETRY_S: Final = 0.2


@dataclass
class Releaser:
    """Runs on the leader alone, and decides only while `is_leading`: two who let go would let go too much."""

    holding: Holding
    lifecycle: Lifecycle
    is_leading: Callable[[], bool]

    async def run(self) -> None:
        """Release until cancelled."""
        await self.holding.loaded()
        while True:
            now = self.holding.calendar.now()
            grants = self.holding.backlog.next(now, AT_ONCE)
            if grants:
                await self._release(grants)
                continue
            wakes_at = self.holding.backlog.wakes_at(now)
            left_s = LOOK_S if wakes_at is None else (wakes_at - now).total_seconds()
            await self.holding.changed(min(max(left_s, 0.0), LOOK_S))

    async def _release(self, grants: Sequence[Grant]) -> None:
        """Decide these releases; what could not be decided is held again."""
        deciding = [self._decided(grant) for grant in grants]
        try:
            results = [await _came_of(one) for one in deciding]  # decided together, and cheaper than `gather`
        except asyncio.CancelledError:
            for grant, one in zip(grants, deciding, strict=True):
                one.cancel()
                self.holding.backlog.refused(grant)
            raise
        refused = [grant for grant, result in zip(grants, results, strict=True) if self._is_refused(grant, result)]
        if refused:
            await asyncio.sleep(RETRY_S)

    def _is_refused(self, grant: Grant, result: Decided | Exception) -> bool:
        """Tell the backlog what came of a grant, as far as it does not hear it from the log."""
        backlog = self.holding.backlog
        if isinstance(result, Exception):
            if not isinstance(result, ToolbusError):
                log.error("release.failed", call_id=grant.call_id, exc_info=result)
            backlog.refused(grant)
            return True
        call: Call | None = result.state
        if call is None or call.is_terminal:
            backlog.ended(grant.call_id)  # perhaps long ago: then no event of it comes any more
        return False

    def _decided(self, grant: Grant) -> asyncio.Future[Decided]:
        try:
            command = ReleaseCall(call_id=grant.call_id, attempt=grant.attempt)
            return self.lifecycle.release(grant.tenant, command, self.is_leading)
        except Unavailable as error:
            failed: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed


async def _came_of(deciding: asyncio.Future[Decided]) -> Decided | Exception:
    try:
        return await deciding
    except Exception as error:  # noqa: BLE001 - each is told to the backlog
        return error
