"""
The network: sends one request and reads its answer within bounds.

aiohttp's session with everything off that it does by itself: no cookies are kept, nothing is read from the
environment, nothing is decompressed, redirects are ours.
"""

import asyncio
import ssl
from functools import lru_cache

import aiohttp
import certifi

from toolbus_api_caller.adapters.watched_request import (
    STOPPED,
    Exchange,
    TooLateToSend,
    Unwanted,
    WatchedRequest,
    current_exchange,
)
from toolbus_api_caller.core.reading import AnswerReader
from toolbus_api_caller.core.redirects import MAX_REDIRECTS, next_request
from toolbus_api_caller.core.response import HttpAnswer
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.executing.redaction import RedactionFailed, Redactor
from toolbus_contracts.executing.secrets import check_place
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.requests.secrets import origin_of
from toolbus_contracts.values import storable
from toolbus_runtime.egress import EgressGuard, guarded_connector
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.deadline import Until
from toolbus_runtime.executing.runs import Run

SMALL_BODY_BYTES = 64 * 1024  # what each answer may hold without asking for room
MAX_FIELD_BYTES = 64 * 1024
MAX_FIELDS = 128  # with trailers: the head of an answer holds 8 MiB at most
PIECE_BYTES = 16 * 1024
MAX_WORDS = 500  # of an error of the library, in characters
# The library's own errors, and what the operating system raises through them.
LIBRARY_ERRORS = (
    aiohttp.ClientError,
    aiohttp.WSMessageTypeError,
    OSError,
)


class HttpClient:
    """Sends requests over kept-alive connections, past its guard; one per process."""

    def __init__(self, clock: Clock, *, keepalive_s: float, guard: EgressGuard) -> None:
        self._clock = clock
        self._guard = guard
        self._keepalive_s = keepalive_s
        self._opened: aiohttp.ClientSession | None = None

    def examine(self, request: HttpRequest) -> None:
        """
        The request may be sent, as far as that can be told without asking DNS.

        Raises:
            Refused: `egress_denied`, or `secret_not_allowed` where a secret may not be sent.
        """
        check_place(request.secrets, self._guard.examine(origin_of(request.url)))

    async def send(self, request: HttpRequest, permit: Permit, run: Run) -> HttpAnswer | Failure:
        """
        The answer of the target, as far as it came; or why there is none.

        An answer that broke off after its status carries the failure. Ends at once when the run is no
        longer wanted; a large body takes room in it, and waits for that no longer than for the answer.
        """
        exchange = Exchange(self._clock, permit.send_by, self._guard, run)
        current_exchange.set(exchange)
        reader = AnswerReader(request.max_output_bytes, free_bytes=SMALL_BODY_BYTES)
        stop_at = self._clock.steady_s() + request.timeout_s
        until = Until(stop_at if permit.stop_by is None else min(stop_at, permit.stop_by), self._clock)
        run.on_heard = lambda: None if run.is_wanted(is_sent=exchange.is_sent) else until.end()
        try:
            async with until:
                return await self._follow(request, exchange, reader)
        except Unwanted as error:
            return Failure("unwanted", str(error), exchange.is_sent)
        except TooLateToSend as error:
            return Failure("too_late", str(error), exchange.is_sent)
        except Refused as error:
            return Failure("denied", error.message, exchange.is_sent, code=error.code)
        except LIBRARY_ERRORS as error:
            return reader.broken(_failure(error, exchange, request.redactor))
        finally:
            run.on_heard = None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened.close()
        await self._guard.close()

    async def _follow(self, request: HttpRequest, exchange: Exchange, reader: AnswerReader) -> HttpAnswer:
        left = MAX_REDIRECTS if request.follow_redirects else 0
        while True:
            exchange.turn_to(request.url, request.secrets)
            asked = self._session().request(
                request.method,
                exchange.url,
                headers=request.headers,
                data=request.body or None,
                allow_redirects=False,
            )
            async with asked as response:
                location = _location(response) if left else ""
                following = await _next(request, response.status, location) if location else None
                if following is None:
                    return await self._read(response, reader, exchange.run)
            request, left = following, left - 1

    @staticmethod
    async def _read(response: aiohttp.ClientResponse, reader: AnswerReader, run: Run) -> HttpAnswer:
        reader.begin(response.status, response.raw_headers)
        async for piece in response.content.iter_chunked(PIECE_BYTES):
            is_going_on = reader.take(piece)
            if reader.needs_room:
                await run.take_room(reader.most_bytes)
                is_going_on = reader.widen()
            if not is_going_on:
                break
        run.keep_room(reader.held_bytes)
        return reader.answer()

    def _session(self) -> aiohttp.ClientSession:
        """The session, opened when the loop runs that it will belong to."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=guarded_connector(self._guard, keepalive_s=self._keepalive_s, ssl=_trusted()),
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=WatchedRequest,
            skip_auto_headers=("accept", "accept-encoding", "content-type", "user-agent"),
            timeout=aiohttp.ClientTimeout(total=None),
            max_line_size=MAX_FIELD_BYTES,
            max_field_size=MAX_FIELD_BYTES,
            max_headers=MAX_FIELDS,
            trust_env=False,
            auto_decompress=False,
        )
        # Its own second try would be a second effect; `WatchedRequest` refuses one as well.
        session._retry_connection = False  # noqa: SLF001 - there is no public switch; a test pins what it does
        return session


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """Whom we trust: reading the certificates takes tens of milliseconds, and is done once."""
    return ssl.create_default_context(cafile=certifi.where())


async def _next(request: HttpRequest, status_code: int, location: str) -> HttpRequest | None:
    """Where the redirect leads; a large body that holds secrets is searched for them in a thread."""
    if request.redactor and len(request.body or b"") > SMALL_BODY_BYTES:
        return await asyncio.to_thread(next_request, request, status_code, location)
    return next_request(request, status_code, location)


def _location(response: aiohttp.ClientResponse) -> str:
    """Where the answer leads; bytes that are no UTF-8 are read as Latin-1, which every byte is."""
    told = next((value for name, value in response.raw_headers if name.lower() == b"location"), b"")
    try:
        return told.decode()
    except UnicodeDecodeError:
        return told.decode("latin-1")


def _failure(error: Exception, exchange: Exchange, redactor: Redactor) -> Failure:
    """Translate an error of the library; whether something was sent is our own flag's to say."""
    prefix = "" if exchange.is_sent else "nothing was sent: "
    if not exchange.run.is_wanted(is_sent=exchange.is_sent):
        return Failure("unwanted", prefix + STOPPED, exchange.is_sent)
    is_timeout = isinstance(error, TimeoutError)
    cause = "no answer in time" if is_timeout else _words(error, redactor)
    return Failure("timeout" if is_timeout else "lost", prefix + cause, exchange.is_sent)


def _words(error: Exception, redactor: Redactor) -> str:
    """What the error says, which may quote the url; a secret in it is taken out before the rest is cut off."""
    told = storable(str(error) or type(error).__name__)
    try:
        return redactor.in_text(told)[:MAX_WORDS]
    except RedactionFailed:
        return type(error).__name__
