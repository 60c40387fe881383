"""`/v1/calls`: submitting, reading, stopping."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until
from toolbus_contracts.digests import call_id_for_key


def test_a_call_is_carried_out(http: httpx.Client, echo: str) -> None:
    """With `wait_s` the answer is the ended call, with the target's answer as its output."""
    ended = call(http, echo, {"a": 1})
    assert ended["status"] == "succeeded"
    assert ended["output"]["json"]["body"] == '{"a":1}'
    assert ended["attempt"] == 1
    assert ended["finished_at"]
    assert ended["why"] is None
    assert http.get(f"/v1/calls/{ended['id']}").json() == ended


def test_without_waiting_the_call_is_taken_at_once(http: httpx.Client, slow: str) -> None:
    """202 means that it is on disk; `why` says in words and numbers what it waits for."""
    answer = http.post("/v1/calls", json={"tool": slow})
    assert answer.status_code == 202
    assert answer.json()["status"] == "dispatched"
    assert "attempt 1" in answer.json()["why"]


def test_waiting_ends_when_the_time_is_up(http: httpx.Client, slow: str) -> None:
    """A call that does not end in time is shown as it stands, with 202."""
    answer = http.post("/v1/calls", json={"tool": slow}, params={"wait_s": 0.3})
    assert answer.status_code == 202
    found = http.get(f"/v1/calls/{answer.json()['id']}", params={"wait_s": 0.2})
    assert found.status_code == 200
    assert found.json()["status"] in {"dispatched", "running"}


def test_a_started_call_says_when_it_is_stopped(http: httpx.Client, slow: str) -> None:
    """`why` of a running call tells the time that is left."""
    taken = call(http, slow, wait_s=0)
    running = until(
        lambda: found if (found := http.get(f"/v1/calls/{taken['id']}").json())["status"] == "running" else 0
    )
    assert "is stopped in" in running["why"]
    cancelled = http.post(f"/v1/calls/{taken['id']}/cancel", json={"reason": "enough"}).json()
    assert "asked to stop" in cancelled["why"]


def test_a_key_makes_a_submission_idempotent(http: httpx.Client, echo: str) -> None:
    """Same key and same body are the same call, in whatever order its fields come; another body is a conflict."""
    key = fresh("key")
    first = call(http, echo, {"a": 1, "b": 2}, idempotency_key=key)
    again = http.post(
        "/v1/calls", json={"idempotency_key": key, "arguments": {"b": 2, "a": 1}, "tool": echo}, params={"wait_s": 5}
    )
    assert again.json()["id"] == first["id"] == call_id_for_key("acme", key)
    problem_of(http.post("/v1/calls", json={"tool": echo, "idempotency_key": key}), 409, "idempotency_key_reused")


def test_the_key_may_come_in_a_header(http: httpx.Client, echo: str) -> None:
    """`Idempotency-Key` is the field of the same name; the body's own wins; an empty one is refused."""
    key = fresh("key")
    sent = {"tool": echo}
    by_header = http.post("/v1/calls", json=sent, headers={"Idempotency-Key": key}).json()
    by_body = http.post("/v1/calls", json={**sent, "idempotency_key": key}, headers={"Idempotency-Key": "x"}).json()
    assert by_header["id"] == by_body["id"] == call_id_for_key("acme", key)
    empty = http.post("/v1/calls", json=sent, headers={"Idempotency-Key": ""})
    problem_of(empty, 422, "invalid_request", "/idempotency_key")


def test_one_key_at_once_is_one_call(system: System, echo: str) -> None:
    """Submissions that race with one key give one call with one effect."""
    http = system.client(system.tokens["acme"])
    body = {"tool": echo, "idempotency_key": fresh("key")}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: http.post("/v1/calls", json=body, params={"wait_s": 10}).json(), range(16)))
    assert len({one["id"] for one in found}) == 1
    assert {one["attempt"] for one in found} == {1}


