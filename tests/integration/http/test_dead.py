"""`/v1/dead` on the whole system: what could not be used is seen, opened, and handled again."""

import base64
import json
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, fresh, problem_of, until
from toolbus_contracts import subjects
from toolbus_contracts.digests import call_id_for_key
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.delivery import Delivery, Place
from toolbus_runtime.bus.listening import Incoming

CREATED = "2026-01-02T00:00:00.000000000Z"


def letters(http: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    """Every letter of the tenant, page by page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = http.get("/v1/dead", params={"limit": 3, "cursor": cursor, **query})
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return found


def buried(system: System, http: httpx.Client, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """A command that nobody can read, as it lies dead."""
    sequence = system.publish("submit", body, headers)
    found: dict[str, Any] = until(lambda: next((o for o in letters(http) if o["sequence"] == sequence), None))
    return found


def laid(system: System, subject: str, body: bytes, died: Delivery | None) -> str:
    """A letter that a service lays down; its id."""
    headers = {"Toolbus-Error": "a note"} if died is None else epitaph.write(died, KeyError("a fault"))

    async def lay() -> int:
        bus = await system.connect("dispatcher")
        try:
            return (await bus.publish(subject, body, headers)).sequence
        finally:
            await bus.close()

    return f"dead_{system.run(lay())}"


def command(body: bytes, headers: dict[str, str] | None = None, sequence: int = 1) -> Delivery:
    """A command as it was delivered for the last time."""
    message = Incoming(subjects.command("acme", "submit"), body, headers or {}, "")
    return Delivery(message, Place("COMMANDS", 20, sequence, 1, 1), CREATED)


def test_an_unreadable_command_is_seen_and_stays(system: System, http: httpx.Client) -> None:
    """In the list without what is in it, opened with it; redriving tells what is wrong with it, by its path."""
    body = b'{"tool": "t", "argumnets": {}}'
    listed = buried(system, http, body, {"Nats-Msg-Id": "m 1", "traceparent": "00-1-2-01"})
    assert {name: listed[name] for name in ("reason", "stream", "deliveries", "bytes", "is_redrivable")} == {
        "reason": "invalid_request",
        "stream": "COMMANDS",
        "deliveries": 1,
        "bytes": len(body),
        "is_redrivable": True,
    }
    assert listed["subject"] == "toolbus.cmd.acme.call.submit"
    assert "body" not in listed
    path = f"/v1/dead/{listed['id']}"
    opened = http.get(path).json()
    assert {name: opened[name] for name in listed} == listed
    assert (opened["body"], opened["content"]) == (json.loads(body), None)
    assert opened["headers"] == {"Nats-Msg-Id": "m 1", "traceparent": "00-1-2-01"}
    assert opened["call_id"].startswith("call_")
    for _ in range(2):
        told = problem_of(http.post(f"{path}/redrive"), 422, "invalid_request", "/argumnets")
        assert told["instance"] == f"{path}/redrive"
    assert http.get(path).json() == opened
    assert http.get(f"/v1/calls/{opened['call_id']}").status_code == 404


def test_bytes_that_are_no_text_are_shown_exactly(system: System, http: httpx.Client) -> None:
    """In base64."""
    listed = buried(system, http, b"\xff\x00{")
    opened = http.get(f"/v1/dead/{listed['id']}").json()
    assert (opened["body"], base64.b64decode(opened["content"])) == (None, b"\xff\x00{")
    assert opened["call_id"] is None


def test_letters_are_listed_by_reason_and_counted(system: System, http: httpx.Client) -> None:
    """Newest first, over pages of any size; counts say what there is in all."""
    made = [buried(system, http, b"{" + bytes([48 + n]))["id"] for n in range(4)]
    found = [one["id"] for one in letters(http, reason="invalid_json")]
    assert found[:4] == made[::-1]
    assert {one["reason"] for one in letters(http, reason="invalid_json")} == {"invalid_json"}
    assert http.get("/v1/dead").json()["counts"]["invalid_json"] == len(found)
    assert letters(http, reason="nothing_died_of_this") == []
    for limit in (1, 2, 5):
        assert [one["id"] for one in letters(http, reason="invalid_json", limit=limit)] == found


@pytest.mark.parametrize(
    ("query", "code", "path"),
    [
        ({"reason": "a.b"}, "invalid_request", "/query/reason"),
        ({"reason": "*"}, "invalid_request", "/query/reason"),
        ({"reason": ">"}, "invalid_request", "/query/reason"),
        ({"reason": ""}, "invalid_request", "/query/reason"),
        ({"limit": "0"}, "invalid_request", "/query/limit"),
        ({"limit": "501"}, "invalid_request", "/query/limit"),
        ({"cursor": "x"}, "invalid_cursor", "/query/cursor"),
    ],
)
def test_bad_questions(http: httpx.Client, query: dict[str, str], code: str, path: str) -> None:
    """422 with the parameter; a reason reaches into nobody else's subjects."""
    problem_of(http.get("/v1/dead", params=query), 422, code, path)


def test_another_tenant_sees_nothing_of_it(system: System, http: httpx.Client, other: httpx.Client) -> None:
    """Neither in its list, nor by the id, nor can it redrive it."""
    listed = buried(system, http, b"{mine")
    assert listed["id"] not in {one["id"] for one in letters(other)}
    problem_of(other.get(f"/v1/dead/{listed['id']}"), 404, "not_found")
    problem_of(other.post(f"/v1/dead/{listed['id']}/redrive"), 404, "not_found")
    assert http.get(f"/v1/dead/{listed['id']}").status_code == 200


def test_a_command_that_was_buried_becomes_its_call(system: System, http: httpx.Client, echo: str) -> None:
    """Decided, carried out, and the letter is gone; a second time there is none."""
    key = fresh("key")
    body = json.dumps({"tool": echo, "arguments": {"n": 1}}).encode()
    died = command(body, {"Toolbus-Idempotency-Key": key})
    path = f"/v1/dead/{laid(system, subjects.dead('acme', 'too_many_deliveries'), body, died)}"
    answer = http.post(f"{path}/redrive")
    assert answer.status_code == 200, answer.text
    call_id = call_id_for_key("acme", key)
    assert answer.json() == {"id": path.rpartition("/")[2], "outcome": "decided", "call_id": call_id}
    assert http.get(f"/v1/calls/{call_id}", params={"wait_s": 20}).json()["status"] == "succeeded"
    problem_of(http.get(path), 404, "not_found")
    problem_of(http.post(f"{path}/redrive"), 404, "not_found")


def test_a_command_that_was_decided_after_all_stays_one_call(system: System, http: httpx.Client, echo: str) -> None:
    """Its place in its stream is its name: two letters of the same message are one call, carried out once."""
    body = json.dumps({"tool": echo, "arguments": {"mark": fresh("mark")}}).encode()
    subject, died = subjects.dead("acme", "too_many_deliveries"), command(body, sequence=4711)
    first, second = (http.post(f"/v1/dead/{laid(system, subject, body, died)}/redrive").json() for _ in range(2))
    assert first["call_id"] == second["call_id"]
    call_id = first["call_id"]
    assert http.get(f"/v1/calls/{call_id}", params={"wait_s": 20}).json()["status"] == "succeeded"
    kinds = [event["kind"] for event in events(http, call_id)]
    assert kinds == ["call.requested.v1", "call.dispatched.v1", "call.succeeded.v1"]


def events(http: httpx.Client, call_id: str) -> list[dict[str, Any]]:
    """The events of a call."""
    execution_id = http.get(f"/v1/calls/{call_id}").json()["execution_id"]
    found = http.get(f"/v1/executions/{execution_id}/events").json()["items"]
    return [event for event in found if event["subject_id"] == call_id]


def test_a_refusal_is_answered_and_the_letter_stays(system: System, http: httpx.Client) -> None:
    """As its handler refused it."""
    body = b'{"call_id": "call_0"}'
    died = Delivery(Incoming(subjects.command("acme", "cancel"), body, {}, ""), Place("COMMANDS", 1, 2, 1, 1), CREATED)
    path = f"/v1/dead/{laid(system, subjects.dead('acme', 'invalid_value'), body, died)}"
    problem_of(http.post(f"{path}/redrive"), 404, "not_found")
    assert http.get(path).json()["call_id"] == "call_0"


def test_a_note_is_not_redrivable(system: System, http: httpx.Client) -> None:
    """It tells of an event, which lies in the store."""
    letter_id = laid(system, subjects.dead("acme", "refused_by_bus"), b'{"position": 7}', None)
    opened = http.get(f"/v1/dead/{letter_id}").json()
    assert (opened["is_redrivable"], opened["subject"], opened["body"]) == (False, None, {"position": 7})
    told = problem_of(http.post(f"/v1/dead/{letter_id}/redrive"), 409, "not_redrivable")
    assert letter_id in told["detail"]
    assert http.get(f"/v1/dead/{letter_id}").status_code == 200
