"""`/v1/stored`: setup and arguments that calls need not bring."""

from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


def weather(http: httpx.Client, system: System, **more: Any) -> str:
    """A tool whose target tells what it got."""
    section = {"params_schema": {**SCHEMA, "required": ["city"]}, "headers": {"x-account": "defined"}}
    return define(http, tool(f"{system.target.url}/echo", "GET", section=section, **more))


def got(shown: dict[str, Any]) -> tuple[str, str]:
    """The query and the account that the target got."""
    assert shown["status"] == "succeeded", shown
    told = shown["output"]["json"]
    return told["path"].partition("?")[2], told["headers"]["x-account"]


def test_what_is_stored_reaches_the_target(each_system: System) -> None:
    """The nearest level first; over the definition, over the call; until it is removed."""
    http = each_system.client(each_system.tokens["acme"])
    name = weather(http, each_system)
    assert got(call(http, name, {"city": "Rome"})) == ("city=Rome", "defined")
    for_all, for_ana = f"/v1/stored/tenant/all/{name}", f"/v1/stored/user/ana/{name}"
    tenant = {"setup": {"headers": {"x-account": "ours"}}, "arguments": {"city": "Berlin", "days": 2}}
    first = http.put(for_all, json=tenant)
    assert (first.status_code, first.json()) == (201, {"level": "tenant", "level_id": "all", "tool": name, **tenant})
    assert http.put(for_all, json=tenant).status_code == 200
    assert http.put(for_ana, json={"arguments": {"days": 5}}).json()["setup"] == {}
    assert got(call(http, name, {"city": "Rome"})) == ("city=Berlin&days=2", "ours")
    shown = call(http, name, context={"user": "ana", "session": "s-1"})
    assert got(shown) == ("city=Berlin&days=5", "ours")
    assert shown["arguments"] == {"city": "Berlin", "days": 5}
    assert got(call(http, name, context={"user": "bo"})) == ("city=Berlin&days=2", "ours")
    assert http.delete(for_all).json()["arguments"] == tenant["arguments"]
    problem_of(http.get(for_all), 404, "not_found")
    problem_of(http.delete(for_all), 404, "not_found")
    assert got(call(http, name, {"city": "Rome"}, context={"user": "ana"})) == ("city=Rome&days=5", "defined")
    problem_of(http.post("/v1/calls", json={"tool": name}), 422, "invalid_arguments", "/arguments/city")


def test_a_body_that_is_missing_takes_nothing_away(http: httpx.Client, system: System) -> None:
    """It would stand for nothing at all, in place of what is stored."""
    place = f"/v1/stored/tenant/all/{weather(http, system)}"
    stored = http.put(place, json={"arguments": {"city": "Berlin"}}).json()
    problem_of(http.put(place), 422, "invalid_json")
    assert http.get(place).json() == stored
    assert http.put(place, json={}).json()["arguments"] == {}


def test_models_do_not_see_what_is_stored(http: httpx.Client, system: System) -> None:
    """In the context in which they are to call; the definition itself is shown as it is."""
    name = weather(http, system)
    http.put(f"/v1/stored/agent/a-1/{name}", json={"arguments": {"city": "Berlin"}})
    http.put(f"/v1/stored/task/t-1/{name}", json={"setup": {"params": {"days": 1}}})
    place = f"/v1/tools/{name}"

    def properties(query: str) -> set[str]:
        return set(http.get(f"{place}?format=anthropic{query}").json()["input_schema"]["properties"])

    assert properties("") == {"city", "days"}
    assert properties("&agent=a-1") == {"days"}
    assert properties("&agent=a-1&task=t-1") == set()
    listed = http.get("/v1/tools?format=gemini&limit=500&agent=a-1").json()["items"]
    found = next(one for one in listed if one["name"] == name)
    assert found["parametersJsonSchema"] == {
        "type": "object",
        "properties": {"days": {"type": "integer"}},
        "required": [],
    }
    assert http.get(f"{place}?agent=a-1").json()["definition"]["api_call"]["params_schema"]["required"] == ["city"]


