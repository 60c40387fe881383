"""A call as a method sees it: see `toolbus.provider.Call`, whose words this keeps."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from toolbus.provider import ToolFailed
from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.executing.decompression import decoder_for
from toolbus_contracts.retry_after import retry_after_s
from toolbus_contracts.values import Json
from toolbus_integrations.host.exchange import SAFE_METHODS, Exchange
from toolbus_integrations.host.failures import LIBRARY_ERRORS
from toolbus_integrations.host.network import Network, addresses_of

CLIENT_ERRORS = 400
LARGE_BYTES = 256 * 1024  # searching more than this in the loop would hold up the other calls of the provider
RETRYABLE = frozenset({408, 429, 503, 504, 524})
MAX_REDIRECTS = 10
ACCEPT_ENCODING = "gzip, deflate"  # what can be unpacked within a bound
# What may follow a redirect to another origin; anything else may be a credential.
HARMLESS = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})
OF_PACKING = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
OF_A_BODY = frozenset({"content-type", "content-encoding"})


@dataclass(frozen=True)
class HostedCall:
    """One attempt at one call, in the process of its provider."""

    tenant: str
    call_id: str
    folder: Path
    max_output_bytes: int
    network: Network
    exchange: Exchange
    user_agent: str

    @property
    def now(self) -> datetime:
        """The time, aware, UTC."""
        return datetime.now(UTC)

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Json = None,
        data: Mapping[str, Any] | None = None,
        files: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        auth: tuple[str, str] | None = None,
        follow_redirects: bool = False,
        raises: bool = True,
    ) -> httpx.Response:
        """
        The answer, whole.

        Raises:
            ToolFailed: an error status (unless `raises` is false), an answer above the bound, a target that the guard
                refuses, a request that cannot be written. A status of 408, 429, 503, 504 or 524 is retryable;
                Retry-After is heeded.
            TransportError: no answer came, or only a part of one (`failures`).
        """
        told = {"user-agent": self.user_agent, "accept-encoding": ACCEPT_ENCODING, **_lowered(headers)}
        try:
            request = httpx.Request(
                method, url, params=_listed(params), headers=told, json=json, data=data, files=files, content=content
            )
        except (httpx.InvalidURL, UnicodeEncodeError) as error:  # neither is quoted: both may hold a key
            raise ToolFailed("the url or a header holds what neither can", code="request_invalid") from error
        if auth is not None:
            request = next(httpx.BasicAuth(*auth).auth_flow(request))
        left = MAX_REDIRECTS if follow_redirects else 0
        while True:
            answer = await self._exchange(request)
            following = _next(request, answer) if left else None
            if following is None:
                break
            request, left = following, left - 1
        if raises and answer.status_code >= CLIENT_ERRORS:
            raise ToolFailed(
                f"the vendor answered {answer.status_code}",
                code="http_status",
                retryable=answer.status_code in RETRYABLE,
                retry_after_s=retry_after_s(answer.headers.raw, self.now),
                response=answer,
            )
        return answer

    async def get(self, url: str, *, params: Mapping[str, Any] | None = None, **options: Any) -> httpx.Response:  # noqa: ANN401 - those of `request`
        """`request` with GET."""
        return await self.request("GET", url, params=params, **options)

    async def post(self, url: str, *, json: Json = None, **options: Any) -> httpx.Response:  # noqa: ANN401 - those of `request`
        """`request` with POST."""
        return await self.request("POST", url, json=json, **options)

    async def examine(self, url: str) -> None:
        """
        The guard lets something go to this url.

        Raises:
            ToolFailed: `egress_denied`, `connection_failed` when its name has no address.
        """
        try:
            place = self.exchange.examine(url)
        except Refused as error:
            raise ToolFailed(error.message, code=error.code) from error
        await self.checked_address(place.host, place.port)

    async def checked_address(self, host: str, port: int) -> str:
        """
        An address of the host that the guard has checked.

        Raises:
            ToolFailed: `egress_denied`, or `connection_failed` when the name has none.
        """
        try:
            return (await addresses_of(self.exchange, host, port))[0]
        except Refused as error:
            raise ToolFailed(error.message, code=error.code) from error
        except OSError as error:
            message = f"{host} has no address: {error.strerror or error}"
            raise ToolFailed(message, code="connection_failed", retryable=True) from error

    def mark_sent(self) -> None:
        """Note that something may leave from now on."""
        self.exchange.mark_sent()
        self.exchange.effects += 1

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        """One request and its whole answer, unpacked."""
        if request.method not in SAFE_METHODS:
            self.exchange.effects += 1
        try:
            answer = await self.network.handle_async_request(request)
        except Refused as error:
            raise ToolFailed(error.message, code=error.code) from error
        except httpx.LocalProtocolError as error:  # it quotes what it does not like, which may be a key
            if self.exchange.is_sent:
                raise
            raise ToolFailed("a header holds what no header can", code="request_invalid") from error
        try:
            return await self._whole(request, answer)
        finally:
            await answer.aclose()

    async def _whole(self, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        """The answer with its body. An error status is an answer even when its body broke off."""
        packing = answer.headers.get("content-encoding", "")
        decoder = decoder_for(packing)
        if decoder is None:
            raise _unreadable(f"the answer is packed as {packing[:40]}, which was not asked for", request, answer, b"")
        body, bound = bytearray(), self.max_output_bytes + 1
        try:
            async for piece in answer.aiter_raw():
                body += decoder.feed(piece, bound - len(body))
                if len(body) >= bound:
                    message = f"the answer is larger than {self.max_output_bytes} bytes; reading stopped there"
                    raise ToolFailed(message, code="response_too_large", response=_response(request, answer, b""))
        except Unreadable as error:
            raise _unreadable(error.message, request, answer, bytes(body)) from error
        except LIBRARY_ERRORS:
            if answer.status_code < CLIENT_ERRORS:
                raise
        else:
            if not decoder.is_complete():
                raise _unreadable("the packed answer broke off", request, answer, bytes(body))
        whole = bytes(body)
        if answer.status_code >= CLIENT_ERRORS:  # what it says is told, in part
            is_large = len(whole) > LARGE_BYTES
            concealed = self.exchange.concealed
            whole = await asyncio.to_thread(concealed, whole) if is_large else concealed(whole)
        return _response(request, answer, whole)


def _lowered(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}


def _listed(params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None) -> Any:  # noqa: ANN401 - httpx's own type
    return params if params is None or isinstance(params, Mapping) else list(params)


def _unreadable(message: str, request: httpx.Request, answer: httpx.Response, body: bytes) -> ToolFailed:
    return ToolFailed(message, code="response_invalid", response=_response(request, answer, body))


def _response(request: httpx.Request, answer: httpx.Response, body: bytes) -> httpx.Response:
    """The answer with its body unpacked; what told how it was packed, and how long that was, is left out."""
    headers = [pair for pair in answer.headers.raw if pair[0].lower() not in OF_PACKING]
    return httpx.Response(answer.status_code, headers=headers, content=body, request=request)


def _next(request: httpx.Request, answer: httpx.Response) -> httpx.Request | None:
    """
    The request that follows a redirect, or none. Source: RFC 9110 §15.4.

    To another origin go only headers that are no credentials, and no body.
    """
    if not answer.has_redirect_location:
        return None
    try:
        url = request.url.join(answer.headers["location"])
    except (httpx.InvalidURL, ValueError):
        return None
    if url.userinfo:
        return None  # credentials that the target chose
    is_at_home = (url.scheme, url.host, url.port) == (request.url.scheme, request.url.host, request.url.port)
    becomes_get = answer.status_code == httpx.codes.SEE_OTHER or (
        answer.status_code in {301, 302} and request.method == "POST"
    )
    is_without_body = becomes_get or request.method in SAFE_METHODS
    if not is_at_home and not is_without_body:
        return None
    kept = {
        name: value
        for name, value in request.headers.items()
        if name not in {"host", "content-length", "transfer-encoding"}
        and (is_at_home or name in HARMLESS)
        and not (is_without_body and name in OF_A_BODY)
    }
    method = "GET" if becomes_get and request.method != "HEAD" else request.method
    return httpx.Request(method, url, headers=kept, content=None if is_without_body else request.read())
