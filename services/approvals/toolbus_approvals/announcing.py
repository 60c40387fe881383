"""
The announcer: follows the log and makes a delivery for every webhook that wants to know of an event.

Deliveries and the position are written in one transaction (`Projection`), so that each is made once. Unlike a read
table this one is not to be dropped and built again: what was told long ago would be told again. Where nobody wants to
know, hardly anything is written: the position alone, once a second.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from toolbus_approvals.adapters.deliveries import add, forget_failures, settle
from toolbus_approvals.adapters.signing_secrets import forget_secrets
from toolbus_approvals.aggregates import WEBHOOK
from toolbus_approvals.core.messages import NewDelivery, is_sent, lane_of, message_for, message_to_function
from toolbus_approvals.core.webhooks import short_kind
from toolbus_approvals.heeding import Heeding
from toolbus_approvals.webhooks import webhooks_until
from toolbus_contracts.catalogue import event_types
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.waits import WaitOpened, wait_events
from toolbus_contracts.webhooks import (
    AnyWebhookEvent,
    DeliveryStatus,
    Webhook,
    WebhookDisabled,
    WebhookEnabled,
    WebhookRemoved,
    evolve_webhook,
    webhook_events,
)
from toolbus_runtime.feed import Feed
from toolbus_runtime.store.port import EventStore

MARK_S = 1.0
OPENED = "wait.opened.v1"
Made = list[tuple[NewDelivery, DeliveryStatus]]


class Announcer:
    """Projects events into deliveries, and follows the log for that; made anew with each leader."""

    def __init__(self, store: EventStore, feed: Feed, heeding: Heeding) -> None:
        self._store = store
        self._feed = feed
        self._heeding = heeding
        self._webhooks: dict[tuple[str, str], Webhook] = {}
        self._by_tenant: dict[str, list[Webhook]] = {}
        self.has_made = False  # deliveries, since somebody last looked

    async def follow(self, after: int, *, limit: int) -> AsyncIterator[list[StoredEvent]]:
        """The events that somebody wants to know of; and now and then another one, for its position."""
        self._webhooks = await webhooks_until(self._store, after)
        self._sort()
        clock = asyncio.get_running_loop().time
        marked = clock()
        while True:
            async for found in self._feed.follow(after, limit=limit):
                events = _up_to_a_change(found)
                after = events[-1].position
                wanted = self._wanted(events)
                if wanted or clock() - marked >= MARK_S:
                    marked = clock()
                    yield wanted if wanted and wanted[-1] is events[-1] else [*wanted, events[-1]]
                if events[-1].category == WEBHOOK:
                    break  # from here on other kinds may be wanted

    async def project(self, connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
        """Write the deliveries of these events."""
        made: Made = []
        for event in events:
            if event.category == WEBHOOK:
                await add(connection, made)  # what was made before is held or dropped with the rest
                made = []
                await self._change(connection, event)
            made += self._made(event)
        await add(connection, made)
        self.has_made = self.has_made or bool(made)

    def _wanted(self, events: Sequence[StoredEvent]) -> list[StoredEvent]:
        """What may lead to a delivery, by the webhooks that are known and those that these events tell of."""
        tenants = set(self._by_tenant)
        wanted: list[StoredEvent] = []
        for event in events:
            if event.category == WEBHOOK:
                tenants.add(event.tenant)
            if event.tenant in tenants or event.kind == OPENED:
                wanted.append(event)
        return wanted

    def _made(self, event: StoredEvent) -> Made:
        made: Made = []
        if event.kind == OPENED and '"webhook":{' in event.data:
            opened = wait_events.validate_json(event.data)
            asked = message_to_function(opened, event) if isinstance(opened, WaitOpened) else None
            if asked is not None:
                made.append((asked, "pending"))
        if is_sent(event):
            for webhook in self._by_tenant.get(event.tenant, ()):
                told = message_for(event, webhook)
                if told is not None:
                    made.append((told, "pending" if webhook.disabled is None else "held"))
        return made

    async def _change(self, connection: AsyncConnection, event: StoredEvent) -> None:
        """A webhook changed: know it as it is now, and do with what is pending as it says."""
        said: AnyWebhookEvent = webhook_events.validate_json(event.data)
        of = (event.tenant, event.subject_id)
        before = self._webhooks.get(of)
        webhook = evolve_webhook(before, said)
        if webhook is not None:
            self._webhooks[of] = webhook
            self._sort()
        if before is not None and webhook is not None:
            ended = {secret.id for secret in before.secrets} - {secret.id for secret in webhook.secrets}
            await forget_secrets(connection, event.tenant, ended)
        match said:
            case WebhookDisabled():
                await settle(connection, lane_of(*of), "held")
            case WebhookRemoved():
                await settle(connection, lane_of(*of), "dropped")
                await forget_failures(connection, *of)
            case WebhookEnabled():
                await forget_failures(connection, *of)
            case _:
                pass  # where to and how it is signed is asked when it is sent

    def _sort(self) -> None:
        self._by_tenant = {}
        self._heeding.told = frozenset(
            kind
            for kind in event_types()
            if any(webhook.is_there and webhook.wants(short_kind(kind)) for webhook in self._webhooks.values())
        )
        for (tenant, _), webhook in self._webhooks.items():
            if webhook.is_there and webhook.events:
                self._by_tenant.setdefault(tenant, []).append(webhook)


def _up_to_a_change(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """These events, up to the first one that changes a webhook."""
    for place, event in enumerate(events, 1):
        if event.category == WEBHOOK:
            return list(events[:place])
    return list(events)
