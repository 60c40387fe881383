"""The FastStream broker with the settings that every service needs."""

from collections.abc import Awaitable, Callable
from typing import Any

from faststream.middlewares import AckPolicy
from faststream.nats import NatsBroker
from faststream.nats.security import NatsUserPassword
from nats.aio.client import Client

RECONNECT_WAIT_S = 0.25
FOR_EVER = -1
PENDING_BYTES = 8 * 1024 * 1024
FLUSH_TIMEOUT_S = 5.0
_WRONG_PASSWORD = "authorization violation"  # noqa: S105 - what the server says

ErrorCallback = Callable[[Exception], Awaitable[None]]
Callback = Callable[[], Awaitable[None]]


class Broker(NatsBroker):
    """
    A NatsBroker that never declares a stream and never gives up reconnecting.

    FastStream raises out of nats-py's error callback when the server says "authorization timeout" or the
    like. During a reconnect that ends the reconnection for good, and a server that is slow to start says it.
    Here only a wrong password at the first connection raises.
    """

    def _log_connection_broken(self, error_cb: ErrorCallback | None = None) -> ErrorCallback:
        async def told(error: Exception) -> None:
            if error_cb is not None:
                await error_cb(error)
            if not self.config.connection_state and _WRONG_PASSWORD in str(error).lower():
                raise error

        return told

    async def _connect(self) -> Client:
        client = Client()
        try:
            await client.connect(**self._connection_kwargs)
        except BaseException:
            await client.close()  # nats-py leaves the socket of a failed first connection open
            raise
        self.config.connect(client)
        return client

    async def start(self) -> None:
        """Subscribers run; streams are left to the deployment."""
        for declared, _ in self._stream_builder.objects.values():
            declared.declare = False
        await super().start()


def make_broker(
    servers: str | list[str],
    *,
    user: str,
    password: str,
    inbox_prefix: str,
    name: str,
    on_error: ErrorCallback | None = None,
    on_disconnected: Callback | None = None,
    on_reconnected: Callback | None = None,
    on_closed: Callback | None = None,
) -> NatsBroker:
    """
    A broker that reconnects for ever with short waits; it is not connected yet.

    Subscribers on a stream answer by hand (`AckPolicy.MANUAL`): FastStream's own default loses the
    message of a handler that raises.
    """
    options: dict[str, Any] = {"reconnect_time_wait": RECONNECT_WAIT_S}  # typed int there, slept as it is
    return Broker(
        servers,
        security=NatsUserPassword(user, password),
        inbox_prefix=inbox_prefix,
        name=name,
        ack_policy=AckPolicy.MANUAL,
        allow_reconnect=True,
        max_reconnect_attempts=FOR_EVER,
        connect_timeout=2,
        ping_interval=20,
        pending_size=PENDING_BYTES,
        flush_timeout=FLUSH_TIMEOUT_S,
        drain_timeout=5,
        error_cb=on_error,
        disconnected_cb=on_disconnected,
        reconnected_cb=on_reconnected,
        closed_cb=on_closed,
        logger=None,
        **options,
    )
