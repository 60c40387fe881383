"""
The sweeper: finds what time or a forgetful bus left lying, from the store alone.

Deadlines that passed, started attempts that stayed silent, work that no executor holds any more, and orphans.
It runs on the leader; whatever it does is safe to do twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Final, NamedTuple

import structlog
from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.calls import Call, DoubtAttempt
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import ToolbusError
from toolbus_dispatcher.adapters.queries import Queries
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.core.lanes import Grant
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.messages import Outbox
from toolbus_dispatcher.orphans import NOT_STARTED, Orphans
from toolbus_runtime import telemetry
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.projections import Projection, wholly
from toolbus_runtime.relay import Relay
from toolbus_runtime.store.database import DATABASE_ERRORS

log = structlog.get_logger(__name__)
EVERY_S: Final = 1.0
LOST_AFTER: Final = timedelta(seconds=5)
AGAIN_AFTER: Final = timedelta(minutes=1)  # what was sent again is not lost at once, whatever the clocks say
LIMIT: Final = 500
COUNT_EVERY_S: Final = 5.0
COUNT_SHARE: Final = 500  # counting takes at most this part of the time: it grows with the calls that are open
COUNT_AT_LEAST_S: Final = 60.0
CALM_LOOKS: Final = 5  # every so many looks the tables are asked even when nothing moves


class OpenCall(NamedTuple):
    """A call that has not ended, as the read table knows it."""

    tenant: str
    call_id: str
    attempt: int
    created_position: int


@dataclass
class Sweeper:
    """Looks every second; `resend_open` is what the relay calls when the bus lost its work."""

    engine: AsyncEngine
    bus: Bus
    batcher: Batcher
    lifecycle: Lifecycle
    outbox: Outbox
    projection: Projection
    relay: Callable[[], Relay]
    orphans: Orphans
    holding: Holding
    count_at: float = float("-inf")
    _resent: dict[tuple[str, int], datetime] = field(default_factory=dict)  # when an attempt's work was sent again

    async def run(self) -> None:
        """Sweep until cancelled."""
        try:
            for look in count():
                for sweep in (self.expire, self.find_lost_work) if self._may_find(look) else ():
                    await self._guarded(sweep)
                for sweep in (self.doubt, self.count_open):
                    await self._guarded(sweep)
                await asyncio.sleep(EVERY_S)
        finally:
            telemetry.count_open_calls({})

    def _may_find(self, look: int) -> bool:
        """Whether the tables are worth a look: some call is held or with the executors, or it was long ago."""
        return self.holding.backlog.is_moving or look % CALM_LOOKS == 0

    async def _guarded(self, sweep: Callable[[], Awaitable[None]]) -> None:
        try:
            await sweep()
        except (ToolbusError, *DATABASE_ERRORS) as error:
            log.warning("sweep.waiting", sweep=sweep.__name__, reason=str(error)[:300])
        except Exception:  # loudly; relay and projections, which run beside it, must not stop with it
            log.exception("sweep.failed", sweep=sweep.__name__)

    async def count_open(self) -> None:
        """Tell how many calls are open, every few seconds."""
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        if began_at >= self.count_at:
            self.count_at = began_at + COUNT_EVERY_S
            telemetry.count_open_calls(await Queries(self.engine).open_calls())
            await self.orphans.look()
            self.count_at = began_at + max(COUNT_EVERY_S, min(COUNT_SHARE * (loop.time() - began_at), COUNT_AT_LEAST_S))

    async def expire(self) -> None:
        """End what is past its deadline; what has started or stands still ends otherwise, and must not hide others."""
        has_not_started = calls.c.status.in_(NOT_STARTED)
        rows = await self._open(calls.c.deadline_at <= self.holding.calendar.now(), has_not_started)
        expiring = (self.lifecycle.expire(row.tenant, row.call_id) for row in rows)
        results = await asyncio.gather(*expiring, return_exceptions=True)
        for error in filter(None, (found if isinstance(found, BaseException) else None for found in results)):
            raise error

    async def doubt(self) -> None:
        """Say of every started attempt that stayed silent that nobody knows; what failed is tried again."""
        backlog, now = self.holding.backlog, self.holding.calendar.now()
        over = backlog.overdue(now)
        try:
            results = await asyncio.gather(*map(self._doubt, over), return_exceptions=True)
        except asyncio.CancelledError:  # whoever leads again later finds them
            backlog.still_over(over, now)
            raise
        failed = {one: result for one, result in zip(over, results, strict=True) if isinstance(result, BaseException)}
        backlog.still_over(failed, now)
        for error in failed.values():
            raise error

    async def _doubt(self, started: Grant) -> None:
        await self.lifecycle.doubt(started.tenant, DoubtAttempt(call_id=started.call_id, attempt=started.attempt))

    async def find_lost_work(self) -> None:
        """Send work again that is older than everything the bus still holds for its executors."""
        if not self.bus.is_connected:
            return
        relayed = self.relay().position
        now = self.holding.calendar.now()
        held = [await self._oldest("WORK", "toolbus.work.>"), await self._oldest("INTERNAL", "toolbus.int.>")]
        cutoff = min([now, *(moment for moment in held if moment is not None)]) - LOST_AFTER
        still_lost = await self._resend(
            cutoff,
            calls.c.status == "dispatched",
            or_(calls.c.since < cutoff, calls.c.since > now + LOST_AFTER),  # the clock that told it was set back
            calls.c.position <= relayed,
        )
        self._resent = {one: at for one, at in self._resent.items() if at >= cutoff or one in still_lost}

    async def resend_open(self) -> None:
        """Send the work of every dispatched call again, as far as the relay has come."""
        relay = self.relay()
        await self.projection.reached(relay.position)
        await self._resend(None, calls.c.status == "dispatched", calls.c.position <= relay.position)

    async def _resend(self, cutoff: datetime | None, *conditions: ColumnElement[bool]) -> set[tuple[str, int]]:
        """
        Send the work of these calls, and name their attempts.

        With a cutoff, not of those whose work was sent again after it: the message lies there, newer than the call.
        """
        found: set[tuple[str, int]] = set()
        last = 0
        while rows := await self._open(*conditions, calls.c.created_position > last):
            found |= {(row.call_id, row.attempt) for row in rows}
            lost = [row for row in rows if cutoff is None or self._is_lost(row, cutoff)]
            if lost:
                log.warning("work.resent", count=len(lost))
                telemetry.WORK_RESENT.inc(len(lost))
                await self._send(lost)
            last = rows[-1].created_position
        return found

    def _is_lost(self, row: OpenCall, cutoff: datetime) -> bool:
        resent_at = self._resent.get((row.call_id, row.attempt))
        return resent_at is None or resent_at < min(cutoff, self.holding.calendar.now() - AGAIN_AFTER)

    async def _send(self, rows: Sequence[OpenCall]) -> None:
        streams = {stream_name(row.tenant, CALL, row.call_id): row.tenant for row in rows}
        futures = []
        for stream, call in (await self.batcher.states.read_many(streams)).items():
            if isinstance(call, Call) and call.status == "dispatched":
                message = await self.outbox.work(streams[stream], call)
                futures.append(await self.bus.publish_soon(message.subject, message.data, message.headers))
        await asyncio.gather(*futures)
        now = self.holding.calendar.now()
        self._resent |= {(row.call_id, row.attempt): now for row in rows}

    async def _oldest(self, stream: str, subject: str) -> datetime | None:
        """When the oldest message that nobody finished was stored."""
        found = await self.bus.next_message(stream, subject, 1)
        return found.stored_at if found else None

    @wholly
    async def _open(self, *conditions: ColumnElement[bool]) -> Sequence[OpenCall]:
        statement = (
            select(calls.c.tenant, calls.c.call_id, calls.c.attempt, calls.c.created_position)
            .where(calls.c.finished_at.is_(None), *conditions)
            .order_by(calls.c.created_position)
            .limit(LIMIT)
        )
        engine = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        async with engine.connect() as connection:
            return [OpenCall(*row) for row in await connection.execute(statement)]