def test_a_dry_run_stores_nothing(http: httpx.Client, echo: str) -> None:
    """It says what would happen: no event, no call, no payload stays."""
    before = len(http.get("/v1/events", params={"limit": 500, "kind": "call.requested.v1"}).json()["items"])
    large = "x" * 70_000
    answer = http.post("/v1/calls", json={"tool": echo, "arguments": {"text": large}, "dry_run": True})
    assert answer.status_code == 200
    assert answer.json()["status"] == "dispatched"
    problem_of(http.get(f"/v1/calls/{answer.json()['id']}"), 404, "not_found")
    digest = answer.json()["arguments"]["text"]["$payload"]
    problem_of(http.get(f"/v1/payloads/{digest}"), 404, "not_found")
    after = len(http.get("/v1/events", params={"limit": 500, "kind": "call.requested.v1"}).json()["items"])
    assert after == before
    problem_of(http.post("/v1/calls", json={"tool": fresh("no"), "dry_run": True}), 404, "unknown_tool")


def test_a_batch_answers_each_call_for_itself(http: httpx.Client, echo: str) -> None:
    """Results come in order; a bad one among good ones harms none of them."""
    items = [
        {"tool": echo, "arguments": {"n": 1}},
        {"tool": fresh("no")},
        "no call",
        {"tool": echo, "priority": 77},
        {"tool": echo, "arguments": {"n": 2}},
    ]
    answer = http.post("/v1/calls/batch", json={"calls": items})
    assert answer.status_code == 202
    found = answer.json()["items"]
    assert [one["status"] for one in found] == [202, 404, 422, 422, 202]
    assert [one["problem"]["code"] for one in found[1:4]] == ["unknown_tool", "invalid_request", "invalid_request"]
    assert found[3]["problem"]["errors"][0]["path"] == "/priority"
    for one in (found[0], found[4]):
        assert http.get(f"/v1/calls/{one['call']['id']}", params={"wait_s": 20}).json()["status"] == "succeeded"


@pytest.mark.parametrize("body", [{}, {"calls": []}, {"calls": {}}, {"calls": [{}] * 1001}, {"calls": [{}], "x": 1}])
def test_a_batch_holds_1_to_1000_calls(http: httpx.Client, body: object) -> None:
    """Everything else is refused as a whole."""
    problem_of(http.post("/v1/calls/batch", json=body), 422, "invalid_request", "/calls")


def test_what_is_said_about_a_call_is_shown(http: httpx.Client, system: System) -> None:
    """Labels, external id, deadline and principal come back; the principal reaches the target where it is wanted."""
    name = define(http, tool(f"{system.target.url}/echo", forward_principal="X-User"))
    said: dict[str, Any] = {
        "labels": {"team": "a"},
        "external_id": fresh("ext"),
        "on_behalf_of": "ana",
        "deadline_s": 60,
    }
    ended = call(http, name, **said)
    assert ended["labels"] == said["labels"]
    assert ended["external_id"] == said["external_id"]
    assert ended["actor"]["on_behalf_of"] == "ana"
    assert ended["output"]["json"]["headers"]["x-user"] == "ana"


def test_a_call_past_its_deadline_expires(http: httpx.Client, system: System) -> None:
    """Nothing was started by then, so that it ends as expired with 200."""
    name = define(http, tool(f"{system.target.url}/slow", "GET", timeout_s=600))
    ended = call(http, name, deadline_s=0.2)
    assert ended["status"] == "expired"
    assert ended["error"]["code"] == "deadline_passed"


def test_a_call_can_be_cancelled_once(http: httpx.Client, system: System) -> None:
    """A call without an unsafe start ends at once; stopping it again changes nothing; a finished one is a conflict."""
    name = define(http, tool(f"{system.target.url}/slow", "GET", timeout_s=600))
    taken = call(http, name, wait_s=0)
    for _ in range(2):
        ended = http.post(f"/v1/calls/{taken['id']}/cancel", json={"reason": "no need"})
        assert ended.json()["status"] == "cancelled"
    done = call(http, define(http, tool(f"{system.target.url}/echo", "GET")))
    problem_of(http.post(f"/v1/calls/{done['id']}/cancel"), 409, "call_ended")
    problem_of(http.post(f"/v1/calls/{done['id']}/cancel", json={"why": 1}), 422, "invalid_request", "/why")
    problem_of(http.post("/v1/calls/call_x/cancel"), 404, "not_found")


