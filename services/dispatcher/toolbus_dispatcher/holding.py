"""Holding: this process's backlog, folded from the log, and what it says about room and limits."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import orjson
import structlog
from pydantic import Field, TypeAdapter
from sqlalchemy import ColumnElement, Row, select
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.calls import TERMINAL_KINDS
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.keys import Key
from toolbus_contracts.tools import Limit, Limits
from toolbus_contracts.values import Message
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.core.backlog import Backlog
from toolbus_dispatcher.core.lanes import OpenCall
from toolbus_dispatcher.core.limits import Exchange
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.feed import Feed
from toolbus_runtime.projections import wholly
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.store.tables import checkpoints

log = structlog.get_logger(__name__)
RETRY_S = 0.5
MAX_WINDOW_S: Final = 86400.0  # the longest window of a rate
CHECKPOINT: Final = "projection:dispatcher"
MAX_RESPONSE_MS: Final = 86_400_000.0  # what an executor told is in the log: no number there may stop us
OPEN_COLUMNS: Final = (
    calls.c.call_id,
    calls.c.tenant,
    calls.c.status,
    calls.c.attempt,
    calls.c.priority,
    calls.c.limits,
    calls.c.created_position,
    calls.c.dispatched_at,
    calls.c.since,
    calls.c.stop_by_at,
    calls.c.retry_at,
    calls.c.finished_at,
)
RESTING: Final = frozenset({"call.in_doubt.v1", "call.wait_asked.v1"})  # somebody has to act
limit_lists: TypeAdapter[tuple[Limit, ...]] = TypeAdapter(tuple[Limit, ...])


class TenantPolicy(Message):
    """What the operator grants a tenant: its share of the executors in proportion to others, and its limits."""

    weight: float = Field(1.0, gt=0, le=1000)
    limits: Limits | None = None


class Holding:
    """Follows the log; `backlog` is as new as this process knows the log."""

    def __init__(
        self,
        engine: AsyncEngine,
        feed: Feed,
        *,
        slots: int,
        tenants: Mapping[str, TenantPolicy],
        calendar: Calendar | None = None,
    ) -> None:
        self._engine = engine
        self._feed = feed
        self.calendar = calendar or Calendar()
        self._slots = slots
        self._weights = {name: policy.weight for name, policy in tenants.items()}
        self._limits = {
            name: _limit("tenant", name, policy.limits) for name, policy in tenants.items() if policy.limits is not None
        }
        self._loaded = asyncio.Event()
        self._changed = asyncio.Event()
        self.backlog = Backlog(slots, self._weights)

    def limits(self, tenant: str, key: Key | None) -> tuple[Limit, ...]:
        """The limits that hold for calls of this tenant, submitted with this key."""
        of_tenant = (self._limits[tenant],) if tenant in self._limits else ()
        of_key = () if key is None or key.limits is None else (_limit("key", key.key_id, key.limits),)
        return (*of_key, *of_tenant)

    def has_room(self, tenant: str) -> bool:
        """Whether a call of the tenant may go to the executors at once; before the log was read, nobody waits."""
        return not self._loaded.is_set() or self.backlog.has_room(tenant, self.calendar.now())

    def explain(self, call_id: str) -> str | None:
        """What keeps a call from the executors, as far as this process knows."""
        return self.backlog.explain(call_id, self.calendar.now())

    def take_in(self, row: Row[*tuple[Any, ...]]) -> bool:
        """Take an open call of the read table into the backlog; false when it holds it already."""
        if self.backlog.holds(row.call_id):
            return False
        self.backlog.ended(row.call_id)  # whatever was known of it did not hold
        _take_in(self.backlog, row, self.calendar.now())
        self._changed.set()
        return True

    async def loaded(self) -> None:
        """Wait until the backlog stands."""
        await self._loaded.wait()

    async def changed(self, within_s: float) -> None:
        """Wait until something happened to the backlog, or so long."""
        try:
            async with asyncio.timeout(within_s):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()

    async def run(self) -> None:
        """Follow the log until cancelled; begin afresh from the read table when the store was away."""
        while True:
            try:
                position = await self._load()
                self._loaded.set()
                self._changed.set()
                async for events in self._feed.follow(position):
                    self._apply(events)
                    self._changed.set()
            except (Unavailable, *DATABASE_ERRORS) as error:
                log.warning("holding.waiting", reason=str(error)[:300])
            await asyncio.sleep(RETRY_S)

    @wholly
    async def _load(self) -> int:
        """Open calls as the read table has them, and the position up to which it goes."""
        backlog = Backlog(self._slots, self._weights)
        engine = self._engine
        if engine.dialect.name == "postgresql":  # SQLite reads one snapshot anyway
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        async with engine.begin() as connection:
            found = await connection.execute(select(checkpoints.c.position).where(checkpoints.c.name == CHECKPOINT))
            position = found.scalar_one_or_none() or 0
            for row in await connection.execute(select(*OPEN_COLUMNS).where(calls.c.finished_at.is_(None))):
                _take_in(backlog, row, self.calendar.now())
            now = self.calendar.now()
            for row in await connection.execute(select(*OPEN_COLUMNS).where(*_recent(now))):
                _recall(backlog, row, now)
        self.backlog = backlog
        return position

    def _apply(self, events: Sequence[StoredEvent]) -> None:
        now = self.calendar.now()
        for event in events:
            if event.category == "call":
                _fold(self.backlog, event, now)


def _fold(backlog: Backlog, event: StoredEvent, now: datetime) -> None:
    """
    Take one event of a call into the backlog, as something that happens now.

    Clocks of other processes, and ours before it was set, may tell anything; how long something was to last they
    tell rightly.
    """
    kind, call_id = event.kind, event.subject_id
    if kind in TERMINAL_KINDS:
        backlog.ended(call_id, exchange=_exchange(event, now) if backlog.is_timed(call_id) else None)
        return
    if kind in RESTING:
        backlog.rests(call_id)
        return
    if kind == "call.resumed.v1":
        backlog.resumed(call_id)
        return
    said = orjson.loads(event.data)
    match kind:
        case "call.requested.v1":
            backlog.opened(_opened(event, said), now)
        case "call.dispatched.v1":
            backlog.went(call_id, said["attempt"], now)
        case "call.attempt_started.v1":
            backlog.started(call_id, now, now + _between(said["at"], said["stop_by"]))
        case "call.attempt_failed.v1":
            retry_at = now + _between(said["at"], said["retry_at"])
            backlog.rests(call_id, retry_at, exchange=_exchange(event, now))
        case "call.input_required.v1":  # what follows it says for whom the call rests, and of no exchange
            backlog.rests(call_id, exchange=_exchange(event, now))
        case "call.doubt_settled.v1" if said["outcome"] == "retry":
            backlog.rests(call_id, now)
        case _:
            pass


def _between(begin: str, end: str) -> timedelta:
    return datetime.fromisoformat(end) - datetime.fromisoformat(begin)


def _opened(event: StoredEvent, said: dict[str, Any]) -> OpenCall:
    limits = said.get("limits")
    return OpenCall(
        call_id=said["call_id"],
        tenant=event.tenant,
        priority=said["priority"],
        position=event.position,
        limits=limit_lists.validate_python(limits) if limits else (),
    )


def _exchange(event: StoredEvent, now: datetime) -> Exchange | None:
    """The exchange with the target that just ended, if any was told of."""
    response_ms = orjson.loads(event.data).get("response_ms")
    if response_ms is None:
        return None
    return Exchange(now - timedelta(milliseconds=min(max(response_ms, 0.0), MAX_RESPONSE_MS)), now)


def _recent(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Ended calls that may still count against a rate."""
    since = now - timedelta(seconds=MAX_WINDOW_S)
    has_started = calls.c.stop_by_at.is_not(None)
    return calls.c.finished_at.is_not(None), calls.c.limits.is_not(None), has_started, calls.c.dispatched_at > since


