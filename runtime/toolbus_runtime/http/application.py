"""An HTTP application as every service has one: its resources, problems, health, and the OpenAPI document."""

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI

from toolbus_runtime.health import Probe
from toolbus_runtime.http import problems
from toolbus_runtime.http.document import Bodies, describe, operation_name
from toolbus_runtime.http.health import add_health
from toolbus_runtime.version import VERSION


def application(routers: Sequence[APIRouter], services: object, probes: dict[str, Probe], bodies: Bodies) -> FastAPI:
    """
    Make the application of these routers; the document tells of `bodies` besides.

    The parts that the routes speak to stand in `app.state.services`; without them it can only describe itself.
    """
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
    for router in routers:
        app.include_router(router)
    add_health(app, probes)
    routes = [route for router in routers for route in router.routes] + app.routes
    problems.install(app, routes)
    app.openapi = lambda: describe(app, routes, bodies)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app
