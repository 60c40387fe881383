"""What the leading dispatcher runs besides: relay, projections, reactions and sweeper, each in order and once."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Conflict
from toolbus_contracts.executions import ExecutionFinished, execution_events
from toolbus_contracts.waits import WaitClosed, wait_events
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.core.react import react_execution_finished, react_wait_closed
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.lifecycle import INTERNAL_ACTOR, Lifecycle
from toolbus_dispatcher.messages import Outbox
from toolbus_dispatcher.orphans import Orphans
from toolbus_dispatcher.probing import Prober
from toolbus_dispatcher.projections import project
from toolbus_dispatcher.releasing import Releaser
from toolbus_dispatcher.resuming import Resuming
from toolbus_dispatcher.sweeper import Sweeper
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.streams import restore
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.lull import Lull
from toolbus_runtime.projections import Projection
from toolbus_runtime.reactions import Reactions
from toolbus_runtime.relay import Relay
from toolbus_runtime.store.port import EventStore
from toolbus_runtime.watching import CallWatch


@dataclass
class Leader:
    """The work of the leader; made anew each time the lease is taken, so nothing stale survives."""

    store: EventStore
    engine: AsyncEngine
    bus: Bus
    feed: Feed
    batcher: Batcher
    intake: Intake
    lifecycle: Lifecycle
    holding: Holding
    watch: CallWatch
    orphans: Orphans
    leadership: Leadership
    relay: Relay | None = None

    def __post_init__(self) -> None:
        """Hear of new connections for as long as the process lives."""
        self.bus.on_reconnect(self._on_reconnect)

    async def lead(self) -> None:
        """Run everything until the lease is lost."""
        outbox = Outbox(self.batcher, self.store, self.bus)
        projection = Projection("dispatcher", self.engine, self.feed, project)
        sweeper = Sweeper(
            self.engine,
            self.bus,
            self.batcher,
            self.lifecycle,
            outbox,
            projection,
            self._relay,
            self.orphans,
            self.holding,
        )
        self.relay = Relay(
            self.store, self.bus, self.feed, self.leadership, outbox.messages, self._declare, sweeper.resend_open
        )
        self._projection = projection
        self._resuming = Resuming(self.batcher, self.store, self.holding)
        reactions = Reactions(
            "dispatcher",
            self.store,
            self.feed,
            leadership=self.leadership,
            reactions={"execution.finished.v1": self._on_finished, "wait.closed.v1": self._on_closed},
        )
        releaser = Releaser(self.holding, self.lifecycle, self.leadership.is_held)
        calendar, lull = self.holding.calendar, Lull(self.feed)
        prober = Prober(self.engine, self.batcher, self.intake, self.lifecycle, self.watch, calendar, lull)
        async with asyncio.TaskGroup() as group:
            for part in (self.relay, projection, reactions, sweeper, releaser, prober):
                group.create_task(part.run())

    def _relay(self) -> Relay:
        if self.relay is None:
            raise AssertionError("only a leader asks for its relay")
        return self.relay

    async def _declare(self) -> None:
        await restore(self.bus)

    async def _on_reconnect(self) -> None:
        if self.relay is not None:
            self.relay.on_reconnect()

    async def _on_finished(self, event: StoredEvent) -> None:
        """Stop what is still open in a cancelled execution."""
        await self._projection.reached(event.position)
        finished = execution_events.validate_json(event.data)
        if not isinstance(finished, ExecutionFinished):
            return
        engine = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        async with engine.connect() as connection:
            rows = await connection.execute(
                select(calls.c.call_id).where(
                    calls.c.tenant == event.tenant,
                    calls.c.execution_id == finished.execution_id,
                    calls.c.finished_at.is_(None),
                )
            )
            open_calls = tuple(row.call_id for row in rows)
        for command in react_execution_finished(finished, open_calls):
            with suppress(Conflict):  # it ended by itself in the meantime
                await self.lifecycle.cancel(
                    command,
                    tenant=event.tenant,
                    actor=INTERNAL_ACTOR,
                    causation_id=f"react:{event.id}:{command.call_id}",
                )

    async def _on_closed(self, event: StoredEvent) -> None:
        """Let the call go on that stood still for this wait."""
        closed = wait_events.validate_json(event.data)
        command = react_wait_closed(closed) if isinstance(closed, WaitClosed) else None
        if command is not None:
            await self._resuming.resume(event.tenant, command, causation_id=f"react:{event.id}:{command.call_id}")
