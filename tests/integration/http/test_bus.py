"""The bus as a client uses it: questions, commands, CloudEvents, and what it may not do."""

import json
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, complete, fresh, until
from toolbus_contracts.digests import call_id_for_key
from toolbus_contracts.errors import BusRefused, Unavailable

STRUCTURED = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
CORRUPT = b"\xff\xfe"


def attributes(**changes: Any) -> dict[str, Any]:
    """The attributes of a CloudEvent that submits a call."""
    found = {"specversion": "1.0", "id": fresh("id"), "source": "/test", "type": "toolbus.call.submit", **changes}
    return {name: value for name, value in found.items() if value is not None}


def binary(**changes: Any) -> dict[str, str]:
    """The same as headers."""
    return {f"ce-{name}": str(value) for name, value in attributes(**changes).items()}


def test_a_call_by_questions(system: System, http: httpx.Client, slow: str) -> None:
    """Submit, get and cancel are answered after the commit with the call, as HTTP shows it."""
    key = fresh("key")
    taken = system.ask("call.submit", json.dumps({"tool": slow, "idempotency_key": key}).encode())
    assert (taken["status"], taken["call"]["id"]) == (202, call_id_for_key("acme", key))
    assert taken["call"]["actor"] == {
        "subject": "service:client_acme",
        "key_id": None,
        "via": "ask",
        "on_behalf_of": None,
    }
    name = json.dumps({"call_id": taken["call"]["id"]}).encode()
    shown = system.ask("call.get", name)["call"]
    assert shown["id"] == http.get(f"/v1/calls/{shown['id']}").json()["id"]
    stopped = system.ask("call.cancel", json.dumps({"call_id": shown["id"], "reason": "no need"}).encode())
    assert stopped["status"] in {200, 202}


def test_a_question_tells_a_conflict(system: System, echo: str) -> None:
    """Problems are those of HTTP."""
    sent = {"tool": echo, "idempotency_key": fresh("key")}
    system.ask("call.submit", json.dumps(sent).encode())
    told = system.ask("call.submit", json.dumps({**sent, "priority": 1}).encode())
    complete(told["problem"], 409, "idempotency_key_reused")


@pytest.mark.parametrize(
    "verb", ["call.settle", "call.complete.more", "call", "tool.define", "call.get.more", "call.Submit"]
)
def test_a_question_that_nobody_answers(system: System, verb: str) -> None:
    """It is told so instead of being left without an answer."""
    complete(system.ask(verb, b"{}")["problem"], 422, "unknown_command")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{}", 422, "invalid_request"),
        (b"[]", 422, "invalid_request"),
        (b"{", 422, "invalid_json"),
        (b'{"call_id": "call_x", "token": "wt_x"}', 422, "invalid_request"),
        (b'{"call_id": "call_x", "token": "wt_x", "output": 1}', 401, "unauthenticated"),
    ],
)
def test_completing_is_answered_by_the_service_that_holds_waits(
    system: System, body: bytes, status: int, code: str
) -> None:
    """And by nobody else; what cannot be read is refused before the token is looked at."""
    complete(system.ask("call.complete", body)["problem"], status, code)


@pytest.mark.parametrize("verb", ["get", "cancel"])
@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        (b"{}", "invalid_request", "/call_id"),
        (b'{"call_id": {}}', "invalid_request", "/call_id"),
        (b'{"call_id": ""}', "invalid_request", "/call_id"),
        (b'{"call_id": "' + b"x" * 100_000 + b'"}', "invalid_request", "/call_id"),
        (b'{"call_id": "x", "what": 1}', "invalid_request", "/what"),
        (b'{"call_id": "\\u0000"}', "invalid_value", "/call_id"),
        (b"[]", "invalid_request", ""),
        (CORRUPT, "not_utf8", ""),
        (b"", "invalid_json", ""),
    ],
)
def test_bad_questions_about_a_call(system: System, verb: str, *, body: bytes, code: str, path: str) -> None:
    """422 with the path."""
    complete(system.ask(f"call.{verb}", body)["problem"], 422, code, path)


def test_another_tenants_call_is_unknown(system: System, http: httpx.Client, echo: str) -> None:
    """404 for get and cancel."""
    done = call(http, echo)
    for verb in ("get", "cancel"):
        told = system.ask(f"call.{verb}", json.dumps({"call_id": done["id"]}).encode(), tenant="other")
        complete(told["problem"], 404, "not_found")


