"""The HTTP application: routes, problems, health, and the OpenAPI document."""

from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from toolbus_dispatcher.http import calls, dead, executions, keys, log, tools
from toolbus_dispatcher.http.document import describe, operation_name
from toolbus_dispatcher.http.services import Services
from toolbus_dispatcher.http.shapes import Health, Readiness, Version
from toolbus_runtime.health import Probe, examine, report
from toolbus_runtime.http import problems
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.version import VERSION

RESOURCES = (calls, tools, executions, keys, log, dead)
NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": Readiness, "description": "Something is missing"}}


def make_application(services: Services | None, probes: dict[str, Probe]) -> FastAPI:
    """Make the application; without services it can only describe itself."""
    app = FastAPI(
        title="Toolbus",
        version=VERSION,
        summary="Tool calls: accepted, kept, dispatched, executed, told.",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=operation_name,
        redirect_slashes=False,  # it would redirect to whatever the host header says
    )
    app.state.services = services
    for resource in RESOURCES:
        app.include_router(resource.router)
    _add_health(app, probes)
    routes = [route for resource in RESOURCES for route in resource.router.routes] + app.routes
    problems.install(app, routes)
    app.openapi = lambda: describe(app, routes)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app


def _add_health(app: FastAPI, probes: dict[str, Probe]) -> None:
    @app.get("/healthz", tags=["health"], response_model=Health)
    async def healthz() -> Response:
        """The process runs."""
        return JsonResponse({"ok": True})

    @app.get("/readyz", tags=["health"], response_model=Readiness, responses=NOT_READY)
    async def readyz() -> Response:
        """Everything it depends on is there; 503 with the checks when not."""
        told = report(await examine(probes))
        if told["ready"]:
            return JsonResponse(told)
        return JsonResponse(told, status_code=503, headers={"Retry-After": "1"})

    @app.get("/metrics", tags=["health"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Metrics in Prometheus' text format."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/v1/version", tags=["health"], response_model=Version)
    async def version() -> Response:
        """The version of this server."""
        return JsonResponse({"version": VERSION})
