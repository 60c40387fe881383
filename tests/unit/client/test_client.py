"""Both clients over real sockets: what is sent, what comes back, what is raised."""

import inspect
import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import toolbus
from tests.unit.client import shapes
from tests.unit.client.conftest import MakeClient
from toolbus import AsyncClient, Client
from toolbus.client import async_resources, sync_resources
from toolbus_contracts.tools import ToolDefinition

PROBLEM = "application/problem+json"


def body(httpserver: HTTPServer, number: int = -1) -> Any:
    """The JSON of a request that was received."""
    return json.loads(httpserver.log[number][0].get_data())


def sent(httpserver: HTTPServer, number: int = -1) -> Request:
    """A request that was received."""
    return httpserver.log[number][0]


def test_call_gives_the_output(httpserver: HTTPServer, bus: Any) -> None:
    """Keywords are the arguments; the key is sent; fields of a newer server are left out."""
    httpserver.expect_request("/v1/calls", method="POST").respond_with_json(shapes.call())
    assert bus.call("get_weather", city="Berlin", wait=10).output == shapes.call()["output"]
    asked = body(httpserver)
    assert (asked["tool"], asked["arguments"]) == ("get_weather", {"city": "Berlin"})
    assert asked["idempotency_key"].startswith("client-")
    assert sent(httpserver).args["wait_s"] == "10"
    assert sent(httpserver).headers["authorization"] == "Bearer tb_test"
    assert sent(httpserver).headers["user-agent"].startswith("toolbus-python/")


def test_no_name_of_an_argument_is_lost(httpserver: HTTPServer, bus: Any) -> None:
    """`tool`, `self`, `priority` are arguments; `wait` and `options` go through `arguments`."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.call())
    bus.call("t", arguments={"wait": "long", "options": 1}, tool="hammer", self=1, priority="high", labels=["a"])
    expected = {"wait": "long", "options": 1, "tool": "hammer", "self": 1, "priority": "high", "labels": ["a"]}
    assert body(httpserver)["arguments"] == expected


def test_options_are_told_apart_from_arguments(httpserver: HTTPServer, bus: Any) -> None:
    """What is said about the call stands beside its arguments."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.call())
    options = {"idempotency_key": "order-7", "labels": {"team": "ops"}, "priority": 9}
    bus.call("t", city="Berlin", options=options)
    assert body(httpserver) == {"tool": "t", "arguments": {"city": "Berlin"}, **options}
    bus.submit("t", {"city": "Berlin"}, **options)
    assert body(httpserver) == {"tool": "t", "arguments": {"city": "Berlin"}, **options}


def test_a_definition_may_come_with_the_call(httpserver: HTTPServer, bus: Any) -> None:
    """Inline tools are sent as their owner wrote them."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.call())
    bus.submit(ToolDefinition.model_validate(shapes.definition()))
    assert body(httpserver)["tool"] == shapes.definition()


def test_dates_and_models_are_written_and_nan_is_refused(httpserver: HTTPServer, bus: Any) -> None:
    """What has a form in JSON gets it; what has none is an error before anything is sent."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.call())
    bus.submit("t", {"when": datetime(2026, 1, 2, tzinfo=UTC)})
    assert body(httpserver)["arguments"] == {"when": "2026-01-02T00:00:00Z"}
    for value in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            bus.submit("t", {"x": value})
    assert len(httpserver.log) == 1


