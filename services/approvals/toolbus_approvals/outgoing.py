"""Everything of webhooks that only the leader does: making deliveries from the log, and sending them."""

import asyncio

from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_approvals.adapters.deliveries import Deliveries
from toolbus_approvals.announcing import Announcer
from toolbus_approvals.heeding import Heeding
from toolbus_approvals.posting import Poster
from toolbus_approvals.sending import Sender
from toolbus_approvals.webhooks import Webhooks
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.projections import Projection
from toolbus_runtime.store.port import EventStore


class Outgoing:
    """Made once for a process, and run whenever it leads."""

    def __init__(
        self,
        *,
        store: EventStore,
        engine: AsyncEngine,
        feed: Feed,
        webhooks: Webhooks,
        deliveries: Deliveries,
        poster: Poster,
        leadership: Leadership,
        calendar: Calendar,
        heeding: Heeding,
    ) -> None:
        self._store = store
        self._engine = engine
        self._feed = feed
        self._webhooks = webhooks
        self._deliveries = deliveries
        self._poster = poster
        self._leadership = leadership
        self._calendar = calendar
        self._heeding = heeding
        self._sender: Sender | None = None

    def wake(self) -> None:
        """Something was made due by hand; another process that leads sees it within a second."""
        if self._sender is not None:
            self._sender.wake()

    async def run(self) -> None:
        """Announce and send until cancelled."""
        announcer = Announcer(self._store, self._feed, self._heeding)
        projection = Projection("webhooks", self._engine, announcer, announcer.project)
        sender = Sender(
            deliveries=self._deliveries,
            webhooks=self._webhooks,
            poster=self._poster,
            calendar=self._calendar,
            is_leading=self._leadership.is_held,
        )
        self._sender = sender
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(projection.run())
                group.create_task(sender.run())
                group.create_task(_hand_over(projection, announcer, sender))
        finally:
            self._sender = None


async def _hand_over(projection: Projection, announcer: Announcer, sender: Sender) -> None:
    """What was made is sent as soon as it is committed."""
    while True:
        await projection.reached(projection.position + 1)
        if announcer.has_made:
            announcer.has_made = False
            sender.wake()
