"""`/v1/tools` and `/v1/definitions`: define, read in every model's shape, retire."""

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Header, Query, Request, Response

from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Fault, NotFound, Refused
from toolbus_contracts.tools import (
    Tool,
    ToolDefinition,
    ToolFormat,
    ToolScope,
    ToolVersion,
    ToolView,
    format_tool,
    tool_stream_id,
    view_tool,
)
from toolbus_dispatcher.aggregates import TOOL
from toolbus_dispatcher.http.services import Wired, caller
from toolbus_dispatcher.http.shapes import Shaped
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_like, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["tools"])
DEFINITION = {  # the name may be left out here: the path has it
    "anyOf": [{"$ref": "#/components/schemas/ToolDefinition"}, {"type": "object", "not": {"required": ["name"]}}]
}
Scope = Annotated[ToolScope, Query(alias="scope")]
Format = Annotated[str | None, Query(alias="format", description=", ".join(get_args(ToolFormat)))]


def shown(version: ToolVersion, tool: Tool, shape: str | None) -> dict[str, Any]:
    """A tool version as JSON, in its own shape or a model's. Raises: Refused."""
    if shape is not None:
        return format_tool(version.definition, shape, version.surface)
    return view_tool(version, tool.retired_at).model_dump(mode="json")


@router.put(
    "/v1/tools/{name}",
    response_model=ToolView,
    responses={201: {"model": ToolView, "description": "A new version"}, **refusals(409)},
    openapi_extra=body_like(DEFINITION),
)
async def define(
    name: str,
    request: Request,
    parts: Wired,
    who: Annotated[Caller, caller("admin")],
    scope: Scope = "tenant",
    if_match: Annotated[
        str | None, Header(alias="If-Match", description="the version that this one follows; `0`: there is none")
    ] = None,
) -> Response:
    """Define a tool, or add a version to it; 201 when this made a new version."""
    body, _ = await read_object(request)
    definition = parsed(ToolDefinition, {"name": name, **body})
    if definition.name != name:
        message = f"the definition is named {definition.name!r}, the path {name!r}"
        raise Refused("invalid_definition", message, (Fault("/name", message),))
    surface = await parts.describing.surface(who.tenant, definition)
    decided = await parts.resources.define(
        definition, surface, tenant=who.tenant, scope=scope, actor=who.actor, if_match=if_match
    )
    tool: Tool = decided.state
    version = tool.versions[-1]
    return JsonResponse(
        shown(version, tool, None),
        status_code=201 if decided.events else 200,
        headers={"ETag": f'"{version.version}"'},
    )


@router.get("/v1/tools", response_model=Page[Shaped])
async def list_tools(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    scope: Annotated[ToolScope | None, Query()] = None,
    type_: Annotated[str | None, Query(alias="type")] = None,
    shape: Format = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List the tools in use, the newest definition first."""
    rows = await parts.queries.tools(who.tenant, scope=scope, type_=type_, before=decode_cursor(cursor), limit=limit)
    streams = [stream_name(who.tenant, TOOL, tool_stream_id(found, name)) for found, name, _ in rows]
    states = await parts.batcher.states.read_many(streams)
    items = [shown(tool.latest, tool, shape) for tool in (states[stream] for stream in streams) if tool.latest]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(rows[-1][2]) if len(rows) == limit else None})


@router.get("/v1/tools/{name}", response_model=Shaped, responses=refusals(404))
async def get(
    name: str, parts: Wired, who: Annotated[Caller, caller("read")], scope: Scope = "tenant", shape: Format = None
) -> Response:
    """Read the latest version of a tool that is in use."""
    tool = await parts.resources.tool(who.tenant, scope, name)
    if tool.latest is None:
        raise NotFound(f"tool {name!r} was retired; its versions stay readable", "unknown_tool")
    return JsonResponse(shown(tool.latest, tool, shape), headers={"ETag": f'"{tool.latest.version}"'})


@router.delete("/v1/tools/{name}", response_model=ToolView, responses=refusals(404))
async def retire(name: str, parts: Wired, who: Annotated[Caller, caller("admin")], scope: Scope = "tenant") -> Response:
    """Take a tool out of use; its history stays readable."""
    decided = await parts.resources.retire(name, tenant=who.tenant, scope=scope, actor=who.actor)
    tool: Tool = decided.state
    return JsonResponse(shown(tool.versions[-1], tool, None))


@router.get("/v1/tools/{name}/versions", response_model=Page[ToolView], responses=refusals(404))
async def versions(
    name: str, parts: Wired, who: Annotated[Caller, caller("read")], scope: Scope = "tenant"
) -> Response:
    """Every version of a tool, the newest first."""
    tool = await parts.resources.tool(who.tenant, scope, name)
    return JsonResponse({"items": [shown(v, tool, None) for v in reversed(tool.versions)], "next_cursor": None})


@router.get("/v1/tools/{name}/versions/{number}", response_model=Shaped, responses=refusals(404))
async def version(
    name: str,
    number: int,
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    scope: Scope = "tenant",
    shape: Format = None,
) -> Response:
    """One version of a tool."""
    tool = await parts.resources.tool(who.tenant, scope, name)
    return JsonResponse(shown(tool.version(number), tool, shape))


@router.get("/v1/definitions/{definition_hash}", response_model=ToolView, responses=refusals(404))
async def definition_by_hash(definition_hash: str, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """The definition with this hash, whichever tool and version it belongs to."""
    stream = await parts.queries.definition_stream(who.tenant, definition_hash)
    if stream is not None:
        tool: Tool = (await parts.batcher.states.read_many([stream]))[stream]
        for found in tool.versions:
            if found.definition_hash == definition_hash:
                return JsonResponse(shown(found, tool, None))
    raise NotFound(f"there is no definition {definition_hash}")
