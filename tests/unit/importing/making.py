"""OpenAPI documents of a few lines, and the tools they become."""

from typing import Any

from toolbus.importing.documents import Document
from toolbus.importing.openapi import Left, Made, tools_of
from toolbus.importing.operations import operations_of
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.core.resources import check_definition

SERVER = "https://api.example.com/v1"
TEXT = {"type": "string"}


def document(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> Document:
    """A document with these paths."""
    return Document({"openapi": version, "servers": [{"url": SERVER}], "paths": paths, **more}, "test.yaml")


def made(operation: dict[str, Any], *, at: str = "post /things", version: str = "3.1.0", **more: Any) -> Made:
    """The tool of one operation, which the server would take."""
    found = outcome(operation, at=at, version=version, **more)
    assert isinstance(found, Made), found
    check_definition(ToolDefinition.model_validate(found.definition))
    return found


def section(operation: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The `api_call` of one operation."""
    part: dict[str, Any] = made(operation, **more).definition["api_call"]
    return part


def reason(operation: dict[str, Any], **more: Any) -> str:
    """Why an operation became no tool."""
    found = outcome(operation, **more)
    assert isinstance(found, Left), found
    return found.reason


def outcome(operation: dict[str, Any], *, at: str = "post /things", version: str = "3.1.0", **more: Any) -> Made | Left:
    """What one operation comes to."""
    method, _, path = at.partition(" ")
    whole = document({path: {method: operation}}, version, **more)
    return next(tools_of(whole, operations_of(whole)))


def parameter(name: str, place: str = "query", schema: Any = None, **more: Any) -> dict[str, Any]:
    """A parameter in a place."""
    return {"name": name, "in": place, "schema": TEXT if schema is None else schema, **more}


def body(schema: Any, kind: str = "application/json", **more: Any) -> dict[str, Any]:
    """A request body of one type."""
    return {"content": {kind: {"schema": schema}}, **more}
