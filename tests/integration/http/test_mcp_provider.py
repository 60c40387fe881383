"""The provider `mcp` of the shelf, in a process of its own: tools of any server are listed, and called by name."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.http.system import call, define, fresh, problem_of
from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.rig import Process


@pytest.fixture(scope="module", params=ERAS)
def thing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """An MCP server over HTTP that speaks one era."""
    process = Process(tmp_path_factory.mktemp("mcp") / "journal", {"ERA": str(request.param)})
    process.start()
    yield process
    process.kill()


def tool(url: str, method: str, **more: Any) -> dict[str, Any]:
    """A definition that goes to the server at this url."""
    setup = {"transport": "http", "http_url": url}
    return {"name": fresh("shelf"), "integration": {"provider": "mcp", "method": method, "setup": setup}, **more}


def test_tools_are_listed_and_called_by_name(http: httpx.Client, thing: Process) -> None:
    """In both eras; what the tool reports as an error has failed."""
    listed = call(http, define(http, tool(thing.url, "list_tools")), {}, wait_s=30)
    assert listed["status"] == "succeeded", listed
    assert {"echo", "add"} <= {one["name"] for one in listed["output"]["tools"]}
    caller = define(http, tool(thing.url, "call_tool"))
    summed = call(http, caller, {"tool_name": "add", "arguments": {"terms": [1, 2]}}, wait_s=30)
    assert summed["status"] == "succeeded", summed
    assert (summed["output"]["text"], summed["output"]["structured"]) == ("3", {"sum": 3})
    failed = call(http, caller, {"tool_name": "fail"}, wait_s=30)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "tool_error")
    assert thing.ran() == ["add", "fail"]


def test_a_call_that_is_not_answered_in_time_is_in_doubt(http: httpx.Client, thing: Process) -> None:
    """It was sent, once."""
    before = thing.ran().count("wait")
    caller = define(http, tool(thing.url, "call_tool"))
    arguments = {"tool_name": "wait", "arguments": {"s": 600}, "timeout_seconds": 1}
    shown = call(http, caller, arguments, wait_s=30)
    assert shown["status"] == "in_doubt", shown
    assert thing.ran().count("wait") == before + 1


def test_setup_that_it_does_not_take_is_refused(http: httpx.Client) -> None:
    """A transport that is not spoken, when the tool is defined; headers that the protocol sets itself, when called."""
    for more in ({"transport": "sse"}, {"command": "/bin/sh"}, {"http_url": "ftp://x"}):
        section = {"provider": "mcp", "method": "call_tool", "setup": {"http_url": "https://x", **more}}
        name = fresh("shelf")
        answer = http.put(f"/v1/tools/{name}", json={"name": name, "integration": section})
        problem_of(answer, 422, "invalid_definition")
    reserved = tool("https://x", "call_tool")
    reserved["integration"]["setup"]["http_headers"] = {"Mcp-Session-Id": "1"}
    shown = call(http, define(http, reserved), {"tool_name": "echo"}, wait_s=30)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "setup_invalid")
