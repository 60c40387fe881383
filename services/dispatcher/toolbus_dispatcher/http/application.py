"""The HTTP application: routes, problems, health, and the OpenAPI document."""

from typing import Any

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic.json_schema import models_json_schema

from toolbus_contracts.calls import CallView, SubmitCall
from toolbus_contracts.executions import CancelExecution, ExecutionView, FinishExecution, StartExecution
from toolbus_contracts.keys import CreateKey, NewKey
from toolbus_contracts.tools import ToolDefinition, ToolView
from toolbus_dispatcher.http import calls, executions, keys, log, tools
from toolbus_dispatcher.http.services import Services
from toolbus_runtime.health import Probe, examine, report
from toolbus_runtime.http import problems
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.version import VERSION

BODIES = (SubmitCall, ToolDefinition, StartExecution, FinishExecution, CancelExecution, CreateKey)
VIEWS = (CallView, ToolView, ExecutionView, NewKey)
REFERENCE = "#/components/schemas/{model}"


def make_application(services: Services | None, probes: dict[str, Probe]) -> FastAPI:
    """Make the application; without services it can only describe itself."""
    app = FastAPI(
        title="Toolbus",
        version=VERSION,
        summary="Tool calls: accepted, kept, dispatched, executed, told.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever the host header says
    )
    app.state.services = services
    problems.install(app)
    for resource in (calls, tools, executions, keys, log):
        app.include_router(resource.router)
    _add_health(app, probes)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app


def _add_health(app: FastAPI, probes: dict[str, Probe]) -> None:
    @app.get("/healthz", tags=["health"])
    async def healthz() -> Response:
        """The process runs."""
        return JsonResponse({"ok": True})

    @app.get("/readyz", tags=["health"])
    async def readyz() -> Response:
        """Everything it depends on is there; 503 with the checks when not."""
        told = report(await examine(probes))
        if told["ready"]:
            return JsonResponse(told)
        return JsonResponse(told, status_code=503, headers={"Retry-After": "1"})

    @app.get("/metrics", tags=["health"])
    async def metrics() -> Response:
        """Metrics in Prometheus' text format."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/v1/version", tags=["health"])
    async def version() -> Response:
        """The version of this server."""
        return JsonResponse({"version": VERSION})


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document with the schemas of strictly read bodies and the keys."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        _, schemas = models_json_schema([(body, "validation") for body in BODIES], ref_template=REFERENCE)
        components = document.setdefault("components", {})
        components["schemas"] = {**schemas.get("$defs", {}), **components.get("schemas", {})}
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "tb_…"}}
        document["security"] = [{"key": []}]
        problem = {"description": "Problem details (RFC 9457)", "content": {"application/problem+json": {}}}
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"] |= {"4XX": problem, "503": problem}
                operation["responses"].pop("422", None)
        app.openapi_schema = document
    return app.openapi_schema