@pytest.mark.parametrize(
    ("place", "body", "path"),
    [
        ("planet/x/{}", {}, "/path/level"),
        ("user/-x/{}", {}, "/path/level_id"),
        ("user/all/{}", {}, "/path/level_id"),
        ("tenant/acme/{}", {}, "/path/level_id"),
        ("user/ana/{}", {"setup": {"url": "https://x.example"}}, "/setup/url"),
        ("user/ana/{}", {"setup": {"headers": {"authorization": "Bearer secret://k"}}}, "/setup/headers/authorization"),
        ("user/ana/{}", {"arguments": {"city": "secret://k"}}, "/arguments/city"),
        ("user/ana/{}", {"arguments": {"city": "x" * 20_000}}, "/arguments"),
        ("user/ana/{}", {"argument": {}}, "/argument"),
        ("user/ana/9", {}, "/path/tool"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    http: httpx.Client, echo: str, *, place: str, body: dict[str, Any], path: str
) -> None:
    """Each fault with its path."""
    problem_of(http.put(f"/v1/stored/{place.format(echo)}", json=body), 422, "invalid_request", path)


def test_what_is_stored_can_be_listed(http: httpx.Client, other: httpx.Client) -> None:
    """The newest first, by level and tool, page by page; nobody sees another tenant's."""
    name = fresh("later")
    for who in ("u1", "u2"):
        assert http.put(f"/v1/stored/user/{who}/{name}", json={"arguments": {"a": who}}).status_code == 201
    assert http.put(f"/v1/stored/session/s1/{name}", json={}).status_code == 201

    def ids(query: str, by: httpx.Client = http) -> list[str]:
        return [one["level_id"] for one in by.get(f"/v1/stored?tool={name}{query}").json()["items"]]

    until(lambda: ids("") == ["s1", "u2", "u1"])
    assert ids("&level=user") == ["u2", "u1"]
    page = http.get(f"/v1/stored?tool={name}&limit=2").json()
    assert [one["level_id"] for one in page["items"]] == ["s1", "u2"]
    assert ids(f"&cursor={page['next_cursor']}") == ["u1"]
    assert ids("", other) == []
    http.delete(f"/v1/stored/user/u2/{name}")
    until(lambda: ids("") == ["s1", "u1"])


def test_only_operators_store(http: httpx.Client, system: System, echo: str) -> None:
    """Who may submit must not change what others' calls run with, nor read it."""
    made = http.post("/v1/keys", json={"subject": "user:eve", "scopes": ["read", "submit", "approve"]}).json()
    eve, place = system.client(made["token"]), f"/v1/stored/user/eve/{echo}"
    for answer in (eve.put(place, json={}), eve.get(place), eve.delete(place), eve.get("/v1/stored")):
        problem_of(answer, 403, "forbidden")


def test_a_dry_run_merges_and_stores_nothing(http: httpx.Client, system: System) -> None:
    """It tells with what the call would run."""
    name = weather(http, system)
    http.put(f"/v1/stored/tenant/all/{name}", json={"arguments": {"city": "Berlin"}})
    told = http.post("/v1/calls", json={"tool": name, "dry_run": True}).json()
    assert told["arguments"] == {"city": "Berlin"}
    problem_of(http.get(f"/v1/calls/{told['id']}"), 404, "not_found")


def test_large_arguments_are_merged_whole(http: httpx.Client, echo: str) -> None:
    """Many fields, too large together to rest in the log: what is stored is not lost among them."""
    http.put(f"/v1/stored/tenant/all/{echo}", json={"arguments": {"stored": "yes"}})
    large = {f"field_{number}": "x" * 1000 for number in range(100)}
    shown = call(http, echo, large)
    http.delete(f"/v1/stored/tenant/all/{echo}")
    assert shown["status"] == "succeeded", shown
    assert shown["arguments"]["$payload"].startswith("sha256:")
    payload = http.get(f"/v1/payloads/{shown['arguments']['$payload']}").json()
    assert payload == {**large, "stored": "yes"}


def test_a_tool_of_a_provider_is_described_and_called(http: httpx.Client) -> None:
    """Its surface is part of the version; what the provider does not know is refused with the path."""
    name = fresh("echo")
    definition = {"name": name, "integration": {"provider": "dummy", "arguments": {"fixed": 1}}}
    made = http.put(f"/v1/tools/{name}", json=definition)
    assert made.status_code == 201, made.text
    assert (made.json()["contract"]["provenance"], made.json()["surface"]["contract"]["effect"]) == ("provider", "read")
    http.put(f"/v1/stored/tenant/all/{name}", json={"arguments": {"stored": 2}})
    shown = call(http, name, {"said": 3, "fixed": 9})
    assert shown["status"] == "succeeded", shown
    assert shown["output"] == {"said": 3, "fixed": 1, "stored": 2}
    inline = call(http, {"name": "own", "integration": {"provider": "dummy"}}, {"said": 1})
    assert (inline["status"], inline["output"]) == ("succeeded", {"said": 1})
    unknown = {**definition, "integration": {"provider": "nobody"}}
    problem_of(http.put(f"/v1/tools/{name}", json=unknown), 422, "invalid_definition")
    unset = {**definition, "integration": {"provider": "dummy", "setup": {"key": "x"}}}
    problem_of(http.put(f"/v1/tools/{name}", json=unset), 422, "invalid_definition", "/integration/setup/key")
    refused = http.post("/v1/calls", json={"tool": {"name": "own", "integration": {"provider": "nobody"}}})
    problem_of(refused, 422, "invalid_definition")
