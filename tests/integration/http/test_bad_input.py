"""Bad and hostile bodies, over HTTP, ask and bus alike: told by path where they are readable, never a fault of ours."""

import json
from functools import partial
from typing import Any

import httpx
import pytest

from tests.integration.http.system import System, call, complete, define, fresh, problem_of, tool, until

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}, "at": {"type": "array"}},
    "required": ["city"],
    "additionalProperties": False,
}
MIB = 1024 * 1024


def body(arguments: str, **more: str) -> bytes:
    """A submission written by hand."""
    parts = ['"tool": "x"', f'"arguments": {arguments}', *(f'"{name}": {text}' for name, text in more.items())]
    return ("{" + ", ".join(parts) + "}").encode()


UNREADABLE: tuple[tuple[str, bytes, str, str], ...] = (
    ("empty text", b'""', "invalid_request", ""),
    ("a list", b"[]", "invalid_request", ""),
    ("null", b"null", "invalid_request", ""),
    ("nothing closed", b'{"tool": ', "invalid_json", ""),
    ("two values", b"{} {}", "invalid_json", ""),
    ("single quotes", b"{'tool': 'x'}", "invalid_json", ""),
    ("a byte order mark", b"\xef\xbb\xbf{}", "invalid_json", ""),
    ("bad UTF-8", b'{"tool": "\xff\xfe"}', "not_utf8", ""),
    ("UTF-16", '{"tool": "x"}'.encode("utf-16"), "not_utf8", ""),
    ("a surrogate in UTF-8", b'{"tool": "\xed\xa0\x80"}', "not_utf8", ""),
    ("raw NUL", b'{"tool": "a\x00b"}', "invalid_json", ""),
    ("only NUL", b"\x00", "invalid_json", ""),
    ("escaped NUL", body('{"a": "x\\u0000y"}'), "invalid_value", "/arguments/a"),
    ("NUL in a key", body('{"x\\u0000": 1}'), "invalid_value", "/arguments"),
    ("half a surrogate pair", body('{"a": ["\\ud83d"]}'), "invalid_value", "/arguments/a/0"),
    ("2^53", body('{"a": 9007199254740992}'), "invalid_value", "/arguments/a"),
    ("a million digits", body('{"a": ' + "9" * 500_000 + "}"), "invalid_value", "/arguments/a"),
    ("1e400", body('{"a": 1e400}'), "invalid_value", "/arguments/a"),
    ("NaN", body('{"a": NaN}'), "invalid_value", "/arguments/a"),
    ("a key twice", body('{"a": 1, "a": 2}'), "invalid_value", "/arguments/a"),
    ("the tool twice", b'{"tool": "a", "tool": "b"}', "invalid_value", "/tool"),
    ("depth 10,000", body("[" * 10_000 + "]" * 10_000), "too_deep", ""),
    ("depth 100", body('{"a": ' + "[" * 100 + "]" * 100 + "}"), "invalid_value", "/arguments/a/0/0/0/0/0/0"),
    ("deep objects", body('{"a":' * 20_000 + "1" + "}" * 20_000), "too_deep", ""),
    ("a fault under a huge key", body('{"' + "k" * 900_000 + '": [NaN, NaN, NaN]}'), "invalid_value", "/arguments"),
    ("no tool", b"{}", "invalid_request", "/tool"),
    ("a field nobody knows", body("{}", priorty="1"), "invalid_request", "/priorty"),
    ("100,000 of them", body("{}", **{f"f{n}": "1" for n in range(60_000)}), "invalid_request", "/f0"),
    ("a number as tool", b'{"tool": 1}', "invalid_request", "/tool"),
    ("arguments in a list", body("[]"), "invalid_request", "/arguments"),
    ("priority as text", body("{}", priority='"5"'), "invalid_request", "/priority"),
    ("priority true", body("{}", priority="true"), "invalid_request", "/priority"),
    ("priority 10", body("{}", priority="10"), "invalid_request", "/priority"),
    ("a negative deadline", body("{}", deadline_s="-1"), "invalid_request", "/deadline_s"),
    ("a deadline in text", body("{}", deadline_s='"60"'), "invalid_request", "/deadline_s"),
    ("a dry run as text", body("{}", dry_run='"no"'), "invalid_request", "/dry_run"),
    ("a bad label", body("{}", labels='{"name": 1}'), "invalid_request", "/labels/name"),
    ("a bad label key", body("{}", labels='{" ": "x"}'), "invalid_request", "/labels/ "),
    ("an empty key", body("{}", idempotency_key='""'), "invalid_request", "/idempotency_key"),
    ("a long key", body("{}", idempotency_key=f'"{"x" * 256}"'), "invalid_request", "/idempotency_key"),
    ("a bad hash", body("{}", expected_definition_hash='"sha256:x"'), "invalid_request", "/expected_definition_hash"),
    ("a bad execution", body("{}", execution_id='"exec_1\\n"'), "invalid_request", "/execution_id"),
)
CASES = pytest.mark.parametrize(
    ("raw", "code", "path"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE]
)


