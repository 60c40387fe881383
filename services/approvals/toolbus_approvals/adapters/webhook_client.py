"""
The network of webhooks: posts one message past the egress guard, and reads what comes back within bounds.

Nothing is followed, nothing is kept: no redirects, no cookies, no proxy of the environment.
"""

import ssl
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache

import aiohttp
import certifi
from aiohttp.connector import Connection
from yarl import URL

from toolbus_approvals.core.answers import Answer
from toolbus_contracts.egress import Place
from toolbus_contracts.errors import Refused
from toolbus_contracts.retry_after import retry_after_s
from toolbus_runtime.egress import EgressGuard, guarded_connector

TIMEOUT_S = 15.0  # Source: Standard Webhooks, "Deliverability": 15 to 30 seconds
KEEPALIVE_S = 4.0
MAX_ANSWER_BYTES = 1024 * 1024
UNREAD_BYTES = 64 * 1024  # what is read of an answer that nobody looks at, so that its connection may be used again
PIECE_BYTES = 16 * 1024
MAX_ERROR_CHARS = 500
HEADERS = {"content-type": "application/json", "user-agent": "Toolbus"}

_place: ContextVar[Place] = ContextVar("place")


class WebhookClient:
    """Posts messages over kept-alive connections; one per process."""

    def __init__(self, guard: EgressGuard, *, timeout_s: float = TIMEOUT_S) -> None:
        self._guard = guard
        self._timeout_s = timeout_s
        self._opened: aiohttp.ClientSession | None = None

    def examine(self, url: str) -> Place:
        """
        Where a url leads.

        Raises:
            Refused: `egress_denied`, as far as that can be told without asking DNS.
        """
        return self._guard.examine(_origin(url))

    async def post(self, url: str, headers: dict[str, str], body: bytes, *, is_read: bool, now: datetime) -> Answer:
        """Post exactly these bytes once; an answer of status 0 says why there is none."""
        try:
            _place.set(self.examine(url))
            async with self._session().post(
                _as_written(url), data=body, headers={**HEADERS, **headers}, allow_redirects=False
            ) as response:
                wait_s = retry_after_s(response.raw_headers, now)
                found, is_cut = await _read(response, MAX_ANSWER_BYTES if is_read else UNREAD_BYTES)
                return Answer(response.status, found, wait_s, is_cut=is_cut)
        except Refused as error:
            return Answer(0, error=error.message)
        except TimeoutError:
            return Answer(0, error=f"no answer within {self._timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            told = (str(error) or type(error).__name__).replace("\x00", "")
            return Answer(0, error=told[:MAX_ERROR_CHARS])

    async def aclose(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened.close()
        await self._guard.close()

    def _session(self) -> aiohttp.ClientSession:
        """The session, opened when the loop runs that it will belong to."""
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=guarded_connector(self._guard, keepalive_s=KEEPALIVE_S, ssl=_trusted()),
                cookie_jar=aiohttp.DummyCookieJar(),
                request_class=_request_class(self._guard),
                skip_auto_headers=("accept", "accept-encoding"),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                trust_env=False,
                auto_decompress=False,
            )
        return self._opened


def _request_class(guard: EgressGuard) -> type[aiohttp.ClientRequest]:
    """Requests that look at the peer of their connection, kept-alive or new, before a byte is handed to it."""

    class PeerChecked(aiohttp.ClientRequest):
        async def send(self, conn: Connection) -> aiohttp.ClientResponse:
            guard.check_peer(_place.get(), conn.transport)
            return await super().send(conn)

    return PeerChecked


async def _read(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    """The body, at most so many bytes of it, and whether there is more."""
    parts: list[bytes] = []
    size = 0
    async for piece in response.content.iter_chunked(PIECE_BYTES):
        size += len(piece)
        if size > limit:
            response.close()
            return b"", True
        parts.append(piece)
    return b"".join(parts), False


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """Whom we trust: reading the certificates takes tens of milliseconds, and is done once."""
    return ssl.create_default_context(cafile=certifi.where())


def _as_written(url: str) -> URL:
    """The url, character by character; one that cannot stand in a request is written as it can."""
    return URL(url, encoded=url.isascii() and url.isprintable())


def _origin(url: str) -> str:
    """Scheme, host and port of a url."""
    head = url.split("?", 1)[0].split("#", 1)[0]
    return "/".join(head.split("/", 3)[:3])
