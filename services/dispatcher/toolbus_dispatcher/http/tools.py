"""`/v1/tools` and `/v1/definitions`: define, read in every model's shape, retire."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Fault, NotFound, Refused
from toolbus_contracts.keys import foreign_to
from toolbus_contracts.stored import CallContext, LevelId
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
from toolbus_dispatcher.core.merging import filled_by
from toolbus_dispatcher.core.refusing import NOT_YOURS
from toolbus_dispatcher.http.services import Services, Wired, caller
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


@dataclass(frozen=True)
class Shown:
    """How tools are wanted: as they are, or as a model reads them that calls them in a context."""

    shape: Format = None
    session: Annotated[LevelId | None, Query(description="hides what is stored for it")] = None
    task: Annotated[LevelId | None, Query(description="as session")] = None
    user: Annotated[LevelId | None, Query(description="as session")] = None
    agent: Annotated[LevelId | None, Query(description="as session")] = None

    async def of(self, parts: Services, who: Caller, found: Sequence[tuple[ToolVersion, Tool]]) -> list[dict[str, Any]]:
        """The versions as JSON. Raises: Refused, also when the caller may not name that context."""
        if self.shape is None:
            return [shown(version, tool) for version, tool in found]
        context = CallContext(session=self.session, task=self.task, user=self.user, agent=self.agent)
        if foreign := foreign_to(who.key, context):
            faults = tuple(Fault(f"/query/{level}", NOT_YOURS) for level, _ in foreign)
            raise Refused("forbidden", f"this key may not name that context: {NOT_YOURS}", faults)
        definitions = [version.definition for version, _ in found]
        stored = await parts.storing.for_models(who.tenant, context, definitions)
        return [
            format_tool(version.definition, self.shape, version.surface, filled_by(version.definition, values))
            for (version, _), values in zip(found, stored, strict=True)
        ]


def shown(version: ToolVersion, tool: Tool) -> dict[str, Any]:
    """A tool version as JSON."""
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
        shown(version, tool),
        status_code=201 if decided.events else 200,
        headers={"ETag": f'"{version.version}"'},
    )


@router.get("/v1/tools", response_model=Page[Shaped])
async def list_tools(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    how: Annotated[Shown, Depends()],
    scope: Annotated[ToolScope | None, Query()] = None,
    type_: Annotated[str | None, Query(alias="type")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List the tools in use, the newest definition first."""
    rows = await parts.queries.tools(who.tenant, scope=scope, type_=type_, before=decode_cursor(cursor), limit=limit)
    streams = [stream_name(who.tenant, TOOL, tool_stream_id(found, name)) for found, name, _ in rows]
    states = await parts.batcher.states.read_many(streams)
    found = [(tool.latest, tool) for tool in (states[stream] for stream in streams) if tool.latest]
    items = await how.of(parts, who, found)
    return JsonResponse({"items": items, "next_cursor": encode_cursor(rows[-1][2]) if len(rows) == limit else None})


@router.get("/v1/tools/{name}", response_model=Shaped, responses=refusals(404))
async def get(
    name: str,
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    how: Annotated[Shown, Depends()],
    scope: Scope = "tenant",
) -> Response:
    """Read the latest version of a tool that is in use."""
    tool = await parts.resources.tool(who.tenant, scope, name)
    if tool.latest is None:
        raise NotFound(f"tool {name!r} was retired; its versions stay readable", "unknown_tool")
    (item,) = await how.of(parts, who, [(tool.latest, tool)])
    return JsonResponse(item, headers={"ETag": f'"{tool.latest.version}"'})


@router.delete("/v1/tools/{name}", response_model=ToolView, responses=refusals(404))
async def retire(name: str, parts: Wired, who: Annotated[Caller, caller("admin")], scope: Scope = "tenant") -> Response:
    """Take a tool out of use; its history stays readable."""
    decided = await parts.resources.retire(name, tenant=who.tenant, scope=scope, actor=who.actor)
    tool: Tool = decided.state
    return JsonResponse(shown(tool.versions[-1], tool))


@router.get("/v1/tools/{name}/versions", response_model=Page[ToolView], responses=refusals(404))
async def versions(
    name: str, parts: Wired, who: Annotated[Caller, caller("read")], scope: Scope = "tenant"
) -> Response:
    """Every version of a tool, the newest first."""
    tool = await parts.resources.tool(who.tenant, scope, name)
    return JsonResponse({"items": [shown(v, tool) for v in reversed(tool.versions)], "next_cursor": None})


@router.get("/v1/tools/{name}/versions/{number}", response_model=Shaped, responses=refusals(404))
async def version(
    name: str,
    number: int,
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    how: Annotated[Shown, Depends()],
    scope: Scope = "tenant",
) -> Response:
    """One version of a tool."""
    tool = await parts.resources.tool(who.tenant, scope, name)
    (item,) = await how.of(parts, who, [(tool.version(number), tool)])
    return JsonResponse(item)


@router.get("/v1/definitions/{definition_hash}", response_model=ToolView, responses=refusals(404))
async def definition_by_hash(definition_hash: str, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """The definition with this hash, whichever tool and version it belongs to."""
    stream = await parts.queries.definition_stream(who.tenant, definition_hash)
    if stream is not None:
        tool: Tool = (await parts.batcher.states.read_many([stream]))[stream]
        for found in tool.versions:
            if found.definition_hash == definition_hash:
                return JsonResponse(shown(found, tool))
    raise NotFound(f"there is no definition {definition_hash}")
