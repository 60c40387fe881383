"""
An MCP server made with the public SDK, as a program: `server.py stdio` or `server.py PORT`.

What it is to be stands in the environment: `JOURNAL` (a file that gets a line for each tool that ran), `TOOLS` (how
many it lists besides), `PAGE` (how many a page holds), `ERA` (`initialize`: it knows nothing of 2026-07-28),
`EDITION` (its version, and which schemas it has), `ANSWERS` (`json`: no events).
"""

import os
import signal
import socket
import sys
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
    CallToolRequestParams,
    CallToolResult,
    DiscoverResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    RequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

JOURNAL = Path(os.environ.get("JOURNAL", os.devnull))
EDITION = os.environ.get("EDITION", "1")
PAGE = int(os.environ.get("PAGE", "50"))
TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
OTHER: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}}}
SUM: dict[str, Any] = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
WATCHED = ("echo", "add", "fail", "wait", "die", "ask", "large", "secret")
NAMES = [*WATCHED, *(f"extra_{number}" for number in range(int(os.environ.get("TOOLS", "0"))))]


def tool(name: str) -> Tool:
    """One tool as it is listed."""
    schema = OTHER if name == "echo" and EDITION != "1" else TEXT
    hints = ToolAnnotations(read_only_hint=True) if name == "echo" else None
    output = SUM if name == "add" else None
    return Tool(name=name, description=f"{name} it", input_schema=schema, output_schema=output, annotations=hints)


async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    """A page of tools."""
    del context
    start = int(params.cursor) if params is not None and params.cursor else 0
    behind = start + PAGE
    following = str(behind) if behind < len(NAMES) else None
    return ListToolsResult(tools=[tool(name) for name in NAMES[start:behind]], next_cursor=following)


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
            if getattr(context, "protocol_version", "") < "2026":
                raise MCPError(-32042, "somebody has to sign in first")
            wanted = ElicitRequestFormParams(message="Which city?", requested_schema=TEXT)
            return InputRequiredResult(input_requests={"city": ElicitRequest(params=wanted)})
        case "large":
            return CallToolResult(content=[said("x" * int(given["size"]))])
        case "secret":
            return CallToolResult(content=[said(os.environ.get("TOKEN", "none"))])
        case _:
            return CallToolResult(content=[said(str(given.get("text")))])


def note(name: str) -> None:
    """The tool stands in the journal."""
    with JOURNAL.open("a") as journal:
        journal.write(f"{name}\n")


def said(text: str) -> TextContent:
    """A block of text."""
    return TextContent(text=text)


async def unknown(context: Any, params: RequestParams) -> DiscoverResult:
    """What a server answers that was made before 2026-07-28."""
    del context, params
    raise MCPError(METHOD_NOT_FOUND, "Method not found")


def main() -> None:
    """Serve until told to stop."""
    server = Server("thing", version=EDITION, on_list_tools=list_tools, on_call_tool=call_tool)
    if os.environ.get("ERA") == "initialize":
        server.add_request_handler("server/discover", RequestParams, unknown)
    if sys.argv[1] == "stdio":
        anyio.run(over_stdio, server)
        return
    app = server.streamable_http_app(json_response=os.environ.get("ANSWERS") == "json")
    bound = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])


async def over_stdio(server: Server[Any]) -> None:
    """Serve the one who started us."""
    async with stdio_server() as (read, write):
        if os.environ.get("ERA") == "initialize":  # the other loop holds on to the era of the first request
            await serve_loop(
                server, read, write, lifespan_state={}, init_options=server.create_initialization_options()
            )
        else:
            await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    main()
