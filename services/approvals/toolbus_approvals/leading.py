"""What the leading approvals service runs besides: reactions, projection and sweeper, each in order and once."""

import asyncio
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_approvals.adapters.leases import Leases
from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.forgetting import Forgetting
from toolbus_approvals.heeding import Heeding
from toolbus_approvals.keeping import Keeper
from toolbus_approvals.outgoing import Outgoing
from toolbus_approvals.projections import project
from toolbus_approvals.reacting import Reacting
from toolbus_approvals.sweeping import Sweeper
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.lull import Lull
from toolbus_runtime.projections import Projection
from toolbus_runtime.reactions import Reactions
from toolbus_runtime.store.port import EventStore

NAME = "approvals"


@dataclass
class Leader:
    """The work of the leader; made anew each time the lease is taken, so nothing stale survives."""

    store: EventStore
    engine: AsyncEngine
    feed: Feed
    queries: Queries
    keeper: Keeper
    leadership: Leadership
    calendar: Calendar
    outgoing: Outgoing
    heeding: Heeding

    async def lead(self) -> None:
        """Run everything until the lease is lost."""
        self.heeding.has_doubts = True  # perhaps: whoever led before knew
        projection = Projection(NAME, self.engine, self.feed, project)
        reacting = Reacting(
            self.keeper, self.queries, projection, self.calendar, newest=self.queries.newest, heeding=self.heeding
        )
        reactions = Reactions(
            NAME,
            self.store,
            self.feed,
            leadership=self.leadership,
            reactions=reacting.table(),
            hear=reacting.hear,
        )
        sweeper = Sweeper(self.queries, self.keeper, self.calendar, Lull(self.feed))
        forgetting = Forgetting(Leases(self.engine), self.calendar)
        async with asyncio.TaskGroup() as group:
            for part in (projection, reactions, sweeper, forgetting, self.outgoing):
                group.create_task(part.run())
            group.create_task(self.heeding.look_for_doubts(self.queries, projection.reached))
