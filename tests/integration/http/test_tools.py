"""`/v1/tools` and `/v1/definitions`."""

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_a_definition_makes_a_version_once(http: httpx.Client, system: System) -> None:
    """201 for a new version, 200 for what is there already; the version is the entity tag."""
    definition = tool(f"{system.target.url}/echo")
    place = f"/v1/tools/{definition['name']}"
    first = http.put(place, json=definition)
    assert (first.status_code, first.headers["etag"], first.json()["version"]) == (201, '"1"', 1)
    assert http.put(place, json=definition).status_code == 200
    second = http.put(place, json={**definition, "description": "other"})
    assert (second.status_code, second.json()["version"]) == (201, 2)
    assert second.json()["definition_hash"] == first.json()["definition_hash"]
    assert http.get(place).json() == second.json()
    assert http.get(place).headers["etag"] == '"2"'


def test_if_match_guards_against_lost_changes(http: httpx.Client, system: System) -> None:
    """The tag of another version is refused, and so is any tag of a tool that is not there."""
    definition = tool(f"{system.target.url}/echo")
    place = f"/v1/tools/{definition['name']}"
    problem_of(http.put(place, json=definition, headers={"If-Match": '"1"'}), 409, "version_mismatch")
    assert http.put(place, json=definition, headers={"If-Match": '"0"'}).status_code == 201
    changed = {**definition, "description": "x"}
    problem_of(http.put(place, json=changed, headers={"If-Match": '"7"'}), 409, "version_mismatch")
    assert http.put(place, json=changed, headers={"If-Match": '"1"'}).status_code == 201


def test_versions_stay_readable(http: httpx.Client, system: System) -> None:
    """By number and by hash, after a change and after the tool was retired."""
    definition = tool(f"{system.target.url}/echo?1")
    name = define(http, definition)
    first = http.get(f"/v1/tools/{name}").json()
    define(http, {**definition, "timeout_s": 5})
    found = http.get(f"/v1/tools/{name}/versions").json()["items"]
    assert [one["version"] for one in found] == [2, 1]
    assert http.get(f"/v1/tools/{name}/versions/1").json() == first
    problem_of(http.get(f"/v1/tools/{name}/versions/3"), 404, "not_found")
    problem_of(http.get(f"/v1/tools/{name}/versions/x"), 422, "invalid_request", "/path/number")
    by_hash = until(lambda: (a := http.get(f"/v1/definitions/{first['definition_hash']}")).status_code == 200 and a)
    assert by_hash.json()["definition"] == first["definition"]
    problem_of(http.get("/v1/definitions/sha256:0"), 404, "not_found")


def test_a_retired_tool_takes_no_calls(http: httpx.Client, system: System) -> None:
    """Its history stays; retiring it again changes nothing; defining it again brings it back."""
    definition = tool(f"{system.target.url}/echo")
    name = define(http, definition)
    for _ in range(2):
        assert http.delete(f"/v1/tools/{name}").json()["retired_at"]
    problem_of(http.get(f"/v1/tools/{name}"), 404, "unknown_tool")
    problem_of(http.post("/v1/calls", json={"tool": name}), 404, "unknown_tool")
    assert http.get(f"/v1/tools/{name}/versions/1").json()["retired_at"]
    until(lambda: name not in [one["name"] for one in http.get("/v1/tools?limit=500").json()["items"]])
    define(http, definition)
    assert call(http, name)["status"] == "succeeded"
    problem_of(http.delete(f"/v1/tools/{fresh('no')}"), 404, "unknown_tool")


def test_tools_in_the_shapes_of_models(http: httpx.Client, system: System) -> None:
    """`format` writes a tool as an API of models wants it; arguments that are filled already are left out."""
    section = {"params_schema": SCHEMA, "params": {"units": "metric"}}
    name = define(http, tool(f"{system.target.url}/echo", "GET", section=section, description="the weather"))
    openai = http.get(f"/v1/tools/{name}?format=openai").json()
    assert openai["function"] == {"name": name, "description": "the weather", "parameters": SCHEMA}
    assert http.get(f"/v1/tools/{name}?format=anthropic").json()["input_schema"] == SCHEMA
    assert http.get(f"/v1/tools/{name}/versions/1?format=mcp").json()["annotations"]["readOnlyHint"] is True
    until(lambda: openai in http.get("/v1/tools?format=openai&limit=500").json()["items"])


