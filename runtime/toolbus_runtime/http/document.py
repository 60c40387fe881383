"""The OpenAPI document: what FastAPI finds out by itself, and what our strict readers and problems add to it."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from toolbus_runtime.http.problems import MEDIA_TYPE
from toolbus_runtime.http.shapes import Problem

JsonObject = dict[str, Any]
Bodies = Sequence[type[BaseModel]]
REFERENCE = "#/components/schemas/{model}"
TEXT: JsonObject = {"schema": {"type": "string"}}
HEADERS: dict[int, JsonObject] = {
    401: {"WWW-Authenticate": {"description": "Bearer", "required": True, **TEXT}},
    503: {"Retry-After": {"description": "seconds", "required": True, **TEXT}},
}


def describe(app: FastAPI, routes: Sequence[BaseRoute], bodies: Bodies) -> JsonObject:
    """The document of an application with these routes, which read these bodies; made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        components = document.setdefault("components", {})
        components["schemas"] = {**components.get("schemas", {}), **_schemas(bodies)}
        for unused in ("HTTPValidationError", "ValidationError"):
            components["schemas"].pop(unused, None)
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "tb_…"}}
        for route in routes:
            if isinstance(route, APIRoute):
                for method in route.methods or ():
                    _complete(document["paths"][route.path_format][method.lower()], route)
        app.openapi_schema = document
    return app.openapi_schema


def operation_name(route: APIRoute) -> str:
    """The name of an operation: `calls.submit`."""
    return f"{route.tags[0]}.{route.name}"


def _schemas(bodies: Bodies) -> JsonObject:
    _, read = models_json_schema([(body, "validation") for body in bodies], ref_template=REFERENCE)
    _, problem = models_json_schema([(Problem, "serialization")], ref_template=REFERENCE)
    return {**read.get("$defs", {}), **problem["$defs"]}


def _complete(operation: JsonObject, route: APIRoute) -> None:
    """Say who may do it, and every way in which it may be refused."""
    calls = [found.call for found in route.dependant.dependencies]
    scopes = [getattr(call, "scope") for call in calls if hasattr(call, "scope")]  # noqa: B009 - set by `caller`
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _written(parameter["schema"])
    responses = operation["responses"]
    responses.pop("422", None)
    if not scopes:
        operation["security"] = []
        return
    operation["security"] = [{"key": []}]
    if scopes[0] is not None:
        operation["description"] += f"\n\nScope: `{scopes[0]}`, or `admin`."
    statuses = {401, 422, 503} | ({403} if scopes[0] else set()) | ({413} if "requestBody" in operation else set())
    responses |= {str(status): refusal for status, refusal in refusals(*statuses).items()}
    operation["responses"] = dict(sorted(responses.items()))


def _written(schema: JsonObject) -> JsonObject:
    """What may be left out of a query or a header; there is no way of writing null there."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, **choices[0]}


def refusals(*statuses: int) -> dict[int | str, JsonObject]:
    """Problem details under these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": content,
            **({"headers": HEADERS[status]} if status in HEADERS else {}),
        }
        for status in sorted(statuses)
    }


def resumable() -> JsonObject:
    """A stream that can be resumed by the id of its last event."""
    text = "the position behind which to go on; wins over `after`"
    header = {"name": "Last-Event-ID", "in": "header", "required": False, "description": text}
    return {"parameters": [{**header, "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"}}]}


def body_of(model: type[BaseModel], *, required: bool = True, without: str | None = None) -> JsonObject:
    """A body that is strict JSON of this model; `without` is the field that the path gives."""
    if without is None:
        schema: JsonObject = {"$ref": REFERENCE.format(model=model.__name__)}
    else:
        schema = model.model_json_schema()
        del schema["properties"][without]
        schema["required"] = [name for name in schema["required"] if name != without]
    return body_like(schema, required=required)


def body_like(schema: JsonObject, *, required: bool = True, kind: str = "application/json") -> JsonObject:
    """A body of this schema."""
    return {"requestBody": {"required": required, "content": {kind: {"schema": schema}}}}
