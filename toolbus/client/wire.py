"""What both clients share of httpx: building requests, and telling what its exceptions mean."""

import httpx

from toolbus.client.exchange import Answer, Lost, Request
from toolbus.client.location import Server
from toolbus.version import installed_version

CONNECT_S = 5.0
SILENCE_S = 60.0  # a stream that says nothing for so long, not even a heartbeat, is opened again
NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)
# Each waiting call holds a connection; more than so many wait for one of them to be free.
LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
FAILURES = (httpx.HTTPError, httpx.InvalidURL)


def is_on_this_machine(url: str) -> bool:
    """True for a loopback address: no proxy that the environment names has any business with it."""
    host = httpx.URL(url).host
    return host in {"localhost", "::1"} or host.startswith("127.")


def headers(server: Server) -> dict[str, str]:
    """What every request says about its sender."""
    return {
        "authorization": f"Bearer {server.api_key}",
        "accept": "application/json, application/problem+json",
        "user-agent": f"toolbus-python/{installed_version()}",
    }


def lost(error: Exception) -> Lost:
    """Tell what a library's exception means for the request."""
    told = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        told = "no connection in time" if isinstance(error, httpx.ConnectTimeout) else "no answer in time"
    return Lost(told, may_have_arrived=not isinstance(error, NEVER_SENT))


def answer(response: httpx.Response) -> Answer:
    """Keep what matters of a response that was read."""
    return Answer(response.status_code, dict(response.headers), response.content)


def build(
    http: httpx.Client | httpx.AsyncClient, request: Request[object], timeout_s: float, hold_s: float
) -> httpx.Request:
    """Make the request of the library; `hold_s` is how long the server may be silent beyond `timeout_s`."""
    return http.build_request(
        request.method,
        request.path,
        params=request.query or None,
        headers={**({} if request.body is None else {"content-type": "application/json"}), **request.headers},
        content=request.body,
        timeout=httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s), read=timeout_s + hold_s, pool=None),
    )
