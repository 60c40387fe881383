"""One connection to the bus: publish, ask, listen, and look at streams; errors are those of our tree."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog
from nats.aio.client import Client

from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_runtime.bus import payloads
from toolbus_runtime.bus.broker import make_broker
from toolbus_runtime.bus.listening import Incoming, Listener, Listening
from toolbus_runtime.bus.lookups import Lookups
from toolbus_runtime.bus.replies import Ack, Replies, Reply, refused_subject
from toolbus_runtime.bus.translate import NATS_ERRORS, translated

log = structlog.get_logger(__name__)
CONNECT_TIMEOUT_S = 30.0


class Bus(Lookups):
    """
    The connection of one NATS user.

    `broker` is its FastStream broker: give that to a FastStream application, which shares the connection.
    """

    def __init__(
        self,
        servers: str | list[str],
        *,
        user: str,
        password: str,
        name: str = "",
        window: int = 4096,
        ack_timeout_s: float = 5.0,
    ) -> None:
        self.broker = make_broker(
            servers,
            user=user,
            password=password,
            inbox_prefix=f"_INBOX_{user}",
            name=name or user,
            on_error=self._on_error,
            on_disconnected=self._on_disconnected,
            on_reconnected=self._on_reconnected,
            on_closed=self._on_closed,
        )
        self._window = window
        self._ack_timeout_s = ack_timeout_s
        self._client: Client | None = None
        self._replies: Replies | None = None
        self._refused: set[str] = set()
        self._lost: list[Callable[[], None]] = []
        self._restored: list[Callable[[], Awaitable[None]]] = []
        self._aside: set[asyncio.Future[None]] = set()
        self._is_closing = False

    async def connect(self, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        """
        The bus is connected.

        Raises:
            Unavailable: no server took the connection within `timeout_s` seconds, or it refused the user.
        """
        try:
            async with asyncio.timeout(timeout_s):
                client = await self.broker.connect()
                replies = Replies(client, window=self._window, ack_timeout_s=self._ack_timeout_s)
                await replies.open()
        except TimeoutError as error:
            raise Unavailable(f"no connection to the bus within {timeout_s} s") from error
        except NATS_ERRORS as error:
            raise translated(error) from error
        self._client, self._replies = client, replies

    async def close(self) -> None:
        """The connection is gone; everything published before has reached the server."""
        self._is_closing = True
        try:
            await self.broker.stop()
        except NATS_ERRORS as error:
            log.warning("connection.broken", error=str(error))
        if self._replies is not None:
            self._replies.close()
        self._client = self._replies = None

    @property
    def client(self) -> Client:
        """The nats-py client, for `toolbus_runtime.bus` alone."""
        if self._client is None:
            raise Unavailable("not connected to the bus")
        return self._client

    @property
    def is_connected(self) -> bool:
        """Whether the server is there at this moment."""
        return self._client is not None and self._client.is_connected

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """The callback runs, as a task of its own, after every reconnection."""
        self._restored.append(callback)

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """The callback is called whenever the connection was lost; it must neither wait nor raise."""
        self._lost.append(callback)

    async def publish(self, subject: str, data: bytes, headers: Mapping[str, str] | None = None) -> Ack:
        """
        The message is stored by JetStream.

        Raises:
            Unavailable: not connected, nobody stores the subject, the stream is full, or no ack in time.
            BusRefused: this user may not publish there, or the stream does not take the message.
        """
        return await (await self._answers.publish(subject, data, headers))

    async def publish_soon(
        self, subject: str, data: bytes, headers: Mapping[str, str] | None = None
    ) -> asyncio.Future[Ack]:
        """
        The message is on its way; the future becomes its ack or fails as `publish` does.

        Messages keep their order. Waits only while `window` acks are open or the socket is full.
        """
        return await self._answers.publish(subject, data, headers)

    async def request(
        self, subject: str, data: bytes, *, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """
        The answer of whoever serves the subject.

        Raises:
            Unavailable: nobody serves it, or no answer within `timeout_s` seconds.
            BusRefused: this user may not publish there.
        """
        return await self._answers.request(subject, data, headers, timeout_s)

    async def notify(self, subject: str, data: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """The message was sent to whoever listens now; it is dropped when the connection is away."""
        if not self.is_connected:
            return
        try:
            await self.client.publish(subject, data, "", headers)  # type: ignore[arg-type]
        except NATS_ERRORS as error:
            raise translated(error) from error

    async def respond(self, to: Incoming, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """
        The answer was sent to the inbox that the message named.

        Raises:
            BusRefused: the reply subject is no inbox. Whoever asks chooses it, and could have us publish
                where it may not publish itself.
        """
        if not to.reply.startswith(("_INBOX_", "_R_.")):
            raise BusRefused(f"{to.reply!r} is no inbox")
        await self.notify(to.reply, data, headers)

    async def subscribe(self, subject: str, listener: Listener, *, queue: str = "") -> Listening:
        """
        Core NATS messages on the subject reach the listener.

        Raises:
            BusRefused: this user may not listen there.
        """
        listening = Listening(listener)
        try:
            listening.subscription = await self.client.subscribe(subject, queue, future=listening)  # type: ignore[arg-type]
        except NATS_ERRORS as error:
            raise translated(error) from error
        await self.flush()  # a refusal arrives before the answer
        if subject.lower() in self._refused:
            self._refused.discard(subject.lower())
            raise BusRefused(f"permissions violation for subscription to {subject}")
        return listening

    async def flush(self, timeout_s: float = 10.0) -> None:
        """
        The server has read everything that was published before.

        By hand, because nats-py's `flush` sends its ping ahead of what still waits to be written, and ends
        the read loop for good when it is cancelled or times out and the answer comes after all.

        Raises:
            Unavailable: not connected, or no answer within `timeout_s` seconds.
        """
        pong: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        try:
            await self.client._flush_pending(force_flush=True)  # noqa: SLF001
            await self.client._send_ping(pong)  # noqa: SLF001
        except NATS_ERRORS as error:
            raise translated(error) from error
        done, _ = await asyncio.wait((pong,), timeout=timeout_s)
        if not done:
            raise Unavailable(f"the bus did not answer a ping within {timeout_s} s")

    async def put_payload(self, digest: str, body: bytes) -> None:
        """The body can be read by its digest for about a day; see `payloads.py`."""
        await payloads.put_payload(self, digest, body)

    async def get_payload(self, digest: str) -> bytes | None:
        """The body with this digest, or None when it is not there whole."""
        return await payloads.get_payload(self, digest)

    @property
    def _answers(self) -> Replies:
        if self._replies is None:
            raise Unavailable("not connected to the bus")
        return self._replies

    async def _on_error(self, error: Exception) -> None:
        subject = refused_subject(error)
        if subject is None:
            log.debug("connection.failed", error=str(error))
            return
        log.warning("subject.refused", subject=subject)
        if "subscription" in str(error).lower():
            self._refused.add(subject)
        elif self._replies is not None:
            self._replies.refuse(subject)

    async def _on_disconnected(self) -> None:
        if self._is_closing:
            return
        log.warning("connection.lost")
        if self._replies is not None:
            self._replies.fail_all(Unavailable("the connection to the bus was lost"))
        for callback in self._lost:
            callback()

    async def _on_reconnected(self) -> None:
        log.info("connection.restored")
        for callback in self._restored:
            # As a task: an exception or a wait in here would stop nats-py from reconnecting again.
            task = asyncio.ensure_future(callback())
            self._aside.add(task)
            task.add_done_callback(self._aside_done)

    def _aside_done(self, task: asyncio.Future[None]) -> None:
        self._aside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("reconnection.failed", exc_info=error)

    async def _on_closed(self) -> None:
        if not self._is_closing:
            log.error("connection.closed")  # nats-py gave up: the process must be started again
