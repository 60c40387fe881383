"""
The ways out over HTTP: names are resolved here, and connections go to addresses that were checked.

Nothing is read from the environment, no request is sent twice, and what leaves is noted before its first byte.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import certifi
import httpcore
import httpx

from toolbus_integrations.host.exchange import Exchange, current_exchange
from toolbus_integrations.host.failures import translated

CONNECT_S = 10.0
KEEPALIVE_S = 4.0  # below the 5 s of common servers


async def addresses_of(exchange: Exchange, host: str, port: int) -> tuple[str, ...]:
    """
    Every address of a host, each of them checked by the rules of a call.

    Raises:
        Refused: `egress_denied`, `secret_not_allowed`.
        OSError: it has none.
    """
    place = exchange.examine(f"https://{f'[{host}]' if ':' in host else host}:{port}")
    if place.is_literal:
        return (place.host,)
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(place.host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    addresses = tuple(dict.fromkeys(str(address[0]) for *_, address in found))
    exchange.examine_addresses(place, addresses)
    return addresses


class WatchedStream(httpcore.AsyncNetworkStream):
    """A connection; what is written to it is noted before it is."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What came."""
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """The bytes have left. Raises: TooLateError, before the first."""
        current_exchange.get().mark_sent()
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """The connection is closed."""
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """The same under TLS; shaking hands sends nothing of a request."""
        return WatchedStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - the library's own interface
        """What the library wants to know of a connection."""
        return self._inner.get_extra_info(info)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Makes connections, to checked addresses only."""

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(  # noqa: PLR0917 - the library's own interface
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """
        A connection to the first address of the host that takes one.

        Raises:
            Refused: one of its addresses may not be reached.
            ConnectError: none takes it.
        """
        try:
            addresses = await addresses_of(current_exchange.get(), host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"{host}: {error.strerror or error}") from error
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                stream = await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return WatchedStream(stream)
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Part of the library's interface."""
        await self._inner.sleep(seconds)


class Network(httpx.AsyncBaseTransport):
    """Connections of this process, kept alive for a few seconds; a transport for `httpx.AsyncClient` too."""

    def __init__(self) -> None:
        self._opened: httpcore.AsyncConnectionPool | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """The connections are closed by `aclose` alone: one client less does not end them."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """
        The answer, its body not read yet.

        Raises:
            Refused: the place may not be reached.
            TooLateError: it may not be sent any more.
            TransportError: no answer came (`failures`).
        """
        current_exchange.get().examine(str(request.url))
        timeouts = {"connect": CONNECT_S, **dict.fromkeys(("read", "write", "pool"))}
        inner = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions={"timeout": timeouts},
        )
        with translated(request):
            answer = await self._pool().handle_async_request(inner)
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer, request),
            extensions=answer.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        """The connections are closed."""
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None

    def _pool(self) -> httpcore.AsyncConnectionPool:
        if self._opened is None:
            self._opened = httpcore.AsyncConnectionPool(
                ssl_context=_trusted(),
                max_connections=None,
                keepalive_expiry=KEEPALIVE_S,
                retries=0,
                network_backend=GuardedBackend(),
            )
        return self._opened


class _Body(httpx.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(self, answer: httpcore.Response, request: httpx.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with translated(self._request):
            async for piece in self._answer.aiter_stream():
                yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """Whom we trust: reading the certificates takes tens of milliseconds, and is done once."""
    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())
