"""Every error leaves as problem details (RFC 9457), in one place."""

import math
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Route

from toolbus_contracts.errors import Fault, ToolbusError, Unavailable, Unreadable
from toolbus_contracts.problems import problem
from toolbus_contracts.values import MAX_FAULTS, fault_message, fault_path

log = structlog.get_logger(__name__)
MAX_INSTANCE_CHARS = 1000
MEDIA_TYPE = "application/problem+json"
_HTTP_CODES = {401: "unauthenticated", 404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


def respond(told: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """Send problem details with their own status."""
    return Response(orjson.dumps(told), status_code=told["status"], media_type=MEDIA_TYPE, headers=headers)


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Answer every exception of this application, which serves these routes, with problem details."""

    @app.exception_handler(ToolbusError)
    async def on_error(request: Request, error: ToolbusError) -> Response:
        headers: dict[str, str] = {}
        if isinstance(error, Unavailable):
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
        elif error.status == 503:  # noqa: PLR2004 - the status itself
            headers["Retry-After"] = "1"
        elif error.status == 401:  # noqa: PLR2004 - the status itself
            headers["WWW-Authenticate"] = "Bearer"
        return respond(problem(error, instance=_instance(request)), headers)

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        faults = tuple(
            Fault(fault_path(*one["loc"]), fault_message(one["type"], one["msg"]))
            for one in error.errors()[:MAX_FAULTS]
        )
        return respond(problem(Unreadable("invalid_request", faults[0].message, faults), instance=_instance(request)))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        code = _HTTP_CODES.get(error.status_code, "invalid_request")
        detail = (
            f"nothing is served at {_instance(request)}; see /openapi.json" if code == "not_found" else error.detail
        )
        told = problem(ToolbusError(code, str(detail)), instance=_instance(request))
        headers = dict(error.headers or {})
        if "Allow" in headers:  # Starlette names the methods of the first route that fits; there may be several
            headers["Allow"] = _methods_at(request.scope["path"], routes)
        return respond({**told, "status": error.status_code}, headers)

    @app.exception_handler(Exception)
    async def on_fault(request: Request, error: Exception) -> Response:
        log.error("request.failed", path=request.scope["path"], exc_info=error)
        return respond(problem(ToolbusError("internal", "something broke; it was logged"), instance=_instance(request)))


def _methods_at(path: str, routes: Sequence[BaseRoute]) -> str:
    """Every method of the first resource that a path fits."""
    served = [route for route in routes if isinstance(route, Route)]
    first = next((route.path for route in served if route.path_regex.match(path)), None)
    return ", ".join(sorted({method for route in served if route.path == first for method in route.methods or ()}))


def _instance(request: Request) -> str:
    """The path as it was asked for; `request.url` would trust the host header, and fail on a broken one."""
    return quote(request.scope["path"], safe="/:@!$&'()*+,;=-._~")[:MAX_INSTANCE_CHARS]
