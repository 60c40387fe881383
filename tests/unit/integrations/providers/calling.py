"""A call as a method of a provider sees it, in the test's own process: real HTTP, and loopback may be reached."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from pydantic import BaseModel

from toolbus.provider import MAX_OUTPUT_BYTES, Provider, ToolFailed
from toolbus_contracts.values import Json

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
AWAY = frozenset({408, 429, 503, 504, 524})
DENIED = "denied.test"
TRUSTED = ssl.create_default_context()  # once: it takes longer than most requests


@dataclass
class OwnCall:
    """Keeps the protocol of `toolbus.provider.Call`; `is_sent` tells whether something may have left."""

    folder: Path
    tenant: str = "acme"
    call_id: str = field(default_factory=lambda: str(uuid4()))
    now: datetime = NOW
    max_output_bytes: int = MAX_OUTPUT_BYTES
    is_sent: bool = False
    examined: list[str] = field(default_factory=list)
    verify: ssl.SSLContext = TRUSTED

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
        """The answer, whole, as the protocol says."""
        await self.examine(url)
        query = list(params) if isinstance(params, Sequence) else params
        async with httpx.AsyncClient(trust_env=False, timeout=60, verify=self.verify) as client:
            request = client.build_request(
                method, url, params=query, headers=headers, json=json, data=data, files=files, content=content
            )
            self.is_sent = True
            signed = httpx.BasicAuth(*auth) if auth else None
            answer = await client.send(request, auth=signed, stream=True, follow_redirects=follow_redirects)
            whole = bytearray()
            async for part in answer.aiter_raw():
                whole += part
                if len(whole) > self.max_output_bytes:
                    await answer.aclose()
                    raise ToolFailed(f"more than {self.max_output_bytes} bytes", code="response_too_large")
            await answer.aclose()
        found = httpx.Response(answer.status_code, headers=answer.headers, content=bytes(whole), request=answer.request)
        if raises and found.status_code >= 400:
            raise ToolFailed(
                f"the vendor answered {found.status_code}",
                code="http_status",
                retryable=found.status_code in AWAY,
                retry_after_s=_seconds(found.headers.get("retry-after")),
                response=found,
            )
        return found

    async def get(self, url: str, *, params: Mapping[str, Any] | None = None, **options: Any) -> httpx.Response:
        """`request` with GET."""
        return await self.request("GET", url, params=params, **options)

    async def post(self, url: str, *, json: Json = None, **options: Any) -> httpx.Response:
        """`request` with POST."""
        return await self.request("POST", url, json=json, **options)

    async def examine(self, url: str) -> None:
        """Everything is allowed but `DENIED`."""
        self.examined.append(url)
        if urlsplit(url).hostname == DENIED:
            raise ToolFailed(f"{url} may not be reached", code="egress_denied")

    async def checked_address(self, host: str, port: int) -> str:
        """The first address of the host."""
        await self.examine(f"https://{host}:{port}")
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
        return str(found[0][4][0])

    def mark_sent(self) -> None:
        """From now on something may leave."""
        self.is_sent = True


async def perform(
    provider: Provider,
    method: str,
    arguments: Mapping[str, object],
    call: OwnCall,
    *,
    setup: Mapping[str, object] | None = None,
    timeout_s: float | None = None,
) -> dict[str, Any]:
    """
    What the method gave, checked against its output model, as JSON.

    Raises:
        ToolFailed: as the method raises it.
        ValidationError: arguments or setup do not fit.
        TimeoutError: it took longer than `timeout_s`, the method's own unless given.
    """
    found = provider.methods[method]
    settled = provider.setup.model_validate(setup or {}) if provider.setup is not None else None
    asked = found.arguments.model_validate(arguments)
    output: BaseModel = await asyncio.wait_for(found.function(asked, settled, call), timeout_s or found.timeout_s)
    told: dict[str, Any] = output.model_dump(mode="json", by_alias=True)
    found.output.model_validate(told)
    return told


def _seconds(told: str | None) -> float | None:
    with suppress(TypeError, ValueError):
        return float(told or "")
    return None
