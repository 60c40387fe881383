"""The client against everything that `toolbus up` runs."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import toolbus
from tests.integration.http.system import until
from toolbus import AsyncClient, Client


def test_a_call_from_the_first_line_to_its_output(bus: Client) -> None:
    """The main job in one line."""
    assert bus.call("look", path="berlin", wait=30).output["json"] == {"path": "/berlin"}


async def test_a_call_in_an_event_loop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, without holding up the loop."""
    monkeypatch.chdir(folder)
    async with AsyncClient() as client:
        assert (await client.call("look", path="paris", wait=30)).output["json"] == {"path": "/paris"}
        assert [tool.name async for tool in client.tools.list()] == ["act", "look"]


def test_failures_are_typed(bus: Client) -> None:
    """Each kind of no has its own class."""
    with pytest.raises(toolbus.CallFailed) as failed:
        bus.call("look", path="bad", wait=30)
    assert (failed.value.code, failed.value.call.status) == ("http_status", "failed")
    with pytest.raises(toolbus.NotFound) as missing:
        bus.call("nothing_of_the_kind")
    assert (missing.value.code, missing.value.status) == ("unknown_tool", 404)
    with pytest.raises(toolbus.Invalid) as invalid:
        bus.call("look", path="x", n="three")
    assert [fault.path for fault in invalid.value.details] == ["/arguments/n"]
    with pytest.raises(toolbus.NotFound):
        bus.get("call_" + "0" * 32)
    with Client(bus.url, "tb_default_" + "0" * 32 + "_" + "0" * 64) as stranger, pytest.raises(toolbus.NotAllowed):
        stranger.me()


def test_the_same_key_is_the_same_call_and_another_body_a_conflict(bus: Client) -> None:
    """An idempotency key stands for one request."""
    key = uuid4().hex
    first = bus.submit("look", {"path": "once"}, idempotency_key=key)
    assert bus.submit("look", {"path": "once"}, idempotency_key=key, wait=30).id == first.id
    with pytest.raises(toolbus.Conflict) as caught:
        bus.submit("look", {"path": "twice"}, idempotency_key=key)
    assert caught.value.code == "idempotency_key_reused"


def test_many_calls_come_back_in_order(bus: Client) -> None:
    """More than a batch holds; what is refused is a problem in its place."""
    label = uuid4().hex
    bodies: list[dict[str, Any]] = [
        {"tool": "look", "arguments": {"path": str(number)}, "labels": {"run": label}} for number in range(1050)
    ]
    bodies[7] = {"tool": "nothing_of_the_kind", "labels": {"run": label}}
    found = bus.submit_many(bodies)
    assert isinstance(found[7], toolbus.NotFound)
    calls = [call for call in found if not isinstance(call, toolbus.Problem)]
    assert len(calls) == 1049
    assert bus.wait_for(calls[-1].id, wait=60).output["json"] == {"path": "/1049"}
    ids = {call.id for call in calls}
    until(lambda: {call.id for call in bus.calls(labels={"run": label})} >= ids)  # lists follow a moment later


def test_an_execution_is_followed_while_it_happens_and_told_afterwards(bus: Client) -> None:
    """Every event once and in order; the end is known; the past can be asked for."""
    execution = bus.executions.start(labels={"made": "here"}, input={"why": "test"})
    calls = [bus.submit("look", {"path": str(number)}, execution_id=execution.id) for number in range(3)]
    for call in calls:
        bus.wait_for(call.id, wait=30)
    bus.executions.finish(execution.id, output=[1])
    followed = list(bus.executions.follow(execution.id))
    assert [event.position for event in followed] == sorted({event.position for event in followed})
    assert [event.id for event in followed] == [event.id for event in bus.executions.events(execution.id)]
    ended = bus.executions.get(execution.id)
    assert (ended.status, ended.calls, ended.output) == ("succeeded", {"succeeded": 3}, [1])
    assert bus.executions.get(execution.id, at=followed[0].position).calls == {}
    assert next(iter(bus.executions.transitions(execution.id))).type == "init"
    until(lambda: execution.id in {found.id for found in bus.executions.list(labels={"made": "here"})})


def test_following_begins_before_the_end(bus: Client) -> None:
    """A stream that is open when the last call ends, ends too."""
    execution = bus.executions.start()
    seen: list[str] = []
    for event in bus.executions.follow(execution.id):
        seen.append(event.kind)
        if event.kind == "execution.started.v1":
            bus.submit("look", {"path": "late"}, execution_id=execution.id)
            bus.executions.finish(execution.id)
    assert {"call.requested.v1", "call.succeeded.v1", "execution.finished.v1"} <= set(seen)


def test_doubt_is_told_and_settled(bus: Client) -> None:
    """A silent target leaves an unsafe call in doubt; a person says what happened."""
    with pytest.raises(toolbus.CallInDoubt) as caught:
        bus.call("act", path="silent", wait=30)
    call_id = caught.value.call.id
    assert (
        bus.settle(call_id, "succeeded", note="seen in the target's books", output={"ok": True}).status == "succeeded"
    )
    assert bus.wait_for(call_id).output == {"ok": True}
    with pytest.raises(toolbus.Conflict):
        bus.settle(call_id, "failed", note="no, it was not")


def test_keys_open_what_they_may_and_nothing_more(bus: Client) -> None:
    """Scopes and tools limit a key; a revoked one opens nothing."""
    made = bus.keys.create("service:reader", ["read", "submit"], tools=["look"])
    with Client(bus.url, made.token) as limited:
        assert limited.me().subject == "service:reader"
        assert limited.call("look", path="mine", wait=30).status == "succeeded"
        with pytest.raises(toolbus.NotAllowed):
            limited.call("act", path="x")
        with pytest.raises(toolbus.NotAllowed):
            list(limited.events())
        bus.keys.revoke(made.id)
        with pytest.raises(toolbus.NotAllowed):
            limited.me()
    until(lambda: next(key for key in bus.keys.list() if key.id == made.id).revoked_at)


def test_tools_have_versions_and_an_end(bus: Client) -> None:
    """A change is another version; a stale one is refused; a retired tool takes no calls."""
    definition: dict[str, Any] = {"name": "short_lived", "api_call": {"method": "GET", "url": "http://127.0.0.1:9/"}}
    assert bus.tools.apply(definition).outcome == "created"
    assert bus.tools.apply(definition).outcome == "unchanged"
    changed = {**definition, "timeout_s": 3}
    assert bus.tools.apply(changed, expected_version=1).version == 2
    with pytest.raises(toolbus.Conflict):
        bus.tools.apply(definition, expected_version=1)
    assert bus.tools.get("short_lived@1").definition["timeout_s"] == 30.0
    assert [tool.version for tool in bus.tools.versions("short_lived")] == [2, 1]
    until(lambda: "short_lived" in {tool["function"]["name"] for tool in bus.tools.formatted("openai")})
    bus.tools.retire("short_lived")
    with pytest.raises(toolbus.NotFound):
        bus.call("short_lived")


def test_the_log_is_read_and_followed_by_position(bus: Client) -> None:
    """What was recorded is read from anywhere; what is recorded next arrives."""
    events = list(bus.events(category="tool"))
    assert events[0].kind == "tool.defined.v1"
    last = max(event.position for event in bus.events())
    call = bus.submit("look", {"path": "next"})
    following = bus.follow(last, kind="call.requested.v1")
    assert next(following).subject_id == call.id
