"""
Our own eyes at the socket: whether a request was handed to it, exactly as written, and only once.

aiohttp sends PUT, DELETE, GET and others again by itself when a kept-alive connection turns out dead,
and writes urls its own way. Every request of the session is made by this class, which knows better.
"""

import asyncio
import io
from collections.abc import Sequence
from contextvars import ContextVar

from aiohttp import ClientConnectionError, ClientRequest, ClientResponse, hdrs
from aiohttp.connector import Connection
from yarl import URL

from toolbus_contracts.egress import Place
from toolbus_contracts.executing.secrets import Secret, check_place
from toolbus_contracts.requests.secrets import origin_of
from toolbus_runtime.egress import EgressGuard
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.runs import Run

STOPPED = "the call was to be stopped"
_CHUNKED_BYTES = 256 * 1024  # larger bodies are written in pieces, so that the loop is not held up


class TooLateToSend(Exception):
    """The permission to send had run out when the connection was ready; nothing was sent."""


class Unwanted(Exception):
    """Somebody asked for the call to be stopped before this request was handed over."""


class Exchange:
    """One call on the network, possibly of several requests when redirects are followed."""

    __slots__ = ("clock", "guard", "is_hop_sent", "is_sent", "place", "run", "send_by", "url")

    def __init__(self, clock: Clock, send_by: float | None, guard: EgressGuard, run: Run) -> None:
        self.clock = clock
        self.guard = guard
        self.run = run
        self.place: Place | None = None
        self.send_by = send_by
        self.url = URL()
        self.is_sent = False
        self.is_hop_sent = False

    def turn_to(self, url: str, secrets: Sequence[Secret] = ()) -> None:
        """
        The next request, which holds these secrets, goes to this url, exactly as it is written.

        Raises:
            Refused: `egress_denied`, the guard lets nothing go there; `secret_not_allowed`, a secret may not.
            Unwanted: the call is to be stopped.
        """
        self._check_wish()
        self.place = self.guard.examine(origin_of(url))
        check_place(secrets, self.place)
        self.url = URL(url, encoded=True)
        self.is_hop_sent = False

    def hand_over(self, transport: asyncio.BaseTransport | None) -> None:
        """
        Note that bytes may leave from now on, over this connection.

        Raises:
            Refused: `egress_denied`, the connection leads to where the guard lets nothing go.
            TooLateToSend: the permission has run out.
            Unwanted: the call is to be stopped.
            ClientConnectionError: the connection is gone, or this request was handed over before.
        """
        if self.is_hop_sent:
            raise ClientConnectionError("the connection broke; the request is not sent a second time")
        self._check_wish()
        if self.send_by is not None and self.clock.steady_s() > self.send_by:
            raise TooLateToSend("the permission to send ran out before the connection was ready")
        if self.place is None:
            raise AssertionError("the url comes before the connection")
        self.guard.check_peer(self.place, transport)
        self.is_hop_sent = True
        self.is_sent = True
        self.run.sent_s = self.clock.steady_s()

    def _check_wish(self) -> None:
        if not self.run.is_wanted(is_sent=self.is_sent):
            raise Unwanted(STOPPED if self.is_sent else f"nothing was sent: {STOPPED}")


current_exchange: ContextVar[Exchange] = ContextVar("current_exchange")


class WatchedRequest(ClientRequest):
    """A request that tells its exchange, just before the first byte may leave."""

    def __init__(self, method: str, _url: URL, **options: object) -> None:
        self._exchange = current_exchange.get()
        data = options.get("data")
        if isinstance(data, bytes) and len(data) > _CHUNKED_BYTES:
            options["data"] = io.BytesIO(data)
        super().__init__(method, self._exchange.url, **options)  # type: ignore[arg-type]  # handed on as they came

    async def send(self, conn: Connection) -> ClientResponse:
        """Send, once; a tunnel that a CONNECT opened is never used again."""
        self._exchange.hand_over(conn.transport)
        if self.method == hdrs.METH_CONNECT and conn.protocol is not None:
            conn.protocol.force_close()
        return await super().send(conn)
