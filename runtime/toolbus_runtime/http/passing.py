"""A service that runs in another process, behind the port of this one: requests are passed on as they came."""

from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from toolbus_contracts.errors import ToolbusError, Unavailable
from toolbus_contracts.problems import problem
from toolbus_runtime.health import Check
from toolbus_runtime.http.front import JsonObject, Receive, Scope, Send, told
from toolbus_runtime.http.problems import MEDIA_TYPE

CONNECT_S = 5.0
HOP: Final = frozenset(  # RFC 9110 §7.6.1: they speak of one connection
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)


class Passing:
    """
    The service at `url`. Bodies pass through piece by piece, so that streams stay streams.

    The host header stays the one that the caller sent, so that the service knows under which name it is seen.
    """

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request with what the service answers; 503 when it is away."""
        query = scope["query_string"].decode("latin-1")
        target = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1") + (f"?{query}" if query else "")
        headers = CIMultiDict(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"] if name not in HOP
        )
        has_body = b"content-length" in dict(scope["headers"]) or b"transfer-encoding" in dict(scope["headers"])
        try:
            response = await self._open().request(
                scope["method"],
                URL(self._url + target, encoded=True),
                headers=headers,
                data=_body(receive) if has_body else None,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            await self._away(error, send)
            return
        async with response:
            await _pass_back(response, send)

    async def document(self) -> JsonObject:
        """Its OpenAPI document. Raises: Unavailable."""
        return await self._read("/openapi.json")

    async def check(self) -> Check:
        """Whether it says that it is ready."""
        try:
            report = await self._read("/readyz", 503)
        except Unavailable as error:
            return told(self._name, [error.message])
        wrong = [f"{check['name']}: {check['detail']}" for check in report["checks"] if not check["ok"]]
        return told(self._name, [] if report["ready"] else wrong)

    async def close(self) -> None:
        """The connections are closed."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _read(self, path: str, *statuses: int) -> JsonObject:
        """A JSON object that it answers with 200 or one of these. Raises: Unavailable."""
        try:
            async with self._open().get(URL(self._url + path)) as response:
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"{self._name} is away: {type(error).__name__}") from error
        if response.status not in {200, *statuses}:
            raise Unavailable(f"{self._name} answers {path} with {response.status}")
        found: JsonObject = orjson.loads(body)
        return found

    async def _away(self, error: Exception, send: Send) -> None:
        said = problem(ToolbusError("unavailable", f"{self._name} is away: {type(error).__name__}"))
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"retry-after", b"1")]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": orjson.dumps(said)})

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        return self._session


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client left before the end of the body")
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return


async def _pass_back(response: aiohttp.ClientResponse, send: Send) -> None:
    headers = [(name.lower(), value) for name, value in response.raw_headers if name.lower() not in HOP]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    async for piece in response.content.iter_any():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
