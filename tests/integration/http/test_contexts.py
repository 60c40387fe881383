"""Whose stored values a key may use: over HTTP, for calls and for what models read."""

from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool
from tests.integration.http.test_access import made

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.fixture(scope="module")
def name(http: httpx.Client, system: System) -> str:
    """A tool for which setup of bo is stored."""
    section = {"params_schema": SCHEMA, "headers": {"x-account": "defined"}}
    found = define(http, tool(f"{system.target.url}/echo", "GET", section=section))
    of_bo = {"setup": {"headers": {"X-Account": "of bo"}}, "arguments": {"city": "Berlin"}}
    assert http.put(f"/v1/stored/user/bo/{found}", json=of_bo).status_code == 201
    return found


def client(system: System, http: httpx.Client, **more: Any) -> httpx.Client:
    """Whoever has a key that reads and submits."""
    return system.client(made(http, "read", "submit", **more)["token"])


def account(shown: dict[str, Any]) -> str:
    """Which account the target was told."""
    assert shown["status"] == "succeeded", shown
    told: str = shown["output"]["json"]["headers"]["x-account"]
    return told


def test_a_key_that_submits_does_not_use_what_is_stored_for_others(
    http: httpx.Client, system: System, name: str
) -> None:
    """The call is refused with the path; without the context it runs, with nothing of theirs."""
    ana = client(system, http)
    told = problem_of(
        ana.post("/v1/calls", json={"tool": name, "context": {"user": "bo"}}), 403, "forbidden", "/context/user"
    )
    assert "may not name the user bo" in told["detail"]
    key = fresh("key")
    body = {"tool": name, "context": {"session": "s", "user": "ana"}, "idempotency_key": key}
    problem_of(ana.post("/v1/calls", json=body), 403, "forbidden", "/context/session")
    assert account(call(ana, name, context={"user": "ana"})) == "defined"
    assert account(call(ana, name)) == "defined"


@pytest.mark.parametrize(
    "more", [{"subject": "user:bo"}, {"contexts": ["user:bo"]}, {"subject": "service:backend", "contexts": ["user:*"]}]
)
def test_a_key_that_says_so_does(http: httpx.Client, system: System, name: str, more: dict[str, Any]) -> None:
    """One header is sent, the stored one, however both are spelt; the key shows what it may name."""
    by = client(system, http, **more)
    assert account(call(by, name, context={"user": "bo"})) == "of bo"
    shown = made(http, "read", **more)
    assert shown["contexts"] == more.get("contexts", [])
    assert http.get(f"/v1/keys/{shown['id']}").json()["contexts"] == more.get("contexts", [])


def test_an_admin_names_anybody(http: httpx.Client, name: str) -> None:
    """It could store and read those values too."""
    assert account(call(http, name, context={"user": "bo"})) == "of bo"


def test_what_is_hidden_from_models_tells_nobody_what_others_store(
    http: httpx.Client, system: System, name: str
) -> None:
    """A schema in a context follows the same rule; the path is that of the query."""
    ana, backend = client(system, http), client(system, http, contexts=["user:*"])
    for place in (f"/v1/tools/{name}", f"/v1/tools/{name}/versions/1", "/v1/tools"):
        problem_of(ana.get(f"{place}?format=anthropic&user=bo"), 403, "forbidden", "/query/user")
    assert ana.get(f"/v1/tools/{name}?format=anthropic&user=ana").json()["input_schema"]["properties"].keys() == {
        "city"
    }
    assert backend.get(f"/v1/tools/{name}?format=anthropic&user=bo").json()["input_schema"]["properties"] == {}