def _recall(backlog: Backlog, row: Row[*tuple[Any, ...]], now: datetime) -> None:
    """One ended call of the read table; it arrived before it ended."""
    limits = limit_lists.validate_json(row.limits)
    call = OpenCall(row.call_id, row.tenant, row.priority, row.created_position, limits)
    backlog.recalled(call, row.finished_at, now)


def _take_in(backlog: Backlog, row: Row[*tuple[Any, ...]], now: datetime) -> None:
    """One open call of the read table. What lasts is given its whole time again: nobody knows how much is over."""
    limits = limit_lists.validate_json(row.limits) if row.limits else ()
    backlog.opened(
        OpenCall(row.call_id, row.tenant, row.priority, row.created_position, limits, max(row.attempt - 1, 0)), now
    )
    if not row.attempt:
        if row.status == "waiting":
            backlog.rests(row.call_id)
        return
    backlog.went(row.call_id, row.attempt, min(row.dispatched_at or now, now))
    if row.stop_by_at is not None and row.status != "dispatched":
        backlog.started(row.call_id, now, now + (row.stop_by_at - (row.since or now)))
    if row.status == "retrying":
        backlog.rests(row.call_id, min(row.retry_at, now + (row.retry_at - (row.since or now))))
    elif row.status not in {"dispatched", "running"}:
        backlog.rests(row.call_id)
    if row.status == "requested":  # its server had asked, and was answered
        backlog.resumed(row.call_id)


def _limit(of: Literal["key", "tenant"], name: str, limits: Limits) -> Limit:
    return Limit(of=of, name=name, concurrency=limits.concurrency, rate=limits.rate)
