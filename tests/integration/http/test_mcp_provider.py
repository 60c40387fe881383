"""The provider `mcp` of the shelf, in a process of its own: tools of any server are listed, and called by name."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.integration.http.system import call, define, fresh, problem_of
from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.rig import Process
from tests.integration.integrations.mcp.wiki import wiki


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


def test_the_transport_before_streamable_http_is_spoken(http: httpx.Client, tmp_path: Path) -> None:
    """Answers come over a stream of their own. What the protocol sets itself is left out of the headers."""
    with wiki(tmp_path) as server:
        headers = {"Accept": "text/event-stream", "content-type": "text/plain", "Cache-Control": "no-store"}
        setup = {"transport": "sse", "http_url": server.url("sse"), "http_headers": headers}
        section = {"provider": "mcp", "setup": setup}
        lister = {"name": fresh("shelf"), "integration": {**section, "method": "list_tools"}}
        caller = define(http, {"name": fresh("shelf"), "integration": {**section, "method": "call_tool"}})
        listed = call(http, define(http, lister), {}, wait_s=30)
        assert listed["status"] == "succeeded", listed
        assert [one["name"] for one in listed["output"]["tools"]] == ["read_wiki_structure", "search_repositories"]
        arguments = {"tool_name": "read_wiki_structure", "arguments": {"repoName": "a/b"}}
        for _ in range(2):
            called = call(http, caller, arguments, wait_s=30)
            assert (called["status"], called["output"]["text"]) == ("succeeded", "1 Overview of a/b"), called
        assert len(server.told(tool="read_wiki_structure", arguments={"repoName": "a/b"})) == 2
        assert {line["cache"] for line in server.told() if "path" in line} == {"no-store"}
        failed = call(http, caller, {"tool_name": "nothing"}, wait_s=30)
        assert failed["status"] == "failed", failed


def test_a_call_over_a_stream_that_breaks_is_in_doubt(http: httpx.Client, tmp_path: Path) -> None:
    """The server had it and died; nothing is sent where there is no server."""
    with wiki(tmp_path) as server:
        setup = {"transport": "sse", "http_url": server.url("sse")}
        section = {"provider": "mcp", "method": "call_tool", "setup": setup}
        caller = define(http, {"name": fresh("shelf"), "integration": section, "retry": {"attempts": 1}})
        arguments: dict[str, Any] = {"tool_name": "read_wiki_structure", "arguments": {"repoName": "die"}}
        broken = call(http, caller, arguments, wait_s=30)
        assert broken["status"] == "in_doubt", broken
        gone = call(http, caller, arguments, wait_s=30)
        assert (gone["status"], gone["error"]["code"]) == ("failed", "connection_failed"), gone
        assert len(server.told(tool="read_wiki_structure")) == 1


@pytest.mark.parametrize("is_taken", [False, True], ids=["refused", "taken and the stream ends"])
def test_a_session_that_cannot_begin_is_not_waited_for(http: httpx.Client, *, is_taken: bool) -> None:
    """The stream of answers stays open or ends, and what is asked is refused or taken: nothing was sent of the call."""
    over = threading.Event()

    def events() -> Iterator[bytes]:
        yield b"event: endpoint\ndata: /ask\n\n"
        over.wait(60)

    def asked(_: Request) -> Response:
        if is_taken:
            over.set()
        return Response(status=202 if is_taken else 403)

    with HTTPServer(host="127.0.0.1", port=0, threaded=True) as server:
        server.expect_request("/sse").respond_with_handler(lambda _: Response(events(), mimetype="text/event-stream"))
        server.expect_request("/ask").respond_with_handler(asked)
        setup = {"transport": "sse", "http_url": f"http://127.0.0.1:{server.port}/sse"}
        section = {"provider": "mcp", "method": "call_tool", "setup": setup}
        caller = define(http, {"name": fresh("shelf"), "integration": section, "retry": {"attempts": 1}})
        try:
            shown = call(http, caller, {"tool_name": "echo"}, wait_s=20)
        finally:
            over.set()
    assert (shown["status"], (shown["error"] or {}).get("code")) == ("failed", "connection_failed"), shown


def test_a_call_that_is_not_answered_in_time_is_in_doubt(http: httpx.Client, thing: Process) -> None:
    """It was sent, once."""
    before = thing.ran().count("wait")
    caller = define(http, tool(thing.url, "call_tool"))
    arguments = {"tool_name": "wait", "arguments": {"s": 600}, "timeout_seconds": 1}
    shown = call(http, caller, arguments, wait_s=30)
    assert shown["status"] == "in_doubt", shown
    assert thing.ran().count("wait") == before + 1


def test_a_server_that_asks_is_told_that_nobody_answers_here(http: httpx.Client, thing: Process) -> None:
    """It has done nothing; one of which more is wanted is put as a resource, whose calls can wait."""
    shown = call(http, define(http, tool(thing.url, "call_tool")), {"tool_name": "ask"}, wait_s=30)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "input_required"), shown
    assert shown["error"]["effect_happened"] == "no"


def test_setup_that_it_does_not_take_is_refused(http: httpx.Client) -> None:
    """A transport that is not spoken, when the tool is defined; headers that the protocol sets itself, when called."""
    for more in ({"transport": "stdio"}, {"command": "/bin/sh"}, {"http_url": "ftp://x"}):
        section = {"provider": "mcp", "method": "call_tool", "setup": {"http_url": "https://x", **more}}
        name = fresh("shelf")
        answer = http.put(f"/v1/tools/{name}", json={"name": name, "integration": section})
        problem_of(answer, 422, "invalid_definition")
    reserved = tool("https://x", "call_tool")
    reserved["integration"]["setup"]["http_headers"] = {"Mcp-Session-Id": "1"}
    shown = call(http, define(http, reserved), {"tool_name": "echo"}, wait_s=30)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "setup_invalid")
