"""Webhooks, for the client that waits in its own thread."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import webhooks
from toolbus.client.runner import Runner
from toolbus_contracts.webhooks import DeliveryStatus, DeliveryView, NewWebhookView, Resent, WebhookView


class Webhooks:
    """Where other systems hear of events (scope admin)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def put(self, name: str, url: str, *, events: Iterable[str] = (), secret: str | None = None) -> NewWebhookView:
        """
        Send events that match a pattern (`call.*`, `wait.opened`) to a url from now on.

        Without `secret` one is made for a new webhook; the answer shows it this one time. With another one than
        before the former signs beside it for a day.
        """
        return self._runner.run(exchange(webhooks.put_webhook(name, url, events, secret)))

    def rotate(self, name: str, *, secret: str | None = None) -> NewWebhookView:
        """Sign with another secret, a made one unless given; the former one signs beside it for a day."""
        return self._runner.run(exchange(webhooks.rotate_webhook(name, secret)))

    def list(self) -> Iterator[WebhookView]:
        """Hand out every webhook, by name."""
        return self._runner.iterate(every(webhooks.list_webhooks(PAGE)))

    def get(self, name: str) -> WebhookView:
        """Read a webhook."""
        return self._runner.run(exchange(webhooks.get_webhook(name)))

    def remove(self, name: str) -> WebhookView:
        """Let nothing be sent there any more."""
        return self._runner.run(exchange(webhooks.remove_webhook(name)))

    def enable(self, name: str) -> WebhookView:
        """Let a disabled webhook be sent to again."""
        return self._runner.run(exchange(webhooks.enable_webhook(name)))

    def deliveries(self, name: str, *, status: DeliveryStatus | None = None) -> Iterator[DeliveryView]:
        """Hand out what was sent there and what came of it, newest first."""
        return self._runner.iterate(every(webhooks.list_deliveries(name, status, PAGE)))

    def resend(self, name: str, delivery_id: str) -> DeliveryView:
        """Let a message be sent once more, under the same id."""
        return self._runner.run(exchange(webhooks.resend_delivery(name, delivery_id)))

    def resend_since(self, name: str, since: datetime, *, status: DeliveryStatus | None = None) -> Resent:
        """Let everything be sent once more that came up since then, or only what has this status."""
        return self._runner.run(exchange(webhooks.resend_since(name, since, status)))
