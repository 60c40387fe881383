"""
An MCP server made with the public SDK: over HTTP in a process that `serve` is called in, or as `server.py stdio`.

What it is to be stands in the environment when it starts: `JOURNAL` (a file that gets a line for each tool that ran),
`TOOLS` (how many it lists besides), `PAGE` (how many a page holds), `ERA` (`initialize`: it knows nothing of
2026-07-28), `EDITION` (its version, and which schemas it has), `ANSWERS` (`json`: no events).
"""

import os
import signal
import socket
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types import (
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    DiscoverResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    RequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
OTHER: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}}}
SUM: dict[str, Any] = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
WATCHED = ("echo", "add", "fail", "wait", "die", "ask", "large", "secret")


def edition() -> str:
    """Its version."""
    return os.environ.get("EDITION", "1")


def tool(name: str) -> Tool:
    """One tool as it is listed."""
    schema = OTHER if name == "echo" and edition() != "1" else TEXT
    hints = ToolAnnotations(read_only_hint=True) if name == "echo" else None
    output = SUM if name == "add" else None
    return Tool(name=name, description=f"{name} it", input_schema=schema, output_schema=output, annotations=hints)


async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    """A page of tools."""
    del context
    names = [*WATCHED, *(f"extra_{number}" for number in range(int(os.environ.get("TOOLS", "0"))))]
    start = int(params.cursor) if params is not None and params.cursor else 0
    behind = start + int(os.environ.get("PAGE", "50"))
    following = str(behind) if behind < len(names) else None
    return ListToolsResult(tools=[tool(name) for name in names[start:behind]], next_cursor=following)


async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    """Do it, once it stands in the journal."""
    given = params.arguments or {}
    note(params.name)
    match params.name:
        case "add":
            total = sum(given.get("terms", []))
            return CallToolResult(content=[said(str(total))], structured_content={"sum": total})
        case "fail":
            return CallToolResult(content=[said("it went wrong")], is_error=True)
        case "wait":
            await anyio.sleep(float(given["s"]))
            return CallToolResult(content=[said("waited")])
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
            return CallToolResult(content=[])
        case "ask":
            return asked(context, params, str(given.get("how", "city")), str(given.get("state", "begun")))
        case "large":
            return CallToolResult(content=[said("x" * int(given["size"]))])
        case "secret":
            return CallToolResult(content=[said(os.environ.get("TOKEN", "none"))])
        case _:
            return CallToolResult(content=[said(str(given.get("text")))])


def asked(context: Any, params: CallToolRequestParams, how: str, begun: str) -> CallToolResult | InputRequiredResult:
    """Ask before anything is done: for a city and then for a page to be looked at, or in another way."""
    if getattr(context, "protocol_version", "") < "2026":
        raise MCPError(-32042, "somebody has to sign in first")
    if how == "model":
        sampled = CreateMessageRequestParams(messages=[], max_tokens=1)
        return InputRequiredResult(input_requests={"thought": CreateMessageRequest(params=sampled)})
    if how == "later":
        if params.request_state is None:
            return InputRequiredResult(request_state="later")
        return CallToolResult(content=[said(params.request_state)])
    answers = {name: one for name, one in (params.input_responses or {}).items() if isinstance(one, ElicitResult)}
    if (page := answers.get("page")) is not None:
        return CallToolResult(content=[said(f"{page.action} {params.request_state}")], is_error=page.action != "accept")
    if (city := answers.get("city")) is not None:
        seen = ElicitRequestURLParams(message="Look at this", url="https://maps.example/")
        state = f"{params.request_state}/{(city.content or {})['text']}"
        return InputRequiredResult(input_requests={"page": ElicitRequest(params=seen)}, request_state=state)
    if context.session.client_capabilities.elicitation is None:
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "nobody can be asked")
    wanted = ElicitRequestFormParams(message="Which city?", requested_schema=TEXT)
    return InputRequiredResult(input_requests={"city": ElicitRequest(params=wanted)}, request_state=begun)


def note(name: str) -> None:
    """The tool stands in the journal."""
    with Path(os.environ.get("JOURNAL", os.devnull)).open("a") as journal:
        journal.write(f"{name}\n")


def said(text: str) -> TextContent:
    """A block of text."""
    return TextContent(text=text)


async def unknown(context: Any, params: RequestParams) -> DiscoverResult:
    """What a server answers that was made before 2026-07-28."""
    del context, params
    raise MCPError(METHOD_NOT_FOUND, "Method not found")


def made() -> Server[Any]:
    """The server, as the environment wants it."""
    server = Server("thing", version=edition(), on_list_tools=list_tools, on_call_tool=call_tool)
    if os.environ.get("ERA") == "initialize":
        server.add_request_handler("server/discover", RequestParams, unknown)
    return server


def serve(ready: Connection, port: int, env: Mapping[str, str]) -> None:
    """Serve over HTTP until killed, with these variables; once it listens it says so."""
    os.environ.update(env)
    app = made().streamable_http_app(json_response=os.environ.get("ANSWERS") == "json")
    bound = socket.create_server(("127.0.0.1", port))
    ready.send("listening")
    ready.close()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])


async def over_stdio() -> None:
    """Serve the one who started us."""
    server = made()
    async with stdio_server() as (read, write):
        if os.environ.get("ERA") == "initialize":  # the other loop holds on to the era of the first request
            await serve_loop(
                server, read, write, lifespan_state={}, init_options=server.create_initialization_options()
            )
        else:
            await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__" and sys.argv[1:] == ["stdio"]:
    anyio.run(over_stdio)
