"""The routes that every HTTP service has beside its own: does it run, is it ready, how is it doing, which version."""

from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from toolbus_runtime.health import Probe, examine, report
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Health, Readiness, Version
from toolbus_runtime.version import VERSION

NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": Readiness, "description": "Something is missing"}}


def add_health(app: FastAPI, probes: dict[str, Probe]) -> None:
    """The application answers `/healthz`, `/readyz` from these probes, `/metrics` and `/v1/version`."""

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
