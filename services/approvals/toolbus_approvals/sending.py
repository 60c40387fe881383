"""
The sender: works off the deliveries that are due, so that one dead receiver slows no other.

What goes to one receiver is one lane, and a lane has few slots: whoever answers after fifteen seconds, or not at
all, holds up its own lane alone. A message that was sent and not recorded is sent again under the same id.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count

import structlog

from toolbus_approvals.adapters.deliveries import Deliveries, Delivery, Result
from toolbus_approvals.core.answers import Judged
from toolbus_approvals.core.schedule import has_failed_too_long, next_attempt_at
from toolbus_approvals.posting import Posted, Poster
from toolbus_approvals.webhooks import Webhooks
from toolbus_contracts.errors import Unavailable
from toolbus_runtime import telemetry
from toolbus_runtime.calendar import Calendar

log = structlog.get_logger(__name__)
LANE_SLOTS = 8
FAILING_SLOTS = 1  # hundreds of dead receivers must not take every slot there is
ALL_SLOTS = 512
LOOK_S = 1.0  # what another process made due is seen this late
GATHER_S = 0.01  # one transaction then records several results
RETRY_S = 0.5
FAREWELL_S = 2.0
PRUNE_EVERY = 60  # looks
MOST_PAUSE_S = 3600.0
BUSY = frozenset({429, 502, 503, 504})  # Source: Standard Webhooks, "Deliverability": the receiver is overloaded
BUSY_PAUSE_S = 1.0


class Sender:
    """Sends what is due, on the leader; made anew with each leader."""

    def __init__(
        self,
        *,
        deliveries: Deliveries,
        webhooks: Webhooks,
        poster: Poster,
        calendar: Calendar,
        is_leading: Callable[[], bool],
    ) -> None:
        self._deliveries = deliveries
        self._webhooks = webhooks
        self._poster = poster
        self._now = calendar.now
        self._is_leading = is_leading
        self._under_way: dict[str, set[int]] = defaultdict(set)
        self._failing: set[str] = set()
        self._paused: dict[str, datetime] = {}
        self._results: list[tuple[Result, Posted | None]] = []
        self._woken = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Something may be due now."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled; what cannot be done now is tried again."""
        try:
            for look in count(1):
                try:
                    await self._record()
                    wait_s = await self._look()
                    if look % PRUNE_EVERY == 0:
                        await self._deliveries.prune(self._now())
                except Unavailable as error:
                    log.warning("webhooks.waiting", reason=error.message)
                    wait_s = RETRY_S
                await self._sleep(wait_s)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            with suppress(Unavailable, TimeoutError):  # what arrived need not arrive again
                async with asyncio.timeout(FAREWELL_S):
                    await self._record()

    async def _sleep(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._woken.wait()
            await asyncio.sleep(GATHER_S)
        except TimeoutError:
            pass
        self._woken.clear()

    async def _look(self) -> float:
        """Send what is due in lanes that have room, and tell for how many seconds nothing else will be."""
        now = self._now()
        soonest = now + timedelta(seconds=LOOK_S)
        lanes = await self._deliveries.due_lanes()
        self._failing.intersection_update(lane for lane, _ in lanes)
        for lane, next_at in lanes:
            under_way = self._under_way[lane]
            slots = FAILING_SLOTS if lane in self._failing else LANE_SLOTS
            room = min(slots - len(under_way), ALL_SLOTS - len(self._tasks))
            begins_at = max(next_at, self._paused.get(lane, next_at))
            if begins_at > now:
                soonest = min(soonest, begins_at)
            elif room > 0 and self._is_leading():
                for delivery in await self._deliveries.due(lane, now, limit=room, without=under_way):
                    self._start(delivery)
        self._forget(now)
        return max(0.0, (soonest - now).total_seconds())

    def _forget(self, now: datetime) -> None:
        """Lanes that are idle need no place in memory."""
        for lane in [lane for lane, numbers in self._under_way.items() if not numbers]:
            del self._under_way[lane]
        for lane in [lane for lane, until in self._paused.items() if until <= now]:
            del self._paused[lane]

    def _start(self, delivery: Delivery) -> None:
        self._under_way[delivery.lane].add(delivery.number)
        task = asyncio.create_task(self._send(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, delivery: Delivery) -> None:
        posted: Posted | None = None
        try:
            posted = await self._poster.post(delivery)
            result = self._result(delivery, posted)
        except Unavailable as error:  # nobody's fault but ours: it counts for nothing, and comes again
            log.warning("webhook.waiting", webhook=delivery.webhook, reason=error.message)
            await asyncio.sleep(RETRY_S)
            self._under_way[delivery.lane].discard(delivery.number)
            return
        except Exception as error:  # a fault of ours must not come round in a circle
            log.exception("webhook.failed", webhook=delivery.webhook, delivery=delivery.id)
            judged = Judged(has_arrived=False, error=f"a fault of ours: {type(error).__name__}")
            result = self._result(delivery, Posted(judged))
        self._results.append((result, posted))
        self.wake()

    def _result(self, delivery: Delivery, posted: Posted) -> Result:
        """What came of an attempt: it arrived, is wanted no more, or is tried again on schedule."""
        now, judged, answer = self._now(), posted.judged, posted.answer
        status_code = None if answer is None else answer.status or None
        if judged is None:
            return Result(delivery, "dropped", now, status_code=status_code, error=posted.note)
        if judged.has_arrived:
            self._failing.discard(delivery.lane)
            return Result(delivery, "delivered", now, status_code=status_code, error=posted.note)
        self._failing.add(delivery.lane)
        retry_after_s = None if answer is None else answer.retry_after_s
        if status_code in BUSY:
            pause_s = min(retry_after_s or BUSY_PAUSE_S, MOST_PAUSE_S)
            self._paused[delivery.lane] = now + timedelta(seconds=pause_s)
        next_at = next_attempt_at(delivery.id, delivery.attempts + 1, now=now, retry_after_s=retry_after_s)
        if judged.is_gone or next_at is None:
            return Result(delivery, "failed", now, status_code=status_code, error=judged.error)
        return Result(delivery, "pending", now, next_at, status_code, judged.error)

    async def _record(self) -> None:
        """Write results down; only then are their deliveries no longer under way."""
        results = self._results
        if not results:
            return
        failing = await self._deliveries.record([result for result, _ in results])
        self._results = self._results[len(results) :]
        for result, _ in results:
            self._under_way[result.delivery.lane].discard(result.delivery.number)
            telemetry.WEBHOOK_ATTEMPTS[result.status].inc()
        for result, posted in results:
            delivery = result.delivery
            cause = f"webhook:{delivery.id}:{delivery.number}:{delivery.attempts}"
            if delivery.url is None and posted is not None and posted.judged is not None and posted.judged.is_gone:
                note = f"it answered 410 to {delivery.id}"
                await self._webhooks.disable(delivery.tenant, delivery.webhook, "gone", note=note, cause=cause)
        for (tenant, name), since in failing.items():
            if has_failed_too_long(since, self._now()):
                note, cause = f"nothing arrived since {since.isoformat()}", f"webhook:{name}:{since.isoformat()}"
                await self._webhooks.disable(tenant, name, "failing", note=note, cause=cause)
