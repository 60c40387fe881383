"""Hostile definitions, schemas and targets: refused, or a recorded outcome; never a consumer that stands still."""

import json
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, define, fresh, problem_of, tool, until
from tests.integration.http.target import HUGE

LADDER: dict[str, Any] = {
    "$defs": {"a0": {}, **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, 40)}},
    "$ref": "#/$defs/a39",
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "remote": {"$ref": "http://127.0.0.1:1/schema.json"},
    "a file": {"$ref": "file:///etc/passwd"},
    "relative": {"$id": "http://127.0.0.1:1/a", "$ref": "b"},
    "in circles": {"allOf": [{"$ref": "#"}]},
    "a pair of circles": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "nowhere": {"$ref": "#/nowhere"},
    "no schema": {"type": "objekt"},
    "no schema inside": {"properties": {"a": 5}},
    "a bad pattern": {"pattern": "("},
    "a pattern that looks around": {"pattern": "(?=a)b"},
    "a pattern that explodes": {"pattern": "((((a{100}){100}){100}){100})"},
    "huge": {"properties": {f"p{n}": {"description": "x" * 100} for n in range(1000)}},
    "a long chain": {"$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(2000)}, "$ref": "#/$defs/a0"},
}
HEADERS = (
    {"x": "a\r\nEvil: 1"},
    {"a\r\nEvil": "1"},
    {"x": "a\nb"},
    {"": "x"},
    {"a b": "x"},
    {"x": "é"},
    {"host": "evil.example"},
    {"content-length": "5"},
    {"transfer-encoding": "chunked"},
    {"connection": "upgrade"},
)
JSON_ERRORS = ("nul", "raw_nul", "nan", "surrogate", "big_integer", "duplicate", "deep", "broken", "latin", "huge_key")


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("place", ["params_schema", "schema"])
def test_hostile_schemas_are_refused(http: httpx.Client, place: str, schema: dict[str, Any]) -> None:
    """No definition takes one, for arguments or answers, named or inline; nothing is fetched."""
    definition = tool("http://127.0.0.1:1/", section={place: schema})
    path = f"/api_call/{place}"
    answer = http.put(f"/v1/tools/{definition['name']}", json=definition)
    assert problem_of(answer, 422, "invalid_definition")["errors"][0]["path"] in {path, ""}  # or all of it is too long
    inline = http.post("/v1/calls", json={"tool": definition})
    assert problem_of(inline, 422, "invalid_definition")["errors"][0]["path"].startswith("/tool")


def test_a_schema_that_would_take_for_ever_stops_nothing(system: System, http: httpx.Client, echo: str) -> None:
    """Calls of it are refused with the reason, and others go through meanwhile."""
    name = define(http, tool(f"{system.target.url}/echo", section={"params_schema": LADDER}))
    refused = http.post("/v1/calls", json={"tool": name})
    assert "steps" in problem_of(refused, 422, "invalid_arguments", "/arguments")["detail"]
    answers = define(http, tool(f"{system.target.url}/echo", "GET", section={"schema": LADDER}))
    assert call(http, answers)["error"]["code"] == "response_invalid"
    assert call(http, echo)["status"] == "succeeded"


def test_a_slow_pattern_takes_linear_time(system: System, http: httpx.Client) -> None:
    """What makes other engines backtrack for years is answered at once."""
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}}
    name = define(http, tool(f"{system.target.url}/echo", section={"params_schema": schema}))
    refused = http.post("/v1/calls", json={"tool": name, "arguments": {"a": "a" * 50_000 + "!"}})
    problem_of(refused, 422, "invalid_arguments", "/arguments/a")


@pytest.mark.parametrize("headers", HEADERS, ids=str)
def test_headers_cannot_be_smuggled(system: System, http: httpx.Client, headers: dict[str, str]) -> None:
    """A definition with such a header is refused, or its calls fail before anything is sent."""
    definition = tool(f"{system.target.url}/echo", section={"headers": headers})
    defined = http.put(f"/v1/tools/{definition['name']}", json=definition)
    if defined.status_code == 422:
        problem_of(defined, 422, defined.json()["code"])
        return
    ended = call(http, definition["name"])
    if ended["status"] == "succeeded":
        assert "evil" not in ended["output"]["json"]["headers"]
        assert ended["output"]["json"]["headers"]["host"] in system.target.url
        return
    assert (ended["error"]["code"], ended["error"]["effect_happened"]) == ("request_invalid", "no")