@pytest.mark.parametrize("shape", ["", "cohere", "OpenAI", "x" * 5000])
def test_other_shapes_are_refused(http: httpx.Client, echo: str, shape: str) -> None:
    """The message names those that there are."""
    for path in (f"/v1/tools/{echo}", f"/v1/tools/{echo}/versions/1"):
        problem_of(http.get(path, params={"format": shape}), 422, "unsupported_format", "/query/format")


def test_the_nearest_scope_wins(http: httpx.Client, system: System) -> None:
    """An execution looks tools up in its scopes, nearest first, and then in the tenant."""
    definition = tool(f"{system.target.url}/echo?scope=tenant")
    near = {**definition, "api_call": {"method": "POST", "url": f"{system.target.url}/echo?scope=task"}}
    name, scope = define(http, definition), f"task:{fresh('t')}"
    define(http, near, scope=scope)
    opened = http.post("/v1/executions", json={"scopes": [f"agent:{fresh('a')}", scope]}).json()["id"]
    inside = call(http, name, execution_id=opened)
    assert inside["output"]["json"]["path"] == "/echo?scope=task"
    assert call(http, name)["output"]["json"]["path"] == "/echo?scope=tenant"
    assert http.get(f"/v1/tools/{name}", params={"scope": scope}).json()["scope"] == scope
    until(lambda: [one["name"] for one in http.get("/v1/tools", params={"scope": scope}).json()["items"]] == [name])
    problem_of(http.get(f"/v1/tools/{name}?scope=planet:1"), 422, "invalid_request", "/query/scope")


def test_a_tool_of_a_type_that_nothing_executes(http: httpx.Client) -> None:
    """It can be defined and listed; a call of it is refused at once."""
    name = fresh("sys")
    define(http, {"name": name, "system": {"resource": "call", "operation": "list"}})
    problem_of(http.post("/v1/calls", json={"tool": name}), 422, "unsupported_type", "/tool")
    until(lambda: name in [one["name"] for one in http.get("/v1/tools?type=system").json()["items"]])


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"unknown": 1}, "/unknown"),
        ({"timeout_s": "10"}, "/timeout_s"),
        ({"timeout_s": 0}, "/timeout_s"),
        ({"max_output_bytes": True}, "/max_output_bytes"),
        ({"description": "x" * 5000}, "/description"),
        ({"api_call": {"method": "GET", "url": "ftp://x"}}, "/api_call"),
        ({"api_call": {"method": "BREW", "url": "http://x"}}, "/api_call/method"),
        ({"api_call": {"method": "GET", "url": "http://x", "headers": {"a": 1}}}, "/api_call/headers/a"),
        ({"function": {}}, ""),
        ({"api_call": None}, ""),
        ({"contract": {"effect": "none", "idempotency": "none"}}, "/contract/effect"),
    ],
)
def test_a_bad_definition_names_its_fault(http: httpx.Client, change: dict[str, object], path: str) -> None:
    """422 with the path into the definition."""
    definition = {**tool("http://127.0.0.1:1/"), **change}
    problem_of(http.put(f"/v1/tools/{definition['name']}", json=definition), 422, "invalid_request", path)


def test_the_name_in_the_body_is_the_name_in_the_path(http: httpx.Client) -> None:
    """It may be left out; another one is refused."""
    answer = http.put(f"/v1/tools/{fresh('other')}", json=tool("http://127.0.0.1:1/"))
    problem_of(answer, 422, "invalid_definition", "/name")


@pytest.mark.parametrize("name", ["a b", "1a", "x" * 65, "é", "a%2Fb", "a.b"])
def test_names_are_bounded(http: httpx.Client, name: str) -> None:
    """A name that no model could use is refused, and is no other path."""
    answer = http.put(f"/v1/tools/{name}", json={"api_call": {"method": "GET", "url": "http://x"}})
    assert answer.status_code in {404, 422}
    problem_of(answer, answer.status_code, answer.json()["code"])