def test_cloud_events_in_both_modes(system: System, echo: str) -> None:
    """Attributes in headers or around the data; the idempotency key in the body or in a header."""
    key = fresh("key")
    data = {"tool": echo, "idempotency_key": key}
    by_headers = system.ask("call.submit", json.dumps(data).encode(), binary())
    event = json.dumps({**attributes(), "data": data}).encode()
    in_one = system.ask("call.submit", event, STRUCTURED)
    plain = {"Toolbus-Idempotency-Key": key}
    by_key = system.ask("call.submit", json.dumps({"tool": echo}).encode(), plain)
    assert {one["call"]["id"] for one in (by_headers, in_one, by_key)} == {call_id_for_key("acme", key)}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"id": None}, "/id"),
        ({"id": ""}, "/id"),
        ({"source": None}, "/source"),
        ({"type": None}, "/type"),
        ({"type": "toolbus.call.cancel"}, "/type"),
        ({"type": "x" * 10_000}, "/type"),
        ({"specversion": "0.3"}, "/specversion"),
    ],
)
def test_bad_cloud_events(system: System, echo: str, changes: dict[str, Any], path: str) -> None:
    """422 with the attribute that is wrong, in both modes."""
    data = {"tool": echo}
    if changes.get("specversion", "1.0"):
        told = system.ask("call.submit", json.dumps(data).encode(), binary(**changes))
        complete(told["problem"], 422, "invalid_request", path)
    event = json.dumps({**attributes(**changes), "data": data}).encode()
    complete(system.ask("call.submit", event, STRUCTURED)["problem"], 422, "invalid_request", path)


@pytest.mark.parametrize("event", [b"[]", b"{}", b"null", b'{"id": {}}', b"x", json.dumps(attributes(id=[1])).encode()])
def test_structured_events_that_are_none(system: System, event: bytes) -> None:
    """422 whatever stands there instead."""
    told = system.ask("call.submit", event, STRUCTURED)
    complete(told["problem"], 422, told["problem"]["code"])
    no_data = json.dumps({**attributes(), "data_base64": "e30="}).encode()
    complete(system.ask("call.submit", no_data, STRUCTURED)["problem"], 422, "invalid_request")


def test_a_refusal_is_told_under_the_name_of_the_message(system: System) -> None:
    """Its CloudEvents id or `Nats-Msg-Id`, made safe: an id chooses neither the subject nor a header."""
    evil = "a.b > c\r\nNats-Schedule: @every 1s"
    system.publish("submit", json.dumps({**attributes(id=evil), "data": {}}).encode(), STRUCTURED)
    token = "a_b___c__Nats-Schedule:_@every_1s"
    told = until(lambda: system.last("EVENTS", f"toolbus.evt.acme.command.{token}.refused"))
    complete(json.loads(told.data), 422, "invalid_request")
    assert "Nats-Schedule" not in told.headers
    for header in ("Nats-Msg-Id", "ce-id"):
        name = fresh("message")
        system.publish("submit", b"{", {header: name})
        subject = f"toolbus.evt.acme.command.{name}.refused"
        assert until(lambda subject=subject: system.last("EVENTS", subject))  # type: ignore[misc]


def test_a_command_can_stop_a_call(system: System, http: httpx.Client, slow: str) -> None:
    """Cancel as a command; one about a call that is not there is refused, and stays so."""
    taken = call(http, slow, wait_s=0)
    until(lambda: http.get(f"/v1/calls/{taken['id']}").json()["status"] == "running")
    system.publish("cancel", json.dumps({"call_id": taken["id"]}).encode())
    until(lambda: "asked to stop" in (http.get(f"/v1/calls/{taken['id']}").json()["why"] or ""))
    sequence = system.publish("cancel", b'{"call_id": "call_0"}')
    told = until(lambda: system.last("EVENTS", f"toolbus.evt.acme.command.COMMANDS-{sequence}.refused"))
    complete(json.loads(told.data), 404, "not_found")


@pytest.mark.parametrize("header", ["a\x00b", "x" * 256, "", "\ufffd"])
def test_a_bad_key_in_a_header(system: System, echo: str, header: str) -> None:
    """What the body may not hold, a header may not either."""
    told = system.ask("call.submit", json.dumps({"tool": echo}).encode(), {"Toolbus-Idempotency-Key": header})
    assert told["problem"]["errors"][0]["path"] == "/idempotency_key"


@pytest.mark.parametrize("subject", ["toolbus.cmd.acme.tool.define", "toolbus.cmd.acme.call.settle", "toolbus.int.x"])
def test_an_unknown_noun_is_refused_by_the_bus(system: System, subject: str) -> None:
    """No stream takes it from a client, and nobody is kept waiting."""

    async def publish() -> None:
        bus = await system.connect("client_acme")
        try:
            with pytest.raises((BusRefused, Unavailable)):
                await bus.publish(subject, b"{}")
        finally:
            await bus.close()

    system.run(publish())


def test_traces_go_through_when_they_are_traces(system: System, http: httpx.Client, echo: str) -> None:
    """A W3C trace parent comes out with the events; anything else in its place is left out."""
    good = f"00-{'a' * 32}-{'b' * 16}-01"
    for sent, kept in ((good, good), ("x" * 5000, None), ("00-é-1", None)):
        key = fresh("key")
        system.ask("call.submit", json.dumps({"tool": echo, "idempotency_key": key}).encode(), {"traceparent": sent})
        subject = f"toolbus.evt.acme.call.{call_id_for_key('acme', key)}.requested"
        told = until(lambda subject=subject: system.last("EVENTS", subject))  # type: ignore[misc]
        assert told.headers.get("traceparent") == kept
    answer = http.post("/v1/calls", json={"tool": echo}, headers={"traceparent": good})
    subject = f"toolbus.evt.acme.call.{answer.json()['id']}.requested"
    assert until(lambda: system.last("EVENTS", subject)).headers["traceparent"] == good