def test_doubt_is_settled_by_a_person(http: httpx.Client, system: System) -> None:
    """An unsafe call whose answer broke off stands in doubt, says so, and is settled once."""
    taken = call(http, define(http, tool(f"{system.target.url}/short")))
    assert taken["status"] == "in_doubt"
    assert "settle it" in taken["why"]
    place = f"/v1/calls/{taken['id']}/settle"
    problem_of(http.post(place, json={"outcome": "succeeded"}), 422, "invalid_request", "/note")
    problem_of(http.post(place, json={"outcome": "perhaps", "note": "x"}), 422, "invalid_request", "/outcome")
    large = {"text": "x" * 70_000}
    settled = http.post(place, json={"outcome": "succeeded", "output": large, "note": "seen in the ledger"}).json()
    assert settled["status"] == "succeeded"
    assert http.get(f"/v1/payloads/{settled['output']['text']['$payload']}").json() == large["text"]
    problem_of(http.post(place, json={"outcome": "failed", "note": "x"}), 409, "call_ended")
    problem_of(http.post("/v1/calls/call_x/settle", json={"outcome": "failed", "note": "x"}), 404, "not_found")


def test_doubt_may_be_tried_again(http: httpx.Client, system: System) -> None:
    """`retry` makes a further attempt; `failed` ends the call."""
    taken = call(http, define(http, tool(f"{system.target.url}/short")))
    again = http.post(f"/v1/calls/{taken['id']}/settle", json={"outcome": "retry", "note": "it did not arrive"}).json()
    assert again["status"] == "retrying"

    def is_in_doubt_again() -> bool:
        found = http.get(f"/v1/calls/{taken['id']}").json()
        return (found["status"], found["attempt"]) == ("in_doubt", 2)

    until(is_in_doubt_again)
    ended = http.post(f"/v1/calls/{taken['id']}/settle", json={"outcome": "failed", "note": "given up"}).json()
    assert (ended["status"], ended["error"]["code"]) == ("failed", "settled_failed")


def test_the_tool_may_be_a_definition_of_its_own(http: httpx.Client, system: System) -> None:
    """It needs no name in the tenant, and is checked like one that has."""
    own = tool(f"{system.target.url}/echo")
    ended = call(http, own, {"a": 1})
    assert (ended["status"], ended["tool_version"]) == ("succeeded", None)
    problem_of(http.get(f"/v1/tools/{own['name']}"), 404, "unknown_tool")
    bad = tool(f"{system.target.url}/echo", section={"params_schema": {"$ref": "http://127.0.0.1:1/schema"}})
    refused = http.post("/v1/calls", json={"tool": bad})
    problem_of(refused, 422, "invalid_definition", "/tool/api_call/params_schema")
    unnamed = http.post("/v1/calls", json={"tool": {**own, "name": "no name"}})
    problem_of(unnamed, 422, "invalid_request", "/tool/name")


def test_a_definition_can_be_pinned(http: httpx.Client, system: System) -> None:
    """`expected_definition_hash` refuses a tool that was changed since; `name@version` calls an older one."""
    definition = tool(f"{system.target.url}/echo?v=1")
    name = define(http, definition)
    first = http.get(f"/v1/tools/{name}").json()
    define(http, {**definition, "api_call": {"method": "POST", "url": f"{system.target.url}/echo?v=2"}})
    pinned = {"tool": name, "expected_definition_hash": first["definition_hash"]}
    problem_of(http.post("/v1/calls", json=pinned), 409, "definition_changed")
    older = call(http, f"{name}@1", expected_definition_hash=first["definition_hash"])
    assert (older["tool_version"], older["output"]["json"]["path"]) == (1, "/echo?v=1")
    assert call(http, name)["tool_version"] == 2
    problem_of(http.post("/v1/calls", json={"tool": f"{name}@3"}), 404, "not_found")
    problem_of(http.post("/v1/calls", json={"tool": f"{name}@0"}), 422, "invalid_request", "/tool")
