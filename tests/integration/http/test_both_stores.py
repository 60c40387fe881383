"""The key behaviours once on SQLite and once on PostgreSQL."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until


@pytest.fixture
def client(each_system: System) -> httpx.Client:
    """A client of the system at hand."""
    return each_system.client(each_system.tokens["acme"])


@pytest.fixture
def name(each_system: System, client: httpx.Client) -> str:
    """A tool that echoes."""
    contract = {"effect": "write", "idempotency": "native"}
    return define(client, tool(f"{each_system.target.url}/echo", contract=contract))


def test_calls_come_and_end(client: httpx.Client, name: str) -> None:
    """Many at once, each with its own answer, newest first in the list."""
    mark = fresh("mark")
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: call(client, name, {"n": n}, labels={"mark": mark}), range(40)))
    assert [json.loads(one["output"]["json"]["body"]) for one in done] == [{"n": n} for n in range(40)]
    query = {"label": f"mark:{mark}", "limit": "500"}
    listed = until(lambda: (f := client.get("/v1/calls", params=query).json()["items"]) and len(f) == 40 and f)
    times = [one["requested_at"] for one in listed]
    assert {one["id"] for one in listed} == {one["id"] for one in done}
    assert len(times) == 40


def test_idempotency_holds(client: httpx.Client, name: str) -> None:
    """Racing submissions of one key are one call; another body is a conflict."""
    key = fresh("key")
    body = {"tool": name, "idempotency_key": key}
    with ThreadPoolExecutor(8) as pool:
        found = {answer.json()["id"] for answer in pool.map(lambda _: client.post("/v1/calls", json=body), range(16))}
    assert len(found) == 1
    problem_of(client.post("/v1/calls", json={**body, "priority": 1}), 409, "idempotency_key_reused")


def test_odd_text_is_kept_as_it_is(client: httpx.Client, name: str) -> None:
    """Every character that strict JSON allows goes in and comes out; the others are named."""
    text = "".join(map(chr, (*range(1, 0x20), 0x7F, 0x85, 0x2028, 0xFFFE, 0x1F600, 0x10FFFF)))
    done = call(client, name, {text: text}, labels={"t": text}, external_id=text, idempotency_key=f"{fresh('k')}{text}")
    assert json.loads(done["output"]["json"]["body"]) == {text: text}
    found = until(lambda: client.get("/v1/calls", params={"external_id": text}).json()["items"])
    assert (found[0]["labels"], found[0]["external_id"]) == ({"t": text}, text)
    for hidden in ("\\u0000", "\\ud800"):
        raw = f'{{"tool": "{name}", "arguments": {{"a": "{hidden}"}}}}'.encode()
        problem_of(client.post("/v1/calls", content=raw), 422, "invalid_value", "/arguments/a")
    problem_of(client.get("/v1/calls?tool=%00"), 422, "invalid_value", "/query")


def test_large_values_rest_beside_the_log(client: httpx.Client, name: str) -> None:
    """Arguments and outputs over 64 KiB are payloads, end to end."""
    done = call(client, name, {"text": "é" * 100_000})
    assert client.get(f"/v1/payloads/{done['arguments']['text']['$payload']}").json() == "é" * 100_000
    output = client.get(f"/v1/payloads/{done['output']['json']['$payload']}").json()
    assert json.loads(output["body"]) == {"text": "é" * 100_000}


def test_executions_are_listed_as_they_are_shown(client: httpx.Client, each_system: System, name: str) -> None:
    """The list filters by the status that each of them shows; labels heed case; doubt awaits input."""
    mark = fresh("Mark")
    opened = client.post("/v1/executions", json={"labels": {"m": mark}}).json()["id"]
    broken = define(client, tool(f"{each_system.target.url}/short"))
    doubtful = call(client, broken, execution_id=opened, labels={"m": mark})
    assert doubtful["status"] == "in_doubt"
    bare = call(client, broken, labels={"m": mark})["execution_id"]
    query = {"label": f"m:{mark}", "status": "awaiting_input"}
    found = until(lambda: (f := client.get("/v1/executions", params=query).json()["items"]) and len(f) == 2 and f)
    assert [(one["id"], one["status"]) for one in found] == [(bare, "awaiting_input"), (opened, "awaiting_input")]
    for other in ({"label": f"m:{mark.lower()}"}, {"label": f"m:{mark}", "status": "running"}):
        assert client.get("/v1/executions", params=other).json()["items"] == []


def test_moments_are_compared_as_moments(client: httpx.Client, name: str) -> None:
    """Time filters and `at` mean the same on each database, in any zone and at the ends of the calendar."""
    done = call(client, name)
    query = {"since": done["requested_at"], "external_id": ""}
    assert client.get("/v1/calls", params=query).status_code == 200
    for moment in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00+05:30", "2026-01-01"):
        assert client.get("/v1/calls", params={"since": moment, "until": moment}).json()["items"] == []
        answer = client.get(f"/v1/executions/{done['execution_id']}", params={"at": moment})
        assert answer.status_code in {200, 404}


def test_bad_cursors_and_numbers(client: httpx.Client) -> None:
    """Refused before the database sees them."""
    problem_of(client.get("/v1/calls?cursor=cDk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"), 422, "invalid_cursor")
    problem_of(client.get(f"/v1/events?after={2**63}"), 422, "invalid_request", "/query/after")
    assert client.get(f"/v1/events?after={2**62 - 1}").json()["items"] == []
    problem_of(client.get(f"/v1/executions/exec_x?at={10**17}"), 404, "not_found")
    assert client.get("/v1/tools/x/versions/" + "9" * 30).status_code == 404