@pytest.mark.parametrize(
    "url",
    [
        "http://[",
        "http://",
        "http:///x",
        "http://127.0.0.1:99999999/",
        "http://a b/",
        "http://\x01/",
        "http://user:pa ss@127.0.0.1:1/",
        "http://127.0.0.1:1/{",
        "http://127.0.0.1:1/{a}/{a}/{b}",
        "https://127.0.0.1:1/\r\nHost: evil",
    ],
)
def test_hostile_addresses_end_as_outcomes(http: httpx.Client, url: str) -> None:
    """Refused when defined, or a failed call that says that nothing was sent."""
    definition = tool(url, "GET")
    defined = http.put(f"/v1/tools/{definition['name']}", json=definition)
    if defined.status_code == 422:
        problem_of(defined, 422, defined.json()["code"])
        return
    ended = call(http, definition["name"])
    assert (ended["status"], ended["error"]["effect_happened"]) == ("failed", "no")


@pytest.mark.parametrize("name", JSON_ERRORS)
def test_json_that_cannot_be_kept_is_kept_as_bytes(system: System, http: httpx.Client, name: str) -> None:
    """The call succeeded, for its effect happened; what came is there in base64, with the reason."""
    ended = call(http, define(http, tool(f"{system.target.url}/{name}")))
    assert ended["status"] == "succeeded", ended
    assert ended["output"]["json"] is None
    assert ended["output"]["json_error"]
    assert ended["output"]["content"]
    assert len(json.dumps(ended)) < 200_000


@pytest.mark.parametrize(
    ("name", "status", "code", "happened"),
    [
        ("no_status", "in_doubt", "connection_lost", "unknown"),
        ("short", "in_doubt", "connection_lost", "unknown"),
        ("fails", "failed", "http_status", "unknown"),
        ("refuses", "failed", "http_status", "no"),
    ],
)
def test_broken_answers_are_outcomes(
    system: System, http: httpx.Client, name: str, *, status: str, code: str, happened: str
) -> None:
    """Each says what is known of the effect."""
    ended = call(http, define(http, tool(f"{system.target.url}/{name}")))
    found = (ended["status"], ended["error"]["code"], ended["error"]["effect_happened"])
    assert found == (status, code, happened)


@pytest.mark.parametrize("name", ["empty", "text", "header_nul", "status_999", "bad_gzip", "forged"])
def test_odd_answers_are_outcomes(system: System, http: httpx.Client, name: str) -> None:
    """Whatever comes, the call ends, its answer can be read, and a forged reference opens nothing."""
    ended = call(http, define(http, tool(f"{system.target.url}/{name}")))
    assert ended["finished_at"] or ended["status"] == "in_doubt"
    if name == "forged":
        payload = http.get(f"/v1/payloads/{ended['output']['json']['$payload']}").json()
        assert payload == {"$payload": "sha256:" + "0" * 64, "bytes": 1}


def test_a_large_answer_becomes_a_payload(system: System, http: httpx.Client) -> None:
    """Over 64 KiB it is kept beside the event, with a preview; over the tool's bound it is not kept."""
    ended = call(http, define(http, tool(f"{system.target.url}/huge")))
    assert ended["output"]["json"]["preview"].startswith('{"a": "xxx')
    assert http.get(f"/v1/payloads/{ended['output']['json']['$payload']}").json() == {"a": "x" * HUGE}
    bounded = call(http, define(http, tool(f"{system.target.url}/huge", max_output_bytes=1000)))
    assert (bounded["status"], bounded["error"]["code"]) == ("failed", "response_too_large")
    assert bounded["error"]["effect_happened"] == "yes"


def test_an_answer_is_checked_against_its_schema(system: System, http: httpx.Client) -> None:
    """What does not fit is told with its paths, and that the effect happened all the same."""
    schema = {"type": "object", "required": ["nothing"]}
    ended = call(http, define(http, tool(f"{system.target.url}/echo", section={"schema": schema})))
    assert (ended["error"]["code"], ended["error"]["effect_happened"]) == ("response_invalid", "yes")
    assert ended["error"]["details"]


def test_nothing_of_all_this_is_left_lying(system: System, http: httpx.Client) -> None:
    """Every consumer still reads: a call right behind all hostile ones goes through, and none was buried as ours."""
    assert call(http, define(http, tool(f"{system.target.url}/echo")), {"mark": fresh("m")})["status"] == "succeeded"
    ready = http.get("/readyz").json()
    assert ready["ready"], ready
    until(lambda: not system.last("DEAD", "toolbus.dead.acme.too_many_deliveries"))
    assert not system.last("DEAD", "toolbus.dead.acme.internal")
