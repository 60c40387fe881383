"""MCP servers and their tools on the whole path: put over HTTP, defined, called, approved, doubted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, until
from tests.integration.integrations.mcp.rig import Process


@pytest.fixture(scope="module")
def thing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """An MCP server over HTTP."""
    process = Process(tmp_path_factory.mktemp("mcp") / "journal")
    process.start()
    yield process
    process.kill()


def put(http: httpx.Client, name: str, **settings: Any) -> httpx.Response:
    """Put a server."""
    return http.put(f"/v1/mcp/servers/{name}", json=settings)


def tool(server: str, name: str, **more: Any) -> dict[str, Any]:
    """A definition of a tool of a server."""
    return {"name": fresh("mcp"), "mcp": {"server": server, "tool": name}, **more}


def test_a_server_is_a_resource(each_system: System) -> None:
    """Put, put again, listed, read and removed, on both databases; each tenant has its own."""
    http, other = (each_system.client(each_system.tokens[tenant]) for tenant in ("acme", "other"))
    name = fresh("server")
    settings = {"transport": "http", "url": "https://mcp.example.com/mcp", "bearer": "secret://token"}
    assert put(http, name, **settings).status_code == 201
    again = put(http, name, **settings, timeout_s=5)
    assert again.status_code == 200
    shown = http.get(f"/v1/mcp/servers/{name}").json()
    assert shown == again.json()
    assert shown.items() >= {**settings, "name": name, "pin": "pin", "timeout_s": 5.0}.items()
    assert name in {one["name"] for one in http.get("/v1/mcp/servers?limit=500").json()["items"]}
    problem_of(other.get(f"/v1/mcp/servers/{name}"), 404, "not_found")
    assert other.get("/v1/mcp/servers").json()["items"] == []
    assert http.delete(f"/v1/mcp/servers/{name}").json() == shown
    problem_of(http.delete(f"/v1/mcp/servers/{name}"), 404, "not_found")


def test_servers_are_listed_page_by_page(http: httpx.Client) -> None:
    """By name."""
    names = sorted(fresh("page") for _ in range(3))
    for name in names:
        put(http, name, transport="http", url="https://mcp.example.com")
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = http.get("/v1/mcp/servers", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += (one["name"] for one in page["items"])
        if (cursor := page["next_cursor"]) is None:
            break
    assert [name for name in found if name in names] == names
    assert found == sorted(found)


def test_what_is_no_server_is_refused_with_its_path(http: httpx.Client) -> None:
    """And a command that the operator has not listed is not run."""
    problem_of(put(http, "s", transport="http", url="ftp://x"), 422, "invalid_request", "/url")
    problem_of(put(http, "s", transport="http", url="https://x", pin="hard"), 422, "invalid_request", "/pin")
    problem_of(put(http, "s", transport="stdio", command="/bin/sh"), 403, "command_denied")
    problem_of(put(http, "a b", transport="http", url="https://x"), 422, "invalid_request", "/path/name")


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"bearer": "canary-token"}, "/bearer"),
        ({"headers": {"X-Team": "blue", "x-api-key": "canary-token"}}, "/headers/x-api-key"),
        ({"headers": {"Authorization": "Bearer canary-token"}}, "/headers/Authorization"),
    ],
)
def test_a_secret_that_is_written_out_in_a_server_is_refused(
    http: httpx.Client, settings: dict[str, Any], path: str
) -> None:
    """It could be read again by whoever operates; the answer says where it belongs, and not what it is."""
    answer = put(http, fresh("plain"), transport="http", url="https://x", **settings)
    problem_of(answer, 422, "invalid_request", path)
    assert "toolbus secrets set" in answer.text
    assert "canary" not in answer.text


def test_a_tool_of_a_server_is_defined_and_called(http: httpx.Client, thing: Process) -> None:
    """Its schema comes from the server; arguments are checked before anything is sent."""
    put(http, "thing", transport="http", url=thing.url)
    said = http.get("/v1/mcp/servers/thing/tools").json()
    assert {"echo", "add"} <= {one["name"] for one in said["tools"]}
    name = define(http, tool("thing", "echo"))
    shape = http.get(f"/v1/tools/{name}?format=openai").json()
    assert shape["function"]["parameters"]["properties"] == {"text": {"type": "string"}}
    assert shape["function"]["description"] == "echo it"
    ended = call(http, name, {"text": "grüße"})
    assert ended["status"] == "succeeded", ended
    assert ended["output"]["text"] == "grüße"
    refused = http.post("/v1/calls", json={"tool": name, "arguments": {"text": 7}})
    problem_of(refused, 422, "invalid_arguments", "/arguments/text")
    problem_of(http.put("/v1/tools/none", json={**tool("thing", "none"), "name": "none"}), 422, "invalid_definition")


def test_a_server_that_dies_of_a_call_leaves_a_doubt(http: httpx.Client, tmp_path: Path) -> None:
    """What hints say makes nothing safe to repeat: the call waits for somebody who knows; the tool ran once."""
    mortal = Process(tmp_path / "journal")
    mortal.start()
    try:
        put(http, "mortal", transport="http", url=mortal.url)
        name = define(http, tool("mortal", "die"))
        shown = call(http, name)
        assert shown["status"] == "in_doubt", shown
        assert mortal.ran() == ["die"]
    finally:
        mortal.kill()


def test_a_read_is_tried_again_when_the_server_comes_back(http: httpx.Client, tmp_path: Path) -> None:
    """A contract in the definition is a promise: such a call is sent again."""
    mortal = Process(tmp_path / "journal")
    mortal.start()
    try:
        put(http, "reading", transport="http", url=mortal.url)
        contract = {"effect": "read", "idempotency": "native"}
        retry = {"attempts": 50, "first_delay_s": 0.2, "factor": 1}
        name = define(http, tool("reading", "wait", contract=contract, retry=retry))
        shown = call(http, name, {"s": 1.5}, wait_s=0)
        until(lambda: mortal.ran() == ["wait"])
        mortal.kill()
        mortal.start()
        ended = until(lambda: _ended(http, shown["id"]), within_s=40)
        assert ended["status"] == "succeeded", ended
        assert mortal.ran() == ["wait", "wait"]
    finally:
        mortal.kill()


def test_an_approved_call_uses_the_secret_of_its_server(http: httpx.Client, thing: Process) -> None:
    """What was approved covers the generation of the token; another one voids it."""
    name = fresh("token")
    assert http.put(f"/v1/secrets/{name}", json={"value": "correct-horse-1"}).status_code == 200
    server = fresh("server")
    put(http, server, transport="http", url=thing.url, bearer=f"secret://{name}")
    guarded = define(http, tool(server, "echo", approval={"requester_may_approve": True}))
    assert _approved(http, call(http, guarded, {"text": "a"}, wait_s=2))["status"] == "succeeded"
    waiting = call(http, guarded, {"text": "b"}, wait_s=2)
    assert http.put(f"/v1/secrets/{name}", json={"value": "correct-horse-2"}).status_code == 200
    ended = _approved(http, waiting)
    assert ended["error"]["code"] == "approval_void", ended


def test_a_secret_is_bound_to_a_server_as_a_whole(http: httpx.Client, thing: Process) -> None:
    """Bound to one tool it is not used to ask what there is, and the answer says how it is bound to all of it."""
    server, name = fresh("bound"), fresh("secret").replace("-", "_")
    tools = f"/v1/mcp/servers/{server}/tools"
    put(http, server, transport="http", url=thing.url, bearer=f"secret://{name}")

    def bind(*users: str) -> None:
        assert http.put(f"/v1/secrets/{name}", json={"value": "correct-horse-3", "tools": users}).status_code == 200

    bind("one_tool", f"mcp:{server}_other")
    refused = problem_of(http.get(tools), 403, "secret_not_allowed")
    assert f"--tool mcp:{server}" in refused["detail"]
    problem_of(http.put("/v1/tools/any", json={**tool(server, "echo"), "name": "any"}), 422, "invalid_definition")
    assert http.put("/v1/tools/one_tool", json={**tool(server, "echo"), "name": "one_tool"}).status_code == 201
    bind("another_tool", f"mcp:{server}")
    assert "echo" in {one["name"] for one in http.get(tools).json()["tools"]}
    made = define(http, tool(server, "echo"))
    assert call(http, made, {"text": "a"})["status"] == "succeeded"
    assert call(http, "one_tool", {"text": "a"})["status"] == "succeeded"


def _approved(http: httpx.Client, shown: dict[str, Any]) -> dict[str, Any]:
    """The call as it ended after somebody agreed to it."""
    wait = shown["wait"]
    answer = http.post(f"/v1/waits/{wait['id']}/approve", json={"digest": wait["digest"]})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = until(lambda: _ended(http, shown["id"]))
    return found


def _ended(http: httpx.Client, call_id: str) -> dict[str, Any] | None:
    shown: dict[str, Any] = http.get(f"/v1/calls/{call_id}").json()
    return shown if shown["finished_at"] else None
