"""An MCP server by hand, byte for byte: what a server made with a good library would never answer."""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.api_caller.raw_target import RawTarget, Seen, raw_target, reset, response

JSON = "Content-Type: application/json"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
TOOLS = (
    "echo",
    "reset",
    "half",
    "cut",
    "deny",
    "busy",
    "break",
    "garbage",
    "packed",
    "page",
    "mistaken",
    "away",
    "hang",
    "tell",
    "accept",
    "misfit",
    "huge",
)
HUGE = 256 * 1024  # letters
OUTPUT = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


class RawServer:
    """Speaks one era; `called` counts requests by the tool they call, `begun` the sessions that began."""

    def __init__(self, era: str) -> None:
        self._is_modern = era == "2026-07-28"
        self.called: Counter[str] = Counter()
        self.begun = 0
        self.headers: list[dict[str, str]] = []
        self.released = asyncio.Event()  # what hangs is answered once this is set
        self.refusal: bytes | None = None  # what everything is answered with, if anything
        self.target = RawTarget(self.answer)

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"{self.target.url}/mcp"

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, and say whether the connection stays."""
        self.headers.append({name.lower(): value for name, value in seen.headers})
        if not seen.line.startswith("POST "):
            writer.write(response(b"", status="405 Method Not Allowed"))
            return True
        if self.refusal is not None:
            writer.write(self.refusal)
            return True
        asked = json.loads(seen.body)
        match asked["method"]:
            case "server/discover":
                return self._discover(asked, writer)
            case "initialize":
                return self._initialize(asked, writer)
            case "tools/list":
                tools = [{"name": name, "inputSchema": {"type": "object"}, **outputs(name)} for name in TOOLS]
                return say(writer, result(asked, tools=tools, ttlMs=60_000, cacheScope="private"))
            case "tools/call":
                self.called[asked["params"]["name"]] += 1
                return await self._call(asked, seen, writer)
            case _:
                writer.write(response(b"", status="202 Accepted"))
                return True

    def _discover(self, asked: Any, writer: asyncio.StreamWriter) -> bool:
        if not self._is_modern:
            return say(writer, error(asked, -32601, "Method not found"), status="404 Not Found")
        self.begun += 1
        about = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        return say(writer, result(asked, **about, ttlMs=0, cacheScope="private"))

    def _initialize(self, asked: Any, writer: asyncio.StreamWriter) -> bool:
        self.begun += 1
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "raw", "version": "1"}}
        return say(writer, result(asked, **about), "Mcp-Session-Id: 1")

    async def _call(self, asked: Any, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        done = result(asked, content=[{"type": "text", "text": "done"}])
        match asked["params"]["name"]:
            case "reset":
                reset(writer)
                return False
            case "half":
                writer.write(response(json.dumps(done).encode(), JSON)[:-5])
                return False
            case "cut":
                writer.write(EVENTS + b": begun\n\n")
                return False
            case "deny":
                return say(writer, {}, status="401 Unauthorized")
            case "busy":
                return say(writer, {}, "Retry-After: 7", status="429 Too Many Requests")
            case "break":
                writer.write(response(b"<h1>sorry</h1>", "Content-Type: text/html", status="500 Internal Server Error"))
            case "garbage":
                writer.write(response(b"{no json", JSON))
            case "packed":
                writer.write(response(gzip.compress(json.dumps(done).encode()), JSON, "Content-Encoding: gzip"))
            case "page":
                writer.write(response(b"<h1>hello</h1>", "Content-Type: text/html"))
            case "mistaken":
                return say(writer, error(asked, -32602, "no such argument"), status="400 Bad Request")
            case "away":
                elsewhere = "Location: http://127.0.0.1:1/mcp"
                writer.write(response(b"", elsewhere, status="307 Temporary Redirect"))
            case "hang":
                await self.released.wait()
                return say(writer, done)
            case "tell":
                told = json.dumps(dict(seen.headers))
                return say(writer, result(asked, content=[{"type": "text", "text": told}]))
            case "misfit":
                content = {"id": dict(seen.headers)["Authorization"]}
                return say(writer, result(asked, content=[], structuredContent=content))
            case "huge":
                return say(writer, result(asked, content=[{"type": "text", "text": "x" * HUGE}]))
            case "accept":
                writer.write(response(b"", status="202 Accepted"))
            case _:
                return say(writer, done)
        return True


def outputs(name: str) -> dict[str, Any]:
    """What a tool gives, where it says so."""
    return {"outputSchema": OUTPUT} if name == "misfit" else {}


def say(writer: asyncio.StreamWriter, message: Any, *headers: str, status: str = "200 OK") -> bool:
    """Answer with JSON; the connection stays."""
    writer.write(response(json.dumps(message).encode(), JSON, *headers, status=status))
    return True


def result(asked: Any, **said: Any) -> dict[str, Any]:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": asked["id"], "result": {"resultType": "complete", **said}}


def error(asked: Any, code: int, message: str) -> dict[str, Any]:
    """The answer that says no."""
    return {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": message}}


@asynccontextmanager
async def raw_server(era: str) -> AsyncIterator[RawServer]:
    """The server, running."""
    server = RawServer(era)
    async with raw_target(server.answer) as target:
        server.target = target
        yield server
