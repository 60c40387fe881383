"""What a server says of a failure is cut: no cut leaves the beginning of a secret behind."""

import asyncio
import json
from typing import Any

import pytest

from tests.integration.api_caller.raw_target import Seen, raw_target, response
from tests.integration.integrations.mcp.rig import rigged
from toolbus_integrations.core.mcp_answers import MAX_MESSAGE_CHARS
from toolbus_integrations.mcp.exchange import MAX_EXCERPT_BYTES

VALUE = "s" * 20 + "-not-the-half-of-it-" + "t" * 20
JSON = "Content-Type: application/json"
BEGUN = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "thing", "version": "1"},
}
TOOLS = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}


def told(way: str, words: str) -> dict[str, Any]:
    """What the server answers to a call."""
    if way == "tool":
        return {"result": {"content": [{"type": "text", "text": words}], "isError": True}}
    return {"error": {"code": -32000 - 5, "message": words}}


@pytest.mark.parametrize("shown", [10, 30, 59])
@pytest.mark.parametrize("way", ["tool", "rpc", "status"])
async def test_what_a_server_says_is_searched_before_it_is_cut(way: str, shown: int) -> None:
    """In the words of its tool, in an error of the protocol, and in what stands behind an error status."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        asked = json.loads(seen.body) if seen.body else {}
        match asked.get("method"):
            case "initialize":
                said: dict[str, Any] = {"result": BEGUN}
            case "tools/list":
                said = {"result": TOOLS}
            case "tools/call" if way == "status":
                writer.write(response(b"." * (MAX_EXCERPT_BYTES - shown) + VALUE.encode(), status="403 Forbidden"))
                return True
            case "tools/call":
                said = told(way, "." * (MAX_MESSAGE_CHARS - shown) + VALUE)
            case None | "notifications/initialized":
                writer.write(response(b"", status="202 Accepted" if asked else "405 Method Not Allowed"))
                return True
            case _:
                said = {"error": {"code": -32601, "message": "no such method"}}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}).encode()
        writer.write(response(body, JSON))
        return True

    async with raw_target(answering) as target, rigged(secrets={"key": VALUE}) as rig:
        rig.put(transport="http", url=f"{target.url}/mcp", headers={"X-Key": "secret://key"})
        found = await rig.call("ask")
    assert found.error is not None
    assert found.error.code in {"tool_error", "mcp_error", "http_status"}
    assert VALUE[:5] not in found.error.model_dump_json()
