"""Both clients, resource by resource: what each method asks for and what it reads."""

import inspect
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import toolbus
from tests.unit.client import shapes
from toolbus import AsyncClient, Client
from toolbus.client import async_resources, sync_resources
from toolbus.client.requests.dead import redrive_letter
from toolbus_contracts.tools import Limits


def body(httpserver: HTTPServer) -> Any:
    """The JSON of the request that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def sent(httpserver: HTTPServer) -> Request:
    """The request that was received last."""
    return httpserver.log[-1][0]


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
    of_ana = {"format": "openai", "limit": "500", "user": "ana"}
    expect("/v1/tools", query_string=of_ana).respond_with_json(shapes.page({"type": "of ana"}))
    assert bus.tools.formatted("openai", context={"user": "ana"}) == [{"type": "of ana"}]
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
    limits = Limits(concurrency=3)
    until = datetime(2027, 1, 1, tzinfo=UTC)
    made = bus.keys.create("user:ana", ["read"], roles=["ops"], contexts=["agent:a"], expires_at=until, limits=limits)
    assert made.token == "tb_new"
    assert body(httpserver) == {
        "subject": "user:ana",
        "scopes": ["read"],
        "roles": ["ops"],
        "tools": None,
        "contexts": ["agent:a"],
        "expires_at": "2027-01-01T00:00:00+00:00",
        "limits": {"concurrency": 3},
    }
    assert [key.id for key in bus.keys.list()] == ["key_1"]
    assert bus.keys.revoke("key_1").revoked_at is not None


def test_dead_letters(httpserver: HTTPServer, bus: Any) -> None:
    """Each method asks its endpoint and reads its view; redriving is sent once, for then the letter is gone."""
    expect, path = httpserver.expect_request, "/v1/dead/dead_7"
    expect("/v1/dead").respond_with_json({**shapes.page(shapes.letter()), "counts": {"invalid_json": 3}})
    expect(path).respond_with_json(shapes.opened())
    expect(f"{path}/redrive", method="POST").respond_with_json(shapes.redriven())
    assert [letter.id for letter in bus.dead.list(reason="invalid_json")] == ["dead_7"]
    assert sent(httpserver).args.to_dict() == {"reason": "invalid_json", "limit": "500"}
    assert bus.dead.counts() == {"invalid_json": 3}
    assert bus.dead.get("dead_7").body == {"tool": "t"}
    assert bus.dead.redrive("dead_7").outcome == "decided"
    assert not redrive_letter("dead_7").is_repeatable


@pytest.mark.parametrize("told", [[], {}, {"counts": 3}, {"counts": {"a": "b"}}])
def test_counts_that_are_none_are_no_answer(httpserver: HTTPServer, bus: Any, told: Any) -> None:
    """Something else answered."""
    httpserver.expect_request("/v1/dead").respond_with_json(told)
    with pytest.raises(toolbus.UnexpectedAnswer, match="counts"):
        bus.dead.counts()


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
        (sync_resources.Dead, async_resources.Dead),
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
