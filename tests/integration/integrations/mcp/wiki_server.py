"""
An MCP server as published examples ask for one, in a process that `serve` is called in.

`/mcp` is streamable HTTP, `/sse` the transport before it. The journal gets a line of JSON for each request and for
each tool that ran.
"""

import json
import os
import signal
import socket
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.types import Receive, Scope, Send

server = MCPServer("wiki")


def note(**line: Any) -> None:
    """It stands in the journal."""
    with Path(os.environ["JOURNAL"]).open("a") as journal:
        journal.write(json.dumps(line) + "\n")


@server.tool()
def read_wiki_structure(repoName: str) -> str:  # noqa: N803 - as published
    """Tell what there is to read; of `die` nobody hears any more."""
    note(tool="read_wiki_structure", arguments={"repoName": repoName})
    if repoName == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"1 Overview of {repoName}"


@server.tool()
def search_repositories(query: str, perPage: int = 30, *, minimal_output: bool = False) -> str:  # noqa: N803
    """Find repositories."""
    given = {"query": query, "perPage": perPage, "minimal_output": minimal_output}
    note(tool="search_repositories", arguments=given)
    return f"{perPage} of {query}"


def serve(ready: Connection, port: int, journal: str) -> None:
    """Serve both transports, each under its path, until killed; once it listens it says so."""
    os.environ["JOURNAL"] = journal
    over_http, over_sse = server.streamable_http_app(), server.sse_app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): text.decode() for name, text in scope["headers"]}
            note(path=scope["path"], authorization=headers.get("authorization"), cache=headers.get("cache-control"))
            if scope["path"].startswith(("/sse", "/messages")):
                await over_sse(scope, receive, send)
                return
        await over_http(scope, receive, send)

    bound = socket.create_server(("127.0.0.1", port))
    ready.send("listening")
    ready.close()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])
