"""
Streamable HTTP past the egress guard, and our own eyes on each request.

The library ends a whole session when one request finds no server; here such a request is answered with an error of
JSON-RPC instead, so that other calls on the session go on. Nothing is read from the environment, connections go to the
addresses that were checked, answers are bounded, and no request is sent twice.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import certifi
import httpcore2
import httpx2

from toolbus_contracts.errors import Refused
from toolbus_integrations.mcp.body import LIBRARY_ERRORS, WatchedBody, told
from toolbus_integrations.mcp.exchange import SESSION_HEADER, Exchange, FailureKind, NotHandedOver, current_exchange
from toolbus_integrations.mcp.reaching import Resolve

INTERNAL: Final = -32603
UNREACHABLE: Final = -32099  # both of JSON-RPC's codes for implementations; seen by nobody but us
DENIED: Final = -32098
MAX_ERROR_BYTES: Final = 64 * 1024
CONNECT_S: Final = 10.0
KEEPALIVE_S: Final = 60.0
OTHER_S: Final = 60.0  # for an answer that no call waits for: a page of tools, the beginning of a session
LEAVE_S: Final = 2.0  # a server that does not answer to the end of a session holds nobody up for longer
OK: Final = 200
ERRORS_BEGIN: Final = 400


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the addresses that `resolve` gives for a name, and to nothing else."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(  # noqa: PLR0917 - the signature is the library's
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """
        A connection to the first address that answers.

        Raises:
            Refused: `egress_denied`.
            ConnectError: no address answers, or there is none.
        """
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        try:
            addresses = await self._resolve(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for address in addresses:
            try:
                stream = await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return WatchedStream(stream)
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Wait, as the library asks."""
        await self._plain.sleep(seconds)


class WatchedStream(httpcore2.AsyncNetworkStream):
    """A connection that tells the call whose bytes it is about to write."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._writer: Exchange | None = None  # whose request was written last

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Bytes, as they come."""
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Bytes leave, once the call they belong to has heard of it. Raises: NotHandedOver."""
        self._writer = exchange = current_exchange.get()
        if exchange is not None:
            exchange.hand_over(lambda: self._hang_up(exchange))
        await self._stream.write(buffer, timeout)

    async def _hang_up(self, exchange: Exchange) -> None:
        """Close it, unless another request came over it since."""
        if self._writer is exchange:
            await self.aclose()

    async def aclose(self) -> None:
        """The connection is closed."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """The same, encrypted; the certificate is checked against the name, not the address."""
        return WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        """What the library wants to know of the socket."""
        return self._stream.get_extra_info(info)


class WatchedTransport(httpx2.AsyncBaseTransport):
    """
    What the client of a session sends its requests through: a pool of connections of its own.

    `is_apart`: answers come over a stream of events of their own, and not to the requests. It is closed when one of
    these is not taken, because nothing else would tell the session.
    """

    def __init__(self, resolve: Resolve, *, trusted: ssl.SSLContext | None = None, is_apart: bool = False) -> None:
        self._is_apart = is_apart
        self._events: httpx2.Response | None = None
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trusted or trusted_certificates(),
            max_connections=None,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=GuardedBackend(resolve),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer; that no server could be spoken to is an answer too. Never raises for the network."""
        exchange = current_exchange.get()
        is_post = request.method == "POST"
        if exchange is not None and not (is_post and exchange.owns(request.content)):
            exchange = None
        response = await self._answer(request, exchange, is_post=is_post)
        if self._is_apart and is_post and response.status_code >= ERRORS_BEGIN and self._events is not None:
            await self._events.aclose()
        return response

    async def _answer(self, request: httpx2.Request, exchange: Exchange | None, *, is_post: bool) -> httpx2.Response:
        try:
            response = await self._send(request, answer_s=None if exchange is not None or not is_post else OTHER_S)
            if response.status_code >= ERRORS_BEGIN:
                return await _refusal(request, response, exchange)
        except Refused as error:
            return _unreachable(exchange, "denied", error.message)
        except NotHandedOver as error:
            return _unreachable(exchange, error.kind, str(error))
        except LIBRARY_ERRORS as error:
            return _unreachable(exchange, "lost", told(error))
        if self._is_apart and is_post:
            exchange = None
        elif self._is_apart:
            self._events = response
        if exchange is not None:
            exchange.is_unreadable = not _is_protocol(response)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return _unreachable(exchange, "lost", "the answer is encoded in a way that was not asked for")
        body = WatchedBody(response.aiter_raw(), response.aclose, exchange, is_events=_is_events(response))
        return httpx2.Response(response.status_code, headers=response.headers, stream=body)

    async def aclose(self) -> None:
        """All connections are closed."""
        await self._pool.aclose()

    async def _send(self, request: httpx2.Request, *, answer_s: float | None) -> httpx2.Response:
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        times = {"connect": CONNECT_S, "pool": CONNECT_S, "write": answer_s, "read": answer_s}
        asked = httpcore2.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions={"timeout": times}
        )
        async with asyncio.timeout(LEAVE_S if request.method == "DELETE" else None):
            found = await self._pool.handle_async_request(asked)
        return httpx2.Response(found.status, headers=found.headers, stream=_Raw(found))


class _Raw(httpx2.AsyncByteStream):
    """The body of an answer as the pool gives it; the connection is free again once it is closed."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.aiter_stream():
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


async def _refusal(request: httpx2.Request, response: httpx2.Response, exchange: Exchange | None) -> httpx2.Response:
    """An answer that tells an error, with the beginning of its body."""
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    await response.aclose()
    body = body[:MAX_ERROR_BYTES]
    if exchange is not None:
        has_session = SESSION_HEADER in request.headers
        headers = dict(response.headers)
        exchange.note_refusal(response.status_code, headers, body, has_session=has_session, now=datetime.now(UTC))
    elif b'"jsonrpc"' not in body:
        return _rpc_error(response.status_code, INTERNAL, f"the server answered {response.status_code}")
    kind = response.headers.get("content-type", "text/plain")
    return httpx2.Response(response.status_code, headers={"content-type": kind}, content=body)


def _unreachable(exchange: Exchange | None, kind: FailureKind, message: str) -> httpx2.Response:
    if exchange is not None:
        exchange.fail(kind, message)
    return _rpc_error(503, DENIED if kind == "denied" else UNREACHABLE, message)


def _rpc_error(status: int, code: int, message: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=json.dumps(body).encode())


def _is_protocol(response: httpx2.Response) -> bool:
    """Whether an answer is one that the protocol knows: JSON or events, and no other success."""
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    return response.status_code == OK and (is_json or _is_events(response))


def _is_events(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


@lru_cache(maxsize=1)
def trusted_certificates() -> ssl.SSLContext:
    """Whom we trust: reading the certificates takes tens of milliseconds, and is done once."""
    return ssl.create_default_context(cafile=certifi.where())
