"""The inbox of a pull loop: standing requests, what the server still owes on them, and their statuses."""

import asyncio
from collections.abc import Callable

import orjson
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from toolbus_contracts.errors import ToolbusError, Unreadable
from toolbus_contracts.subjects import Durable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import SECOND_NS, Delivery, place_of
from toolbus_runtime.bus.replies import STATUS
from toolbus_runtime.bus.translate import NATS_ERRORS, translated

EXPIRES_S = 60.0
HEARTBEAT_S = 5.0
SILENCE_S = 2.5 * HEARTBEAT_S
_HEARTBEAT, _TIMED_OUT = "100", "408"
_OWED = "Nats-Pending-Messages"


class PullInbox:
    """
    One life of a loop's inbox: from its opening to the loss of the connection, the durable or the stream.

    It stands in for the future that nats-py fills when a subscription gets a message (see `replies.py`).
    A lost inbox is never used again: what still comes to it belongs to a stream that may have been made
    anew meanwhile, so its messages are given back.
    """

    def __init__(
        self, bus: Bus, durable: Durable, created: str, on_delivery: Callable[["PullInbox", Delivery], None]
    ) -> None:
        self.created = created
        self.requested = 0  # messages that the server may still send
        self.loss: str | None = None
        self.changed = asyncio.Event()
        self._bus = bus
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{durable.stream}.{durable.name}"
        self._inbox = bus.client.new_inbox()
        self._on_delivery = on_delivery
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._numbers = 0
        self._consumer_sequence = 0
        self._subscription: Subscription | None = None

    async def open(self) -> None:
        """The inbox is subscribed."""
        try:
            self._subscription = await self._bus.client.subscribe(f"{self._inbox}.*", future=self)  # type: ignore[arg-type]
        except NATS_ERRORS as error:
            raise translated(error) from error

    async def close(self) -> None:
        """
        The inbox is gone; every message that was on its way has been seen.

        By hand, because nats-py's `drain` stops listening before the server has read the order to stop.
        """
        subscription = self._subscription
        if subscription is None or not self._bus.is_connected:
            return
        try:
            await self._bus.client._send_unsubscribe(subscription._id)  # noqa: SLF001
            await self._bus.flush()
            await subscription.unsubscribe()
        except NATS_ERRORS as error:
            raise translated(error) from error

    async def request(self, count: int) -> None:
        """The server may send so many messages more."""
        self._numbers += 1
        self.requested += count
        self._heard_at = self._loop.time()
        body = {"batch": count, "expires": int(EXPIRES_S * SECOND_NS), "idle_heartbeat": int(HEARTBEAT_S * SECOND_NS)}
        try:
            await self._bus.client.publish(self._next, orjson.dumps(body), f"{self._inbox}.{self._numbers}")
        except (*NATS_ERRORS, ToolbusError) as error:
            self.lose(str(error))

    def lose(self, reason: str) -> None:
        """No message comes here any more."""
        if self.loss is None:
            self.loss = reason
        self.changed.set()

    def listen_for_silence(self) -> None:
        """The inbox is lost when the server owes messages and has not even sent a heartbeat."""
        if self.requested > 0 and self._loop.time() - self._heard_at > SILENCE_S:
            self.lose("silence")

    def cancelled(self) -> bool:
        """Part of the future's interface that nats-py uses: messages are always wanted."""
        return False

    def set_result(self, message: Msg) -> None:
        """Part of the future's interface that nats-py uses: a message or a status came."""
        self._heard_at = self._loop.time()
        if not message.reply.startswith("$JS.ACK."):
            self._on_status(message)
            return
        try:
            place = place_of(message.reply)
        except Unreadable as error:  # raising would end nats-py's read loop for good
            self.lose(error.message)
            return
        if place.consumer_sequence <= self._consumer_sequence:
            self.lose("the durable was made anew")
        self._consumer_sequence = place.consumer_sequence
        self.requested = max(0, self.requested - 1)
        self._on_delivery(self, Delivery(message, place, self.created))

    def _on_status(self, message: Msg) -> None:
        headers = message.headers or {}
        status = headers.get(STATUS, "")
        if status == _HEARTBEAT:
            return
        if status == _TIMED_OUT:
            self.requested = max(0, self.requested - int(headers.get(_OWED, "0")))
            self.changed.set()
            return
        self.lose(f"{status} {headers.get('Description', '')}".strip())