def test_submit_never_raises_for_what_became_of_the_call(httpserver: HTTPServer, bus: Any) -> None:
    """It hands out the call as it stands."""
    httpserver.expect_request("/v1/calls").respond_with_json(shapes.call(status="failed", error=shapes.error()))
    assert bus.submit("t", wait=5).error.code == "http_status"


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "unauthenticated", toolbus.NotAllowed),
        (403, "forbidden", toolbus.NotAllowed),
        (404, "unknown_tool", toolbus.NotFound),
        (409, "idempotency_key_reused", toolbus.Conflict),
        (412, "version_mismatch", toolbus.Conflict),
        (413, "body_too_large", toolbus.Invalid),
        (422, "invalid_arguments", toolbus.Invalid),
        (429, "over_limit", toolbus.Unavailable),
        (500, "internal", toolbus.ServerFault),
        (503, "unavailable", toolbus.Unavailable),
    ],
)
def test_problems_are_typed(
    httpserver: HTTPServer, bus: Any, *, status: int, code: str, error: type[toolbus.Problem]
) -> None:
    """Status chooses the class; code, details, next step, instance and call id come along."""
    told = shapes.problem(
        code, status, errors=[{"path": "/arguments/city", "message": "is required"}], call_id="call_x"
    )
    httpserver.expect_request("/v1/calls").respond_with_json(told, status=status, content_type=PROBLEM)
    with pytest.raises(error) as caught:
        bus.call("t")
    found = caught.value
    assert (found.code, found.message, found.status) == (code, f"it is {code}", status)
    assert found.details == (("/arguments/city", "is required"),)
    assert (found.next_step, found.instance, found.call_id) == (f"mend {code}", "/requests/1", "call_x")
    assert "/arguments/city: is required" in str(found)
    assert f"mend {code}" in str(found)
    assert len(httpserver.log) == 1


@pytest.mark.parametrize("text", ["<html>sorry</html>", "", "[]"])
def test_an_error_page_of_something_else_is_still_an_error(httpserver: HTTPServer, bus: Any, text: str) -> None:
    """A proxy in between writes no problem documents."""
    httpserver.expect_request("/v1/me").respond_with_data(text, status=500, content_type="text/html")
    with pytest.raises(toolbus.ServerFault, match="HTTP 500") as caught:
        bus.me()
    assert "address" in caught.value.next_step


@pytest.mark.parametrize("text", ["<html>hello</html>", "[]", "null", '{"id": 1}', '{"items": 5}'])
def test_an_answer_of_something_else_is_told(httpserver: HTTPServer, bus: Any, text: str) -> None:
    """Another program on that port is not taken for Toolbus."""
    httpserver.expect_request("/v1/calls/x").respond_with_data(text, content_type="application/json")
    httpserver.expect_request("/v1/calls").respond_with_data(text, content_type="application/json")
    httpserver.expect_request("/v1/version").respond_with_data(text, content_type="application/json")
    for ask in (lambda: bus.get("x"), bus.calls, bus.version):
        with pytest.raises(toolbus.UnexpectedAnswer):
            ask()


def test_busy_is_waited_out_with_the_same_body(httpserver: HTTPServer, bus: Any) -> None:
    """503 with Retry-After is no failure yet; the minted key makes the repetition safe."""
    told = json.dumps(shapes.problem("busy", 503))
    httpserver.expect_ordered_request("/v1/calls").respond_with_data(
        told, status=503, content_type=PROBLEM, headers={"retry-after": "0"}
    )
    httpserver.expect_ordered_request("/v1/calls").respond_with_json(shapes.call())
    bus.call("t")
    assert body(httpserver, 0) == body(httpserver, 1)


class Breaking:
    """A server that reads requests and drops the connection, so many times, before it answers."""

    def __init__(self, drops: int) -> None:
        self.drops = drops
        self.requests: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.requests.append(_whole_request(connection))
                if len(self.requests) > self.drops:
                    told = json.dumps(shapes.call()).encode()
                    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(told)}\r\n\r\n"
                    connection.sendall(head.encode() + told)

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


def _whole_request(connection: socket.socket) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += connection.recv(65536)
    head, _, body_read = raw.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body_read) < length:
        body_read += connection.recv(65536)
    return head + b"\r\n\r\n" + body_read


@pytest.fixture
def breaking() -> Iterator[Breaking]:
    """Drops the first two connections."""
    server = Breaking(2)
    yield server
    server.close()


