"""Several services behind one port: each path goes to the service that serves it (`toolbus_contracts.serving`)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

import orjson
from fastapi import FastAPI

from toolbus_contracts.errors import ToolbusError
from toolbus_contracts.serving import service_of
from toolbus_runtime.health import Check, Probe, examine
from toolbus_runtime.http.responses import JsonResponse

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
JsonObject = dict[str, Any]


class Beside(Protocol):
    """Another service that is served behind the same port."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

    async def document(self) -> JsonObject:
        """Its OpenAPI document."""

    async def check(self) -> Check:
        """Whether it is ready."""


class Here:
    """A service in this process, by its application and its probes."""

    def __init__(self, name: str, app: FastAPI, probes: dict[str, Probe]) -> None:
        self._name = name
        self._app = app
        self._probes = probes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    async def document(self) -> JsonObject:
        """Its OpenAPI document."""
        return self._app.openapi()

    async def check(self) -> Check:
        """Ready when all that it needs is."""
        wrong = [check for check in await examine(self._probes) if check.is_required and not check.ok]
        return told(self._name, [f"{check.name}: {check.detail}" for check in wrong])


class Front:
    """The application of one service, and those of others at their paths; `/openapi.json` tells of all."""

    def __init__(self, app: FastAPI, beside: Mapping[str, Beside]) -> None:
        self._app = app
        self._beside = beside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope.get("path", "")
        other = self._beside.get(service_of(path)) if scope["type"] == "http" else None
        if other is not None:
            await other(scope, receive, send)
        elif path == "/openapi.json" and scope["method"] in {"GET", "HEAD"}:
            await JsonResponse(await self._document())(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _document(self) -> JsonObject:
        """Of all that can be reached now: one that is away is told of when it is back."""
        found = await asyncio.gather(*(part.document() for part in self._beside.values()), return_exceptions=True)
        others = [document for document in found if isinstance(document, dict)]
        for error in found:
            if isinstance(error, BaseException) and not isinstance(error, ToolbusError):
                raise error
        return merged(self._app.openapi(), *others)


def merged(first: JsonObject, *others: JsonObject) -> JsonObject:
    """One document of several services; what two of them have (health, problems) stands once."""
    whole: JsonObject = orjson.loads(orjson.dumps(first))
    for other in others:
        for path, item in other["paths"].items():
            whole["paths"][path] = {**item, **whole["paths"].get(path, {})}
        for part, named in other.get("components", {}).items():
            parts = whole.setdefault("components", {})
            parts[part] = dict(sorted({**named, **parts.get(part, {})}.items()))
    return whole


def told(name: str, wrong: list[str]) -> Check:
    """What one service says of another's readiness."""
    if not wrong:
        return Check(name, ok=True, detail="ready")
    return Check(name, ok=False, detail="; ".join(wrong)[:300], hint=f"see the log of the service {name}")
