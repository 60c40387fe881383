"""Orphans: open calls that nothing would ever move again. There must be none; whoever is found is told of, and held."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

import structlog
from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.envelope import StoredEvent, stream_name
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.holding import OPEN_COLUMNS, Holding
from toolbus_dispatcher.probing import DEADLINE_S
from toolbus_runtime import telemetry
from toolbus_runtime.projections import wholly
from toolbus_runtime.states import States
from toolbus_runtime.store.port import EventStore

log = structlog.get_logger(__name__)
OVERDUE: Final = timedelta(seconds=60)
LIMIT: Final = 500
STANDING_LIMIT: Final = (
    100  # waits that are looked up at once, so that many cost next to nothing: 100,000 take 84 minutes
)
NOT_STARTED: Final = ("requested", "dispatched", "retrying")  # named, so that the index leaves out those that wait
WAIT: Final = "wait"  # the category of waits
WAIT_CLOSED: Final = "wait.closed.v1"


class Orphans:
    """`count` is how many there are, as far as looked; a look goes on where the one before ended."""

    def __init__(self, engine: AsyncEngine, holding: Holding, states: States, store: EventStore) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._holding = holding
        self._states = states
        self._store = store
        self._after = 0
        self._after_standing = 0
        self._unheard_of: dict[str, None] = {}
        self.count = 0

    async def look(self) -> None:
        """Count what is overdue, and hold again what should be held and is not."""
        since = self._holding.calendar.now() - OVERDUE
        forgotten = await self._forgotten(since)
        self.count = await self._overdue(since) + forgotten + await self._unheard(since)
        telemetry.ORPHANS.set(self.count)
        if self.count:
            log.error("orphans.found", count=self.count, forgotten=forgotten)

    @wholly
    async def _overdue(self, since: datetime) -> int:
        """Calls whose time was over long ago."""
        has_no_start = calls.c.status.in_(NOT_STARTED)
        conditions = or_(
            and_(calls.c.status == "running", calls.c.stop_by_at < since),
            and_(calls.c.status == "in_doubt", calls.c.probe_at < since - timedelta(seconds=DEADLINE_S)),
            and_(has_no_start, calls.c.deadline_at < since),
        )
        statement = select(func.count()).select_from(calls).where(calls.c.finished_at.is_(None), conditions)
        async with self._engine.connect() as connection:
            return int((await connection.execute(statement)).scalar_one())

    @wholly
    async def _forgotten(self, since: datetime) -> int:
        """Calls that wait to be released and are not in the backlog; they are put there."""
        waiting = or_(
            and_(calls.c.status == "requested", func.coalesce(calls.c.since, calls.c.requested_at) < since),
            and_(calls.c.status == "retrying", calls.c.retry_at < since),
        )
        statement = (
            select(*OPEN_COLUMNS)
            .where(calls.c.finished_at.is_(None), waiting, calls.c.created_position > self._after)
            .order_by(calls.c.created_position)
            .limit(LIMIT)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(statement)).all()
        self._after = rows[-1].created_position if len(rows) == LIMIT else 0
        missed = {
            stream_name(row.tenant, CALL, row.call_id): row
            for row in rows
            if not self._holding.backlog.holds(row.call_id)
        }
        states = await self._states.read_many(missed) if missed else {}  # the read table lags: the log decides
        lost = [row for stream, row in missed.items() if states[stream].status == row.status]
        return sum([self._holding.take_in(row) for row in lost])

    @wholly
    async def _unheard(self, since: datetime) -> int:
        """
        Calls that stand still although nobody is asked any more: their wait is not there, closed, or overdue.

        Each look takes up the next ones, and looks again at some of those that were found: they count until it is over.
        """
        statement = (
            select(calls.c.tenant, calls.c.call_id, calls.c.created_position)
            .where(
                calls.c.finished_at.is_(None),
                calls.c.status == "waiting",
                calls.c.since < since,
                calls.c.created_position > self._after_standing,
            )
            .order_by(calls.c.created_position)
            .limit(STANDING_LIMIT)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(statement)).all()
        again = islice(self._unheard_of, STANDING_LIMIT)
        looked = dict.fromkeys([*again, *(stream_name(row.tenant, CALL, row.call_id) for row in rows)])
        found = await self._asking_nobody(looked, since)
        others = (stream for stream in self._unheard_of if stream not in looked)
        self._unheard_of = dict.fromkeys([*others, *found])  # the others have their turn next
        self._after_standing = rows[-1].created_position if len(rows) == STANDING_LIMIT else 0
        return len(self._unheard_of)

    async def _asking_nobody(self, streams: Iterable[str], since: datetime) -> list[str]:
        """Those of the calls that stand still for a wait that nobody can answer."""
        states = await self._states.read_many(streams)
        standing = {
            stream: call.wait for stream, call in states.items() if call.wait is not None and call.wait.since < since
        }
        waits = {stream: stream_name(stream.partition("/")[0], WAIT, wait.wait_id) for stream, wait in standing.items()}
        found = await self._store.load(dict.fromkeys(waits.values(), 0)) if waits else {}
        return [
            stream
            for stream, wait in standing.items()
            if wait.expires_at < since or not _is_open(found.get(waits[stream], ()))
        ]


def _is_open(events: Sequence[StoredEvent]) -> bool:
    return bool(events) and all(event.kind != WAIT_CLOSED for event in events)