@CASES
def test_over_http(http: httpx.Client, raw: bytes, code: str, path: str) -> None:
    """422 with the path of the fault, in an answer that is never larger than needed."""
    answer = http.post("/v1/calls", content=raw)
    problem_of(answer, 422, code, path)
    assert len(answer.content) < 100_000


@CASES
def test_as_a_question_on_the_bus(system: System, raw: bytes, code: str, path: str) -> None:
    """The same problem, as the answer."""
    told = system.ask("call.submit", raw)
    assert told["status"] == 422
    complete(told["problem"], 422, code, path)


def test_as_commands_on_the_bus(system: System, http: httpx.Client, echo: str) -> None:
    """Each is told back as a refusal event and laid into DEAD with its reason; a good neighbour goes through."""
    sent = [(system.publish("submit", raw), code, path) for _, raw, code, path in UNREADABLE]
    mark = fresh("mark")
    system.publish("submit", json.dumps({"tool": echo, "labels": {"mark": mark}}).encode())
    until(lambda: [one["status"] for one in calls_with(http, mark)] == ["succeeded"])
    for sequence, code, path in sent:
        subject = f"toolbus.evt.acme.command.COMMANDS-{sequence}.refused"
        told = until(partial(system.last, "EVENTS", subject))
        complete(json.loads(told.data), 422, code, path)
        assert told.headers["ce-type"] == "toolbus.command.refused.v1"
    for code in {code for _, code, _ in sent}:
        dead = until(partial(system.last, "DEAD", f"toolbus.dead.acme.{code}"))
        assert dead.headers["Toolbus-Error"]


def calls_with(http: httpx.Client, mark: str) -> list[dict[str, Any]]:
    """The calls with this label."""
    found: list[dict[str, Any]] = http.get("/v1/calls", params={"label": f"mark:{mark}"}).json()["items"]
    return found


def test_every_fault_of_the_arguments_is_named(system: System, http: httpx.Client) -> None:
    """Wrong, missing and unknown properties, each by its path; the call is on record as refused."""
    section = {"params_schema": SCHEMA}
    name = define(http, tool(f"{system.target.url}/echo", section=section))
    sent = {"tool": name, "arguments": {"days": 9, "at": 1, "zip": 1}}
    answer = http.post("/v1/calls", json=sent)
    told = problem_of(answer, 422, "invalid_arguments", "/arguments/city", "/arguments/days", "/arguments/at")
    assert any("zip" in one["message"] for one in told["errors"])
    assert http.get(f"/v1/calls/{told['call_id']}").json()["status"] == "refused"
    by_ask = system.ask("call.submit", json.dumps(sent).encode())
    complete(by_ask["problem"], 422, "invalid_arguments", "/arguments/city", "/arguments/days")


