"""`/v1/executions`: opening, following, ending, and looking back."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until


def opened(http: httpx.Client, **said: Any) -> str:
    """Open an execution."""
    answer = http.post("/v1/executions", json=said)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def sse(http: httpx.Client, path: str, count: int, **headers: str) -> Iterator[dict[str, str]]:
    """The first events of a stream."""
    with http.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        found: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if line and name in {"id", "event", "data"}:
                found[name] = value
            elif not line and "id" in found:
                yield found
                found, count = {}, count - 1
                if count == 0:
                    return


def test_an_execution_holds_calls_until_it_is_finished(http: httpx.Client, echo: str) -> None:
    """It runs until somebody ends it; then it takes no call; ending it the same way again changes nothing."""
    execution = opened(http, labels={"a": "b"}, input={"n": 1})
    done = call(http, echo, execution_id=execution)
    shown = http.get(f"/v1/executions/{execution}").json()
    assert (shown["status"], shown["calls"], shown["input"]) == ("running", {"succeeded": 1}, {"n": 1})
    for _ in range(2):
        ended = http.post(f"/v1/executions/{execution}/finish", json={"output": {"sum": 2}}).json()
        assert (ended["status"], ended["output"], bool(ended["finished_at"])) == ("succeeded", {"sum": 2}, True)
    late = http.post("/v1/calls", json={"tool": echo, "execution_id": execution})
    problem_of(late, 409, "execution_finished")
    problem_of(http.post(f"/v1/executions/{execution}/finish", json={"status": "failed"}), 409, "execution_finished")
    problem_of(http.post(f"/v1/executions/{execution}/cancel"), 409, "execution_finished")
    assert http.get(f"/v1/calls/{done['id']}").json()["execution_id"] == execution


def test_a_bare_call_has_an_execution_of_its_own(http: httpx.Client, echo: str) -> None:
    """It ends with the call, is shown with its labels and output, and cannot be finished by hand."""
    done = call(http, echo, labels={"x": "y"})
    shown = http.get(f"/v1/executions/{done['execution_id']}").json()
    assert (shown["status"], shown["labels"], shown["output"]) == ("succeeded", {"x": "y"}, done["output"])
    problem_of(http.post(f"/v1/executions/{done['execution_id']}/finish"), 404, "not_found")


def test_cancelling_stops_what_is_open(http: httpx.Client, system: System) -> None:
    """Calls in it that can still be stopped are cancelled."""
    name = define(http, tool(f"{system.target.url}/slow", "GET", timeout_s=600))
    execution = opened(http)
    taken = call(http, name, execution_id=execution, wait_s=0)
    http.post(f"/v1/executions/{execution}/cancel", json={"reason": "no need"})
    ended = until(
        lambda: (found := http.get(f"/v1/executions/{execution}").json())["calls"] == {"cancelled": 1} and found
    )
    assert (ended["status"], ended["reason"]) == ("cancelled", "no need")
    assert http.get(f"/v1/calls/{taken['id']}").json()["status"] == "cancelled"


def test_large_inputs_and_outputs_become_payloads(http: httpx.Client) -> None:
    """What is over 64 KiB rests as a payload, so that no event is too large for the bus."""
    execution = opened(http, input={"text": "i" * 500_000})
    ended = http.post(f"/v1/executions/{execution}/finish", json={"output": "o" * 500_000}).json()
    assert http.get(f"/v1/payloads/{ended['input']['text']['$payload']}").json() == "i" * 500_000
    assert http.get(f"/v1/payloads/{ended['output']['$payload']}").json() == "o" * 500_000


def test_the_past_can_be_read(http: httpx.Client, echo: str) -> None:
    """`at` a position or a time shows what was known then; before the beginning there is nothing."""
    execution = opened(http)
    call(http, echo, execution_id=execution)
    place = f"/v1/executions/{execution}"
    events = http.get(f"{place}/events").json()["items"]
    kinds = [event["kind"] for event in events]
    assert kinds == ["execution.started.v1", "call.requested.v1", "call.dispatched.v1", "call.succeeded.v1"]
    third = events[2]
    for at in (str(third["position"]), third["recorded_at"]):
        assert http.get(place, params={"at": at}).json()["calls"] == {"dispatched": 1}
    steps = http.get(f"{place}/transitions").json()["items"]
    assert [step["type"] for step in steps] == ["init", "step", "step", "step"]
    assert len(http.get(f"{place}/transitions", params={"at": str(third["position"])}).json()["items"]) == 3
    problem_of(http.get(place, params={"at": "1"}), 404, "not_found")


@pytest.mark.parametrize("at", ["x", "²", "٣" * 30, "1e3", "-1", "0001-01-01T00:00:00+14:00", "9" * 30, "nan", ""])
def test_an_absurd_moment_is_refused(http: httpx.Client, at: str) -> None:
    """422, also for digits that are no numbers and times outside the calendar."""
    answer = http.get(f"/v1/executions/{opened(http)}", params={"at": at})
    problem_of(answer, 422, "invalid_request", "/query/at")


def test_events_come_in_pages(http: httpx.Client, echo: str) -> None:
    """Oldest first; `next_cursor` is the place behind which the next page begins."""
    execution = opened(http)
    call(http, echo, execution_id=execution)
    found: list[int] = []
    after: str | None = "0"
    while after is not None:
        page = http.get(f"/v1/executions/{execution}/events", params={"after": after, "limit": 3}).json()
        found += [event["position"] for event in page["items"]]
        after = page["next_cursor"]
    assert len(found) == 4
    assert found == sorted(set(found))
    problem_of(http.get("/v1/executions/exec_x/events"), 404, "not_found")
    for absurd in ("-1", "x", str(10**30)):
        answer = http.get(f"/v1/executions/{execution}/events", params={"after": absurd})
        problem_of(answer, 422, "invalid_request", "/query/after")


def test_an_execution_can_be_followed(http: httpx.Client, echo: str) -> None:
    """Server-sent events from the beginning, live; `Last-Event-ID` goes on exactly behind what was seen."""
    execution = opened(http)
    path = f"/v1/executions/{execution}/events/stream"
    making = threading.Thread(target=lambda: call(http, echo, execution_id=execution))
    making.start()
    found = list(sse(http, path, 4))
    making.join()
    assert [one["event"] for one in found][-1] == "call.succeeded.v1"
    assert list(sse(http, path, 2, **{"Last-Event-ID": found[1]["id"]})) == found[2:]
    assert list(sse(http, f"{path}?after={found[2]['id']}", 1)) == found[3:]


@pytest.mark.parametrize("place", ["x", "-1", "1.5", "\xb2", "9" * 30, "1 OR 1=1", "0x10", "1e9"])
def test_an_odd_last_event_id_is_refused(http: httpx.Client, place: str) -> None:
    """422 before anything is streamed, on both streams."""
    for path in (f"/v1/executions/{opened(http)}/events/stream", "/v1/events/stream"):
        answer = http.get(path, headers=[(b"Last-Event-ID", place.encode("latin-1"))])
        problem_of(answer, 422, "invalid_request", "/headers/last-event-id")
    problem_of(http.get("/v1/executions/exec_x/events/stream"), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"labels": {"a": 1}}, "/labels/a"),
        ({"labels": {"a b": "x"}}, "/labels/a b"),
        ({"labels": {"name": "x" * 300}}, "/labels/name"),
        ({"labels": {str(n): "x" for n in range(33)}}, "/labels"),
        ({"parent": "exec_1"}, "/parent"),
        ({"scopes": ["planet"]}, "/scopes/0"),
        ({"scopes": ["tenant"] * 17}, "/scopes"),
        ({"what": 1}, "/what"),
    ],
)
def test_a_bad_execution_names_its_fault(http: httpx.Client, body: dict[str, Any], path: str) -> None:
    """422 with the path."""
    problem_of(http.post("/v1/executions", json=body), 422, "invalid_request", path)


def test_unknown_executions(http: httpx.Client, echo: str) -> None:
    """404 wherever one is named; 422 where the id cannot be one."""
    unknown = "exec_" + "0" * 32
    for path in ("", "/transitions", "/events", "/events/stream"):
        problem_of(http.get(f"/v1/executions/{unknown}{path}"), 404, "not_found")
    problem_of(http.post("/v1/calls", json={"tool": echo, "execution_id": unknown}), 404, "not_found")
    problem_of(http.post("/v1/calls", json={"tool": echo, "execution_id": fresh("e")}), 422, "invalid_request")
