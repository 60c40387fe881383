"""
The announcer: follows the log and makes a delivery for every webhook that wants to know of an event.

Deliveries and the position are written in one transaction (`Projection`), so that each is made once. Unlike a read
table this one is not to be dropped and built again: what was told long ago would be told again.
"""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from toolbus_approvals.adapters.deliveries import add, forget_failures, settle
from toolbus_approvals.aggregates import WEBHOOK
from toolbus_approvals.core.messages import NewDelivery, is_sent, lane_of, message_for, message_to_function
from toolbus_approvals.webhooks import webhooks_until
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
from toolbus_runtime.store.port import EventStore

OPENED = "wait.opened.v1"
Made = list[tuple[NewDelivery, DeliveryStatus]]


class Announcer:
    """Projects events into deliveries; made anew with each leader."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._webhooks: dict[tuple[str, str], Webhook] = {}
        self._by_tenant: dict[str, list[Webhook]] = {}
        self._position = -1  # up to where the webhooks are known
        self.has_made = False  # deliveries, since somebody last looked

    async def project(self, connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
        """Write the deliveries of these events."""
        if self._position != events[0].position - 1:  # the first ones, or these once more
            self._webhooks = await webhooks_until(self._store, events[0].position - 1)
            self._sort()
        self._position = -1
        made: Made = []
        for event in events:
            if event.category == WEBHOOK:
                await add(connection, made)  # what was made before is held or dropped with the rest
                made = []
                await self._change(connection, event)
            made += self._made(event)
        await add(connection, made)
        self.has_made = self.has_made or bool(made)
        self._position = events[-1].position

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
        webhook = evolve_webhook(self._webhooks.get(of), said)
        if webhook is not None:
            self._webhooks[of] = webhook
            self._sort()
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
        for (tenant, _), webhook in self._webhooks.items():
            if webhook.is_there and webhook.events:
                self._by_tenant.setdefault(tenant, []).append(webhook)
