"""Webhooks, for the client in an event loop."""

from collections.abc import AsyncIterator, Iterable
from datetime import datetime

from toolbus.client.async_runner import AsyncRunner
from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import webhooks
from toolbus_contracts.webhooks import DeliveryStatus, DeliveryView, NewWebhookView, Resent, WebhookView


class Webhooks:
    """Where other systems hear of events (scope admin)."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def put(
        self, name: str, url: str, *, events: Iterable[str] = (), secret: str | None = None
    ) -> NewWebhookView:
        """
        Send events that match a pattern (`call.*`, `wait.opened`) to a url from now on.

        Without `secret` one is made for a new webhook; the answer shows it this one time. With another one than
        before the former signs beside it for a day.
        """
        return await self._runner.run(exchange(webhooks.put_webhook(name, url, events, secret)))

    async def rotate(self, name: str, *, secret: str | None = None) -> NewWebhookView:
        """Sign with another secret, a made one unless given; the former one signs beside it for a day."""
        return await self._runner.run(exchange(webhooks.rotate_webhook(name, secret)))

    def list(self) -> AsyncIterator[WebhookView]:
        """Hand out every webhook, by name."""
        return self._runner.iterate(every(webhooks.list_webhooks(PAGE)))

    async def get(self, name: str) -> WebhookView:
        """Read a webhook."""
        return await self._runner.run(exchange(webhooks.get_webhook(name)))

    async def remove(self, name: str) -> WebhookView:
        """Let nothing be sent there any more."""
        return await self._runner.run(exchange(webhooks.remove_webhook(name)))

    async def enable(self, name: str) -> WebhookView:
        """Let a disabled webhook be sent to again."""
        return await self._runner.run(exchange(webhooks.enable_webhook(name)))

    def deliveries(self, name: str, *, status: DeliveryStatus | None = None) -> AsyncIterator[DeliveryView]:
        """Hand out what was sent there and what came of it, newest first."""
        return self._runner.iterate(every(webhooks.list_deliveries(name, status, PAGE)))

    async def resend(self, name: str, delivery_id: str) -> DeliveryView:
        """Let a message be sent once more, under the same id."""
        return await self._runner.run(exchange(webhooks.resend_delivery(name, delivery_id)))

    async def resend_since(self, name: str, since: datetime, *, status: DeliveryStatus | None = None) -> Resent:
        """Let everything be sent once more that came up since then, or only what has this status."""
        return await self._runner.run(exchange(webhooks.resend_since(name, since, status)))