def test_faults_without_number_stay_readable(system: System, http: httpx.Client) -> None:
    """At most 100 faults are named, and none by a path of a million characters."""
    items = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
    name = define(http, tool(f"{system.target.url}/echo", section={"params_schema": items}))
    for arguments in ({"a": list(range(50_000))}, {"k" * 400_000: list(range(500))}):
        answer = http.post("/v1/calls", json={"tool": name, "arguments": arguments})
        told = problem_of(answer, 422, "invalid_arguments")
        assert len(told["errors"]) <= 100
        assert len(answer.content) < 150_000
        assert len(http.get(f"/v1/calls/{told['call_id']}").content) < 150_000


def test_an_unknown_tool_is_told_everywhere(system: System, http: httpx.Client) -> None:
    """404 over HTTP and ask; on the bus the refused call is told as an event, because it is on record."""
    sent = {"tool": fresh("no"), "external_id": fresh("ext")}
    problem_of(http.post("/v1/calls", json=sent), 404, "unknown_tool")
    complete(system.ask("call.submit", json.dumps(sent).encode())["problem"], 404, "unknown_tool")
    sent = {**sent, "idempotency_key": fresh("key")}
    system.publish("submit", json.dumps(sent).encode())
    until(lambda: [one["status"] for one in http.get("/v1/calls", params=sent).json()["items"]].count("refused") == 3)


def test_payloads_are_used_as_arguments(system: System, http: httpx.Client, echo: str) -> None:
    """Uploaded values stand in wherever they are referred to; large ones travel that way by themselves."""
    large = {"text": "é" * 100_000}
    raw = json.dumps(large).encode()
    uploaded = http.post("/v1/payloads", content=raw).json()
    assert uploaded["bytes"] == len(raw)
    assert http.get(f"/v1/payloads/{uploaded['$payload']}").content == raw
    ended = call(http, echo, {"doc": {"$payload": uploaded["$payload"]}, "list": [{"$payload": uploaded["$payload"]}]})
    output = http.get(f"/v1/payloads/{ended['output']['json']['$payload']}").json()
    assert json.loads(output["body"]) == {"doc": large, "list": [large]}
    mixed = {"big": "x" * 70_000, **{f"part{n}": "y" * 20_000 for n in range(5)}}
    ended = call(http, echo, mixed)
    assert ended["arguments"]["$payload"]
    output = http.get(f"/v1/payloads/{ended['output']['json']['$payload']}").json()
    assert json.loads(output["body"]) == mixed


def test_payloads_are_checked_like_arguments(system: System, http: httpx.Client) -> None:
    """A reference hides nothing from the schema, whether it stands for one argument or for all of them."""
    name = define(http, tool(f"{system.target.url}/echo", section={"params_schema": SCHEMA}))

    def refer(value: bytes) -> dict[str, str]:
        return {"$payload": http.post("/v1/payloads", content=value).json()["$payload"]}

    bad = http.post("/v1/calls", json={"tool": name, "arguments": {"city": refer(b"5")}})
    problem_of(bad, 422, "invalid_arguments", "/arguments/city")
    whole = http.post("/v1/calls", json={"tool": name, "arguments": refer(b'{"town": "Rome"}')})
    problem_of(whole, 422, "invalid_arguments", "/arguments/city")
    assert call(http, name, refer(b'{"city": "Rome"}'))["output"]["json"]["body"] == '{"city":"Rome"}'
    no_object = http.post("/v1/calls", json={"tool": name, "arguments": refer(b"[1]")})
    problem_of(no_object, 422, "invalid_request", "/arguments")
    problem_of(http.post("/v1/calls", json={"tool": name, "arguments": {"city": refer(b"\xff")}}), 422, "not_utf8")
    unknown = {"$payload": "sha256:" + "0" * 64}
    problem_of(http.post("/v1/calls", json={"tool": name, "arguments": {"city": unknown}}), 404, "not_found")
    for digest in ("sha256:0", "x", "..%2f..%2fetc", "sha256:" + "0" * 9000):
        problem_of(http.get(f"/v1/payloads/{digest}"), 404, "not_found")
