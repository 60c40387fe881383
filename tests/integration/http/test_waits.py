"""Waits over HTTP as strangers speak to it: bad input, other tenants, large arguments, grants and delegations."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, define, fresh, problem_of, tool, until

DIGEST = "sha256:" + "0" * 64
UNKNOWN = "wait_" + "0" * 32
HOUR = timedelta(hours=1)


def soon(after: timedelta = HOUR) -> str:
    """A moment from now on."""
    return (datetime.now(UTC) + after).isoformat()


@pytest.fixture(scope="module")
def refund(system: System, http: httpx.Client) -> str:
    """A dangerous tool: anybody but the requester may approve, and edit."""
    contract = {"effect": "dangerous", "idempotency": "none"}
    return define(http, tool(f"{system.target.url}/echo", contract=contract, approval={"may_edit": True}))


@pytest.fixture(scope="module")
def ana(system: System, http: httpx.Client) -> httpx.Client:
    """Somebody who decides."""
    made = http.post("/v1/keys", json={"subject": "user:ana", "scopes": ["read", "approve"]}).json()
    return system.client(made["token"])


def standing(http: httpx.Client, name: str, arguments: Any = None) -> dict[str, Any]:
    """A call that stands still."""
    answer = http.post("/v1/calls", json={"tool": name, "arguments": arguments or {}}, params={"wait_s": 5})
    assert answer.status_code == 202, answer.text
    call: dict[str, Any] = answer.json()
    assert call["status"] == "waiting"
    return call


@pytest.mark.parametrize(
    ("verb", "body", "path"),
    [
        ("approve", {}, "/digest"),
        ("approve", {"digest": "x"}, "/digest"),
        ("approve", {"digest": DIGEST, "arguments": []}, "/arguments"),
        ("approve", {"digest": DIGEST, "extra": 1}, "/extra"),
        ("deny", {"digest": DIGEST}, "/note"),
        ("deny", {"digest": DIGEST, "note": ""}, "/note"),
        ("answer", {"digest": DIGEST}, "/values"),
        ("delegate", {"to": "ben", "until": soon()}, "/to"),
        ("delegate", {"to": "user:ben", "until": 5}, "/until"),
        ("delegate", {"to": "user:ben", "until": "2026-01-01T00:00:00"}, "/until"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_path(ana: httpx.Client, verb: str, body: Any, path: str) -> None:
    """422 before anything is looked up."""
    problem_of(ana.post(f"/v1/waits/{UNKNOWN}/{verb}", json=body), 422, "invalid_request", path)


@pytest.mark.parametrize("wait_id", [UNKNOWN, "x", "call_0", "%2e%2e", "wait_" + "é" * 32])
def test_an_unknown_wait(ana: httpx.Client, wait_id: str) -> None:
    """404 for every word."""
    problem_of(ana.get(f"/v1/waits/{wait_id}"), 404, "not_found")
    problem_of(ana.post(f"/v1/waits/{wait_id}/approve", json={"digest": DIGEST}), 404, "not_found")


def test_another_tenant_sees_and_decides_nothing(http: httpx.Client, other: httpx.Client, refund: str) -> None:
    """404, as for what is not there; lists show nothing of it."""
    call = standing(http, refund)
    wait = call["wait"]
    assert http.get(f"/v1/waits/{wait['id']}").status_code == 200
    problem_of(other.get(f"/v1/waits/{wait['id']}"), 404, "not_found")
    problem_of(other.post(f"/v1/waits/{wait['id']}/approve", json={"digest": wait["digest"]}), 404, "not_found")
    assert wait["id"] not in {item["id"] for item in other.get("/v1/waits").json()["items"]}


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"kind": "x"}, "/query/kind"),
        ({"status": "x"}, "/query/status"),
        ({"include": "output"}, "/query/include"),
        ({"limit": "0"}, "/query/limit"),
    ],
)
def test_a_bad_filter(ana: httpx.Client, query: dict[str, str], path: str) -> None:
    """422 with its name."""
    problem_of(ana.get("/v1/waits", params=query), 422, "invalid_request", path)


def test_a_cursor_of_somebody_else(ana: httpx.Client) -> None:
    """Refused, in every list."""
    for path in ("/v1/waits", "/v1/grants", "/v1/delegations"):
        problem_of(ana.get(path, params={"cursor": "x"}), 422, "invalid_cursor", "/query/cursor")


def test_large_arguments_are_shown_and_edited_by_reference(http: httpx.Client, ana: httpx.Client, refund: str) -> None:
    """What is over 64 KiB rests elsewhere, its digest in its place; an edit may be as large."""
    call = standing(http, refund, {"text": "x" * 100_000})
    shown = ana.get(f"/v1/waits/{call['wait']['id']}").json()
    assert shown["arguments"]["text"]["bytes"] == 100_002
    body = {"digest": shown["digest"], "arguments": {"text": "y" * 200_000}}
    edited = ana.post(f"/v1/waits/{shown['id']}/approve", json=body)
    assert (edited.status_code, edited.json()["arguments"]["text"]["bytes"]) == (200, 200_002)
    too_large = ana.post(f"/v1/waits/{shown['id']}/approve", json={"digest": DIGEST, "note": "x" * 1_100_000})
    problem_of(too_large, 413, "body_too_large")


def test_hostile_text_is_kept_as_text(http: httpx.Client, ana: httpx.Client, refund: str) -> None:
    """Whatever a model or a person writes comes back as it was."""
    text = "<script>alert(1)</script>\u202e\u0007 ' OR 1=1"
    call = standing(http, refund, {"text": text})
    answer = ana.post(f"/v1/waits/{call['wait']['id']}/deny", json={"digest": call["wait"]["digest"], "note": text})
    assert (answer.json()["note"], answer.json()["arguments"]["text"]) == (text, text)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"uses": 0}, "/uses"),
        ({"uses": 10_001}, "/uses"),
        ({"until": soon(-HOUR)}, "/until"),
        ({"until": soon(timedelta(days=40))}, "/until"),
        ({"while": "call."}, "/while"),
        ({"tool": "no tool"}, "/tool"),
    ],
)
def test_a_bad_grant(ana: httpx.Client, change: dict[str, Any], path: str) -> None:
    """Refused by its path."""
    body = {"tool": fresh("tool"), "uses": 1, "until": soon(), **change}
    problem_of(ana.post("/v1/grants", json=body), 422, "invalid_request", path)


def test_grants_are_listed_and_revoked_by_their_giver(
    system: System, http: httpx.Client, other: httpx.Client, ana: httpx.Client
) -> None:
    """By tool, newest first; another person may not revoke it, an admin may; revoking again changes nothing."""
    name = define(http, tool("https://pay.example"))
    grants = [ana.post("/v1/grants", json={"tool": name, "uses": 2, "until": soon()}).json() for _ in range(3)]
    ids = [grant["id"] for grant in grants]
    found = until(lambda: _all(ana, "/v1/grants", 3, tool=name))
    assert [grant["id"] for grant in found] == ids[::-1]
    ben = http.post("/v1/keys", json={"subject": "user:ben", "scopes": ["approve"]}).json()["token"]
    problem_of(system.client(ben).delete(f"/v1/grants/{ids[0]}"), 403, "forbidden")
    problem_of(other.delete(f"/v1/grants/{ids[0]}"), 404, "not_found")
    answers = [client.delete(f"/v1/grants/{ids[0]}").json() for client in (ana, http, ana)]
    assert {(answer["left"], answer["revoked_at"] is not None) for answer in answers} == {(0, True)}
    assert ana.get(f"/v1/grants/{ids[0]}").json() == answers[0]


def test_delegations_are_listed_and_revoked_by_their_giver(other: httpx.Client, ana: httpx.Client) -> None:
    """Nobody delegates to themselves, or for longer than any wait stands."""
    given = ana.post("/v1/delegations", json={"to": "user:ben", "until": soon(), "note": "holiday"}).json()
    problem_of(ana.post("/v1/delegations", json={"to": "user:ana", "until": soon()}), 422, "invalid_request", "/to")
    far = {"to": "user:ben", "until": soon(timedelta(days=40))}
    problem_of(ana.post("/v1/delegations", json=far), 422, "invalid_request", "/until")
    found = until(lambda: _all(ana, "/v1/delegations", 1))
    assert given["id"] in {item["id"] for item in found}
    problem_of(other.get(f"/v1/delegations/{given['id']}"), 404, "not_found")
    assert ana.delete(f"/v1/delegations/{given['id']}").json()["revoked_at"] is not None
    assert ana.get(f"/v1/delegations/{given['id']}").json()["note"] == "holiday"


def _all(http: httpx.Client, path: str, at_least: int, **query: str) -> list[dict[str, Any]] | None:
    """A list page by page, once it has so many items: read tables follow the log."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = http.get(path, params={"limit": "2", **query, **({"cursor": cursor} if cursor else {})}).json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found if len(found) >= at_least else None


def test_simulation_says_who_would_have_to_agree(ana: httpx.Client, refund: str, echo: str) -> None:
    """A dangerous tool needs somebody, another one nobody; an unknown one is unknown."""
    assert ana.post("/v1/waits/simulate", json={"tool": refund}).json()["needs_approval"] is True
    assert ana.post("/v1/waits/simulate", json={"tool": echo}).json()["needs_approval"] is False
    problem_of(ana.post("/v1/waits/simulate", json={"tool": fresh("tool")}), 404, "unknown_tool")
    problem_of(ana.post("/v1/waits/simulate", json={"tool": "no tool"}), 422, "invalid_request", "/tool")


def test_one_port_serves_both(http: httpx.Client) -> None:
    """One document tells of all, and a path below nobody's is 404."""
    paths = http.get("/openapi.json").json()["paths"]
    assert {"/v1/calls", "/v1/waits", "/v1/grants", "/v1/delegations"} <= paths.keys()
    problem_of(http.get("/v1/waits/x/y/z"), 404, "not_found")
    problem_of(http.get("/v1/waitsx"), 404, "not_found")