def test_lost_answers_do_not_submit_twice(breaking: Breaking, make_client: MakeClient) -> None:
    """The request is sent again under the key that it already had."""
    assert make_client(breaking.url).call("t", city="Berlin").status == "succeeded"
    keys = {json.loads(raw.split(b"\r\n\r\n", 1)[1])["idempotency_key"] for raw in breaking.requests}
    assert len(breaking.requests) == 3
    assert len(keys) == 1


def test_what_is_not_repeatable_is_sent_once(breaking: Breaking, make_client: MakeClient) -> None:
    """A key is not made twice because an answer was lost."""
    with pytest.raises(toolbus.Unreachable, match="may have been taken"):
        make_client(breaking.url).keys.create("user:ana", ["read"])
    assert len(breaking.requests) == 1


def test_nobody_there_is_told(make_client: MakeClient) -> None:
    """A closed port is unreachable, and says where to look."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(toolbus.Unreachable) as caught:
        make_client(f"http://127.0.0.1:{port}").me()
    assert "toolbus up" in caught.value.next_step


def test_wait_for_asks_until_the_end(httpserver: HTTPServer, bus: Any) -> None:
    """An open call is asked for again."""
    for _ in range(2):
        httpserver.expect_ordered_request(f"/v1/calls/{shapes.CALL}").respond_with_json(shapes.open_call())
    httpserver.expect_ordered_request(f"/v1/calls/{shapes.CALL}").respond_with_json(shapes.call())
    assert bus.wait_for(shapes.CALL, wait=5).status == "succeeded"


def test_calls_are_listed_over_pages_with_every_filter(httpserver: HTTPServer, bus: Any) -> None:
    """Filters are sent as documented, and again with every page."""
    pages = iter([shapes.page(shapes.call(id="a"), next_cursor="n"), shapes.page(shapes.call(id="b"))])
    httpserver.expect_request("/v1/calls").respond_with_handler(lambda _: Response(json.dumps(next(pages))))
    found = bus.calls(
        status="failed",
        tool="t",
        type="api_call",
        execution_id="e",
        external_id="x",
        labels={"a": "1", "b": "2"},
        since=datetime(2026, 1, 1, tzinfo=UTC),
        include=["arguments", "output"],
    )
    assert [call.id for call in found] == ["a", "b"]
    asked = sent(httpserver).args
    assert asked.getlist("label") == ["a:1", "b:2"]
    assert asked.to_dict() == {
        "status": "failed",
        "tool": "t",
        "type": "api_call",
        "execution_id": "e",
        "external_id": "x",
        "since": "2026-01-01T00:00:00+00:00",
        "include": "arguments,output",
        "label": "a:1",
        "limit": "500",
        "cursor": "n",
    }


def test_small_requests(httpserver: HTTPServer, bus: Any) -> None:
    """Each method asks its endpoint and reads its view."""
    expect = httpserver.expect_request
    expect(f"/v1/calls/{shapes.CALL}/cancel", method="POST").respond_with_json(shapes.call(status="cancelled"))
    expect(f"/v1/calls/{shapes.CALL}/settle", method="POST").respond_with_json(shapes.call())
    expect("/v1/me").respond_with_json(
        {"tenant": "default", "subject": "user:ana", "roles": [], "scopes": ["read"], "key_id": "key_1"}
    )
    expect("/v1/version").respond_with_json({"version": "1.2.3"})
    expect("/readyz").respond_with_json(
        {"ready": False, "checks": [{"name": "n", "ok": False, "detail": "d"}]}, status=503
    )
    expect("/v1/events").respond_with_json(shapes.page(shapes.event(8)))
    assert bus.cancel(shapes.CALL, "no longer wanted").status == "cancelled"
    assert body(httpserver) == {"reason": "no longer wanted"}
    assert bus.settle(shapes.CALL, "succeeded", note="saw it", output={"a": 1}).status == "succeeded"
    assert body(httpserver) == {"outcome": "succeeded", "note": "saw it", "output": {"a": 1}}
    assert bus.me().subject == "user:ana"
    assert bus.version() == "1.2.3"
    assert not bus.readiness().ready
    assert [event.position for event in bus.events(7, category="call")] == [8]
    assert sent(httpserver).args.to_dict() == {"after": "7", "category": "call", "limit": "500"}


def test_tools(httpserver: HTTPServer, bus: Any) -> None:
    """Registering tells what it came to; versions, formats and scopes are asked for as documented."""
    expect = httpserver.expect_request
    applied = iter([(shapes.tool(), 201), (shapes.tool(version=2), 201), (shapes.tool(version=2), 200)])

    def answer(_: Request) -> Response:
        told, status = next(applied)
        return Response(json.dumps(told), status=status, content_type="application/json")

    expect("/v1/tools/get_weather", method="PUT").respond_with_handler(answer)
    outcomes = [bus.tools.apply(shapes.definition(), scope="agent:a").outcome for _ in range(3)]
    assert outcomes == ["created", "updated", "unchanged"]
    assert (body(httpserver), sent(httpserver).args["scope"]) == (shapes.definition(), "agent:a")
    expect("/v1/tools", query_string={"limit": "500"}).respond_with_json(shapes.page(shapes.tool()))
    expect("/v1/tools", query_string="format=openai&limit=500").respond_with_json(shapes.page({"type": "function"}))
    expect("/v1/tools/get_weather", method="GET").respond_with_json(shapes.tool())
    expect("/v1/tools/get_weather/versions/3").respond_with_json(shapes.tool(version=3))
    expect("/v1/tools/get_weather/versions").respond_with_json(shapes.page(shapes.tool()))
    expect("/v1/tools/get_weather", method="DELETE").respond_with_json(shapes.tool(retired_at=shapes.at(9)))
    assert [tool.name for tool in bus.tools.list()] == ["get_weather"]
    assert bus.tools.formatted("openai") == [{"type": "function"}]
    assert bus.tools.get("get_weather").version == 1
    assert bus.tools.get("get_weather@3").version == 3
    assert len(bus.tools.versions("get_weather")) == 1
    assert bus.tools.retire("get_weather").retired_at is not None


def test_an_expected_version_is_sent_and_makes_applying_unrepeatable(httpserver: HTTPServer, bus: Any) -> None:
    """If-Match names the version that the change was made for."""
    httpserver.expect_request("/v1/tools/get_weather").respond_with_json(shapes.tool(version=4), status=201)
    bus.tools.apply(shapes.definition(), expected_version=3)
    assert sent(httpserver).headers["if-match"] == '"3"'


def test_executions(httpserver: HTTPServer, bus: Any) -> None:
    """Each method asks its endpoint and reads its view."""
    expect, path = httpserver.expect_request, f"/v1/executions/{shapes.EXECUTION}"
    expect("/v1/executions", method="POST").respond_with_json(shapes.execution(status="running"), status=201)
    expect("/v1/executions", method="GET").respond_with_json(shapes.page(shapes.execution()))
    expect(path).respond_with_json(shapes.execution())
    expect(f"{path}/finish", method="POST").respond_with_json(shapes.execution(status="failed"))
    expect(f"{path}/cancel", method="POST").respond_with_json(shapes.execution(status="cancelled"))
    expect(f"{path}/transitions").respond_with_json(shapes.page(shapes.transition()))
    expect(f"{path}/events").respond_with_json(shapes.page(shapes.event(3)))
    assert bus.executions.start(labels={"a": "b"}, scopes=["task:t"], parent="p", input=[1]).status == "running"
    assert body(httpserver) == {"labels": {"a": "b"}, "scopes": ["task:t"], "parent": "p", "input": [1]}
    assert len(bus.executions.list(status="running", labels={"a": "b"})) == 1
    assert bus.executions.get(shapes.EXECUTION, at=17).status == "succeeded"
    assert sent(httpserver).args["at"] == "17"
    assert bus.executions.finish(shapes.EXECUTION, "failed", output=1).status == "failed"
    assert body(httpserver) == {"status": "failed", "output": 1}
    assert bus.executions.cancel(shapes.EXECUTION).status == "cancelled"
    assert bus.executions.transitions(shapes.EXECUTION)[0].type == "step"
    assert bus.executions.events(shapes.EXECUTION, after=2)[0].position == 3


def test_following_over_a_real_stream(httpserver: HTTPServer, bus: Any) -> None:
    """The stream breaks off, is opened again behind the last position, and ends with the execution."""
    path = f"/v1/executions/{shapes.EXECUTION}"
    for status in ("running", "running", "succeeded"):
        httpserver.expect_oneshot_request(path).respond_with_json(shapes.execution(status=status))
    pieces = iter([shapes.sse(shapes.event(1)), shapes.sse(shapes.event(2, "call.succeeded.v1"))])
    httpserver.expect_request(f"{path}/events/stream").respond_with_handler(
        lambda _: Response(next(pieces), content_type="text/event-stream")
    )
    httpserver.expect_request(f"{path}/events").respond_with_json(shapes.page())
    assert [event.position for event in bus.executions.follow(shapes.EXECUTION)] == [1, 2]
    resumed = [request.headers["last-event-id"] for request, _ in httpserver.log if request.path.endswith("stream")]
    assert resumed == ["0", "1"]


def test_keys(httpserver: HTTPServer, bus: Any) -> None:
    """The token comes once; lists never hold it."""
    httpserver.expect_request("/v1/keys", method="POST").respond_with_json(shapes.key(token="tb_new"), status=201)
    httpserver.expect_request("/v1/keys", method="GET").respond_with_json(shapes.page(shapes.key()))
    httpserver.expect_request("/v1/keys/key_1", method="DELETE").respond_with_json(shapes.key(revoked_at=shapes.at(1)))
    made = bus.keys.create("user:ana", ["read"], roles=["ops"], expires_at=datetime(2027, 1, 1, tzinfo=UTC))
    assert made.token == "tb_new"
    assert body(httpserver) == {
        "subject": "user:ana",
        "scopes": ["read"],
        "roles": ["ops"],
        "tools": None,
        "expires_at": "2027-01-01T00:00:00+00:00",
    }
    assert [key.id for key in bus.keys.list()] == ["key_1"]
    assert bus.keys.revoke("key_1").revoked_at is not None


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_id_cannot_lead_elsewhere(bus: Any, name: str) -> None:
    """What is no id is refused before anything is sent."""
    with pytest.raises(toolbus.ClientError, match="no id or name"):
        bus.get(name)


def test_an_id_is_one_part_of_the_path(httpserver: HTTPServer, bus: Any) -> None:
    """Slashes and question marks in it are no syntax."""
    httpserver.expect_request("/v1/calls/a/b?c").respond_with_json(shapes.call())
    bus.get("a/b?c")
    assert sent(httpserver).environ["RAW_URI"] == "/v1/calls/a%2Fb%3Fc"


@pytest.mark.parametrize(
    ("sync", "asynchronous"),
    [
        (Client, AsyncClient),
        (sync_resources.Tools, async_resources.Tools),
        (sync_resources.Executions, async_resources.Executions),
        (sync_resources.Keys, async_resources.Keys),
    ],
)
def test_both_clients_have_the_same_face(sync: type, asynchronous: type) -> None:
    """Every method of one is a method of the other, with the same parameters and the same words."""
    for name, method in inspect.getmembers(sync, inspect.isfunction):
        if not name.startswith("__"):
            other = getattr(asynchronous, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters), name
            assert (method.__doc__, bool(method.__doc__)) == (other.__doc__, True)
    assert _public(sync) == _public(asynchronous)


def _public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}
