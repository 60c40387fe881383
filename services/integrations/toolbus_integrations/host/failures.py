"""
How a connection fails, in the words of httpx: those of httpcore below it have the same names, and no common parent.

    the name has no address, nobody listens there, no TLS   ConnectError           nothing of a request was sent
    no connection in time                                   ConnectTimeout         nothing was sent
    no request can be written that way                      LocalProtocolError     nothing was sent
    the connection broke, or ended without an answer        ReadError, WriteError, RemoteProtocolError
    the answer broke off, or is none of HTTP                ReadError, RemoteProtocolError

Whether something was sent is never read from these: `Exchange.is_sent` alone knows.
"""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import httpcore
import httpx

MEANT: Final[Mapping[type[Exception], type[httpx.TransportError]]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.TimeoutException: httpx.TimeoutException,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.NetworkError: httpx.NetworkError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.ProtocolError: httpx.ProtocolError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.ConnectionNotAvailable: httpx.ConnectError,
    ssl.SSLError: httpx.ReadError,  # of a connection that stood: shaking hands fails with ConnectError
}
# What httpx itself raises, and what the operating system does: whoever asks may meet them.
LIBRARY_ERRORS: Final[tuple[type[Exception], ...]] = (
    *MEANT,
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    OSError,
)


@contextmanager
def translated(request: httpx.Request) -> Iterator[None]:
    """What fails in here fails in the words of httpx, as any other client of it would."""
    try:
        yield
    except tuple(MEANT) as error:
        meant = next(MEANT[kind] for kind in type(error).__mro__ if kind in MEANT)
        raise meant(str(error) or type(error).__name__, request=request) from error
