"""Who may do what: keys, scopes, methods, and the wall between tenants."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.integration.http.endpoints import ENDPOINTS
from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until

OPEN = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/version")
SCOPES = ("read", "submit", "work", "approve", "operate", "audit", "admin")
BAD_TOKENS = (
    "",
    "Bearer",
    "Bearer x",
    "Basic dXNlcjpwYXNz",
    "Bearer tb_acme_" + "0" * 32 + "_" + "0" * 64,
    "Bearer tb_nobody_" + "0" * 32 + "_" + "0" * 64,
    "Bearer " + "x" * 5000,
    "\xff",
)


def made(http: httpx.Client, *scopes: str, **more: Any) -> dict[str, Any]:
    """Create a key; it comes with its token."""
    answer = http.post("/v1/keys", json={"subject": "user:ana", "scopes": scopes or ["read"], **more})
    assert answer.status_code == 201, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


@pytest.fixture(scope="module")
def by_scope(system: System, http: httpx.Client) -> Iterator[dict[str, httpx.Client]]:
    """A client for each scope alone."""
    return {scope: system.client(made(http, scope)["token"]) for scope in SCOPES}  # type: ignore[return-value]


def test_every_documented_endpoint_is_in_the_table(http: httpx.Client) -> None:
    """What this file checks is all there is."""
    paths = http.get("/openapi.json").json()["paths"]
    found = {(method.upper(), path) for path, item in paths.items() for method in item}
    assert len(found) == len(ENDPOINTS) + len(OPEN)  # /v1/me instead of /openapi.json
    assert ("GET", "/v1/me") in found


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=" ".join)
def test_an_endpoint_wants_a_key_with_its_scope(
    system: System, by_scope: dict[str, httpx.Client], endpoint: tuple[str, str, str]
) -> None:
    """401 without a key, 403 with a key that has every other scope; its own scope, or `admin`, gets further."""
    method, path, scope = endpoint
    without = system.client(None).request(method, path)
    problem_of(without, 401, "unauthenticated")
    assert without.headers["www-authenticate"] == "Bearer"
    for name, client in by_scope.items():
        if path.endswith("/stream") and name in {scope, "admin"}:
            continue
        answer = client.request(method, path)
        if name in {scope, "admin"}:
            assert answer.status_code not in {401, 403, 405}, answer.text
            assert answer.status_code < 500
        else:
            problem_of(answer, 403, "forbidden")
            assert scope in answer.json()["detail"]


@pytest.mark.parametrize("token", BAD_TOKENS)
def test_a_bad_token_opens_nothing(system: System, token: str) -> None:
    """401 for whatever is no key of ours."""
    headers = [(b"Authorization", token.encode("latin-1"))]
    problem_of(system.client(None).get("/v1/me", headers=headers), 401, "unauthenticated")


@pytest.mark.parametrize("path", OPEN)
def test_what_needs_no_key(system: System, path: str) -> None:
    """Health, metrics, version and the document itself are open."""
    assert system.client(None).get(path).status_code == 200


@pytest.mark.parametrize(("method", "path", "scope"), ENDPOINTS)
def test_other_methods_are_not_served(http: httpx.Client, method: str, path: str, scope: str) -> None:
    """405 with the methods that are."""
    answer = http.request("PATCH", path)
    problem_of(answer, 405, "method_not_allowed")
    assert method in answer.headers["allow"].split(", ")


def test_unknown_paths(http: httpx.Client) -> None:
    """404; a slash at the end is another path, and is not redirected to wherever the host header says."""
    for path in ("/v1/nothing", "/v1/calls/", "//v1/calls", "/v1", "/v1/waits/", "/v1/calls/x/y/z", "/v1/CALLS"):
        told = problem_of(http.get(path, headers={"Host": "evil.example"}), 404, "not_found")
        assert "/openapi.json" in told["detail"]


def test_a_key_lives_until_it_is_revoked(system: System, http: httpx.Client) -> None:
    """The token is shown once; a revoked key is refused at once, and revoking it again changes nothing."""
    key = made(http, "read", roles=["finance"])
    client = system.client(key["token"])
    told = {"tenant": "acme", "subject": "user:ana", "roles": ["finance"], "scopes": ["read"], "key_id": key["id"]}
    assert client.get("/v1/me").json() == told
    shown = http.get(f"/v1/keys/{key['id']}").json()
    assert "token" not in shown
    assert "secret" not in str(shown)
    for _ in range(2):
        assert http.delete(f"/v1/keys/{key['id']}").json()["revoked_at"]
        problem_of(client.get("/v1/me"), 401, "unauthenticated")
    listed = until(lambda: [one for one in http.get("/v1/keys?limit=500").json()["items"] if one["id"] == key["id"]])
    assert listed[0]["revoked_at"]
    for path in ("key_0", "key_" + "0" * 32):
        problem_of(http.get(f"/v1/keys/{path}"), 404, "not_found")
        problem_of(http.delete(f"/v1/keys/{path}"), 404, "not_found")


def test_whoever_may_only_read_learns_nothing_of_keys(system: System, http: httpx.Client) -> None:
    """What is recorded of a key, or of a tool, is no execution, although it has a correlation id."""
    key = made(http, "read")
    reader = system.client(key["token"])
    name = define(http, tool(f"{system.target.url}/echo"))
    for correlation_id in (key["id"], f"tenant:{name}"):
        for path in ("", "/transitions", "/events", "/events/stream"):
            problem_of(reader.get(f"/v1/executions/{correlation_id}{path}"), 404, "not_found")


def test_a_key_expires(system: System, http: httpx.Client) -> None:
    """Past its time it is refused; a time without a zone could mean any, and is not taken."""
    now = datetime.now(UTC)
    late = made(http, expires_at=(now - timedelta(seconds=1)).isoformat())
    problem_of(system.client(late["token"]).get("/v1/me"), 401, "unauthenticated")
    valid = made(http, expires_at=(now + timedelta(hours=1)).isoformat())
    assert system.client(valid["token"]).get("/v1/me").status_code == 200
    for said in ("2030-01-01T00:00:00", "soon", 10**9, "1900000000", "0000-00-00T00:00:00Z"):
        answer = http.post("/v1/keys", json={"subject": "user:ana", "scopes": ["read"], "expires_at": said})
        problem_of(answer, 422, "invalid_request", "/expires_at")
    for said in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        assert system.client(made(http, expires_at=said)["token"]).get("/v1/me").status_code in {200, 401}


def test_a_key_may_be_limited_to_tools(system: System, http: httpx.Client, echo: str) -> None:
    """Other tools are refused, by name and as an inline definition."""
    client = system.client(made(http, "submit", "read", tools=[echo])["token"])
    assert call(client, echo)["status"] == "succeeded"
    another = tool(f"{system.target.url}/echo")
    name = define(http, another)
    for wanted in (name, f"{name}@1", another):
        problem_of(client.post("/v1/calls", json={"tool": wanted}), 403, "forbidden")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/subject"),
        ({"subject": "ana", "scopes": ["read"]}, "/subject"),
        ({"subject": "user:a\nb", "scopes": ["read"]}, "/subject"),
        ({"subject": "user:ana", "scopes": []}, "/scopes"),
        ({"subject": "user:ana", "scopes": ["root"]}, "/scopes/0"),
        ({"subject": "user:ana", "scopes": ["read"], "roles": ["A"]}, "/roles/0"),
        ({"subject": "user:ana", "scopes": ["read"], "tools": ["a b"]}, "/tools/0"),
        ({"subject": "user:ana", "scopes": ["read"], "tools": ["a"] * 1001}, "/tools"),
        ({"subject": "user:ana", "scopes": ["read"], "tenant": "other"}, "/tenant"),
    ],
)
def test_a_bad_key_names_its_fault(http: httpx.Client, body: dict[str, Any], path: str) -> None:
    """422 with the path; above all nobody makes a key for another tenant."""
    problem_of(http.post("/v1/keys", json=body), 422, "invalid_request", path)


def test_another_tenant_sees_nothing(system: System, http: httpx.Client, other: httpx.Client, echo: str) -> None:
    """Calls, tools, executions, events, payloads and keys of one tenant are unknown to another."""
    mark = fresh("secret")
    done = call(http, echo, {"text": mark * 6000}, labels={"mark": mark}, idempotency_key=mark)
    key = made(http)
    digest = done["arguments"]["text"]["$payload"]
    hidden = [
        f"/v1/calls/{done['id']}",
        f"/v1/tools/{echo}",
        f"/v1/tools/{echo}/versions",
        f"/v1/tools/{echo}/versions/1",
        f"/v1/definitions/{done['definition_hash']}",
        f"/v1/executions/{done['execution_id']}",
        f"/v1/executions/{done['execution_id']}/transitions",
        f"/v1/executions/{done['execution_id']}/events",
        f"/v1/executions/{done['execution_id']}/events/stream",
        f"/v1/payloads/{digest}",
        f"/v1/keys/{key['id']}",
    ]
    until(lambda: http.get(f"/v1/definitions/{done['definition_hash']}").status_code == 200)
    for path in hidden:
        assert other.get(path).status_code == 404, path
    for path in ("cancel", "settle"):
        body = {"outcome": "failed", "note": "x"} if path == "settle" else {}
        problem_of(other.post(f"/v1/calls/{done['id']}/{path}", json=body), 404, "not_found")
    problem_of(other.post(f"/v1/executions/{done['execution_id']}/finish"), 404, "not_found")
    problem_of(other.delete(f"/v1/keys/{key['id']}"), 404, "not_found")
    problem_of(other.delete(f"/v1/tools/{echo}"), 404, "unknown_tool")
    problem_of(other.post("/v1/calls", json={"tool": echo}), 404, "unknown_tool")
    for path in ("calls", "executions", "tools", "keys", "events"):
        shown = other.get(f"/v1/{path}", params={"limit": 500}).text
        assert mark not in shown
        assert done["id"] not in shown
        assert key["id"] not in shown


def test_another_tenants_payload_cannot_be_used(system: System, http: httpx.Client, other: httpx.Client) -> None:
    """A digest opens nothing, however deep in the arguments it stands: payloads are looked up as the tenant's own."""
    digest = http.post("/v1/payloads", content=b'"secret"').json()["$payload"]
    call(http, define(http, tool(f"{system.target.url}/echo")), {"x": {"$payload": digest}})
    name = define(other, tool(f"{system.target.url}/echo"))
    reference = {"$payload": digest}
    for arguments in (reference, {"x": reference}, {"x": [{"y": reference}]}, {"json": {"x": {"y": reference}}}):
        problem_of(other.post("/v1/calls", json={"tool": name, "arguments": arguments}), 404, "not_found")


def test_the_same_key_of_two_tenants_is_two_calls(http: httpx.Client, other: httpx.Client, echo: str) -> None:
    """Idempotency keys belong to their tenant."""
    key = fresh("key")
    refused = other.post("/v1/calls", json={"tool": echo, "idempotency_key": key}).json()
    assert call(http, echo, idempotency_key=key)["id"] != refused["call_id"]


def test_streams_show_the_tenants_own_events_alone(http: httpx.Client, other: httpx.Client, echo: str) -> None:
    """What another tenant does passes by unseen."""
    seen: list[str] = []

    def read() -> None:
        with other.stream("GET", "/v1/events/stream") as answer:
            for line in answer.iter_lines():
                seen.append(line)
                if line.startswith("event: key.created"):
                    return

    reading = threading.Thread(target=read)
    reading.start()
    until(lambda: seen)
    call(http, echo)
    made(other)
    reading.join(20)
    assert [line for line in seen if line.startswith("event: ")] == ["event: key.created.v1"]
