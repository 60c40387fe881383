"""
Leadership: of several replicas, one runs the work that must be in order (relay, projections, sweeper).

A lease in the store, by the store's clock. A leader that dies is followed within `TTL_S` plus one
look; one that hands over gives the lease back at once. Only checkpoints are fenced by it: everything
a former leader may still do is safe to repeat.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.port import EventStore

log = structlog.get_logger(__name__)
TTL_S = 3.0
RENEW_S = 1.0
LOOK_S = 0.5


class Leadership:
    """The lease `name`, as `owner` tries to hold it."""

    def __init__(self, store: EventStore, name: str, owner: str) -> None:
        self._store = store
        self.name = name
        self.owner = owner
        self.is_leader = False
        self._held_until = float("-inf")

    def is_held(self) -> bool:
        """Whether the lease holds now: a process that was paused may still lead, and not know yet that it is over."""
        return self.is_leader and asyncio.get_running_loop().time() < self._held_until

    @property
    def lease(self) -> tuple[str, str]:
        """What a checkpoint is fenced with."""
        return (self.name, self.owner)

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead` whenever the lease is held, and cancel it as soon as it is not; without end."""
        try:
            while True:
                asked_at = asyncio.get_running_loop().time()
                if await self._hold():
                    await self._lead(lead, asked_at + TTL_S)
                await asyncio.sleep(LOOK_S)
        finally:
            self.is_leader = False
            await self._release()

    async def _lead(self, lead: Callable[[], Awaitable[None]], held_until: float) -> None:
        """Lead until the lease is lost or the work fails; it holds from when it was asked for."""
        log.info("lease.taken", lease=self.name, owner=self.owner)
        self.is_leader, self._held_until = True, held_until
        work = asyncio.ensure_future(lead())
        loop = asyncio.get_running_loop()
        try:
            while loop.time() < held_until:
                done, _ = await asyncio.wait({work}, timeout=min(RENEW_S, held_until - loop.time()))
                if done:
                    work.result()
                    return
                asked_at = loop.time()
                if await self._hold(held_until - asked_at):
                    self._held_until = held_until = asked_at + TTL_S
            log.warning("lease.lost", lease=self.name, owner=self.owner)
        except Unavailable as error:
            log.warning("lead.interrupted", lease=self.name, reason=error.message)
        except Exception:
            log.exception("lead.failed", lease=self.name)
        finally:
            self.is_leader = False
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _hold(self, within_s: float = TTL_S) -> bool:
        try:
            async with asyncio.timeout(within_s):
                return await self._store.hold_lease(self.name, self.owner, TTL_S)
        except (Unavailable, TimeoutError):
            return False

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(1.0):
                await self._store.release_lease(self.name, self.owner)
        except (Unavailable, TimeoutError):
            pass  # it runs out by itself
