"""`/v1/mcp/servers`: MCP servers by name, and what each of them says of its tools."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from toolbus_contracts.errors import NotFound
from toolbus_contracts.mcp import McpServerView, McpSurfaceView, PutMcpServer, ServerName
from toolbus_integrations.core.credentials import check_credentials
from toolbus_integrations.core.mcp_commands import check_command
from toolbus_integrations.http.services import Wired, caller
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["mcp"])
Admin = Annotated[Caller, caller("admin")]
Operator = Annotated[Caller, caller("operate")]


@router.put(
    "/v1/mcp/servers/{name}",
    response_model=McpServerView,
    responses={201: {"model": McpServerView, "description": "It is new"}, **refusals(403)},
    openapi_extra=body_of(PutMcpServer),
)
async def put(name: ServerName, request: Request, parts: Wired, who: Admin) -> Response:
    """Speak to an MCP server under this name from now on. Secrets stand in it as references."""
    body, _ = await read_object(request)
    settings = parsed(PutMcpServer, body)
    check_credentials(settings)
    check_command(settings, parts.mcp.allowed)
    view, is_new = await parts.mcp.servers.put(who.tenant, name, settings, datetime.now(UTC))
    return _told(view, 201 if is_new else 200)


@router.get("/v1/mcp/servers", response_model=Page[McpServerView])
async def list_servers(
    parts: Wired,
    who: Operator,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List MCP servers by name."""
    start = decode_cursor(cursor) or 0
    found = await parts.mcp.servers.listed(who.tenant, offset=start, limit=limit + 1)
    items = [view.model_dump(mode="json", exclude_none=True) for view in found[:limit]]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(start + limit) if len(found) > limit else None})


@router.get("/v1/mcp/servers/{name}", response_model=McpServerView, responses=refusals(404))
async def get(name: ServerName, parts: Wired, who: Operator) -> Response:
    """Read one MCP server."""
    return _told(_there(await parts.mcp.servers.get(who.tenant, name), name))


@router.delete("/v1/mcp/servers/{name}", response_model=McpServerView, responses=refusals(404))
async def remove(name: ServerName, parts: Wired, who: Admin) -> Response:
    """Speak to it no more; tools of it fail from now on."""
    return _told(_there(await parts.mcp.servers.remove(who.tenant, name), name))


@router.get("/v1/mcp/servers/{name}/tools", response_model=McpSurfaceView, responses=refusals(403, 404, 503))
async def list_tools(name: ServerName, parts: Wired, who: Operator) -> Response:
    """Ask the server what it is and which tools it has, now. Its hints about their effects are claims of its own."""
    said = await parts.mcp.describing.listed(who.tenant, name)
    return JsonResponse(said.model_dump(mode="json", exclude_none=True))


def _there(view: McpServerView | None, name: str) -> McpServerView:
    if view is None:
        raise NotFound(f"there is no MCP server {name}")
    return view


def _told(view: McpServerView, status: int = 200) -> Response:
    return JsonResponse(view.model_dump(mode="json", exclude_none=True), status_code=status)
