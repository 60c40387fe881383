"""Both clients over real sockets: what is sent, what comes back, what is raised."""

import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request

import toolbus
from tests.unit.client import shapes
from tests.unit.client.conftest import MakeClient
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


def test_a_proxy_of_the_environment_is_not_asked_about_this_machine(
    httpserver: HTTPServer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is not sent through a proxy to a server that runs here."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    httpserver.expect_request("/v1/version").respond_with_json({"version": "1"})
    assert make_client().version() == "1"


def test_a_redirection_names_the_right_address(httpserver: HTTPServer, bus: Any) -> None:
    """The key is not sent on; whoever asked learns where to ask."""
    headers = {"location": "https://elsewhere.example.com/v1/me"}
    httpserver.expect_request("/v1/me").respond_with_data("", status=308, headers=headers)
    with pytest.raises(toolbus.UnexpectedAnswer, match="elsewhere"):
        bus.me()
