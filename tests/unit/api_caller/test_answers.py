"""What an answer means: kept as it is, judged by its status, and always storable."""

import base64
import json
from typing import Any

import pytest

from tests.unit.api_caller.making import JSON, READ, REPEATABLE, UNSAFE, answer, item, judged
from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import Wanted, readable_headers, wanted_of
from toolbus_contracts.calls import CallError
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.outcomes import Failure, Outcome, deadline_passed, judge_failure, refused
from toolbus_contracts.executing.schemas import compiled
from toolbus_contracts.tools import FunctionSection, Terms, ToolDefinition
from toolbus_contracts.work import ApiCallOutput

WANTED = Wanted(READ)


def failure_of(outcome: Outcome) -> CallError:
    """The error of an outcome that has one."""
    assert outcome.error is not None
    return outcome.error


def succeeded(outcome: Outcome) -> dict[str, Any]:
    """The output of a success, which has the published shape."""
    assert (outcome.result, outcome.error) == ("succeeded", None)
    assert outcome.output is not None
    ApiCallOutput.model_validate(outcome.output)
    return outcome.output


def test_json_is_read() -> None:
    """A JSON answer is kept as JSON, without its bytes."""
    output = succeeded(judged(answer(201, b'\xef\xbb\xbf{"a": [1]}', headers=JSON), WANTED))
    assert output == {
        "status_code": 201,
        "headers": {"content-type": "application/json"},
        "json": {"a": [1]},
        "bytes": 13,
        "truncated": False,
    }


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/problem+json", "text/plain", None])
def test_what_looks_like_json_is_read(kind: str | None) -> None:
    """Without a claim, an object or list is read all the same."""
    headers = {} if kind is None else {"content-type": kind}
    assert succeeded(judged(answer(body=b' {"a":1}', headers=headers), WANTED))["json"] == {"a": 1}


def test_other_bodies_are_kept_as_bytes() -> None:
    """What is no JSON is kept in base64, without complaint when it claimed nothing."""
    output = succeeded(judged(answer(body=b"[no json", headers={"content-type": "text/plain"}), WANTED))
    assert (output["json"], base64.b64decode(output["content"]), "json_error" in output) == (None, b"[no json", False)
    output = succeeded(judged(answer(204), WANTED))
    assert (output["json"], "content" in output, output["bytes"]) == (None, False, 0)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"\\u0000"}',
        b'{"a":"\\ud800"}',
        b'{"a":NaN}',
        b'{"a":9007199254740993}',
        b'{"a":1,"a":2}',
        b"{",
        b'"\xff"',
        b"[" * 100_000,
    ],
)
def test_json_that_cannot_be_stored_is_kept_as_bytes(body: bytes) -> None:
    """Nothing is refused for its content: the bytes are kept, with the reason."""
    output = succeeded(judged(answer(body=body, headers=JSON), Wanted(READ, include_content=False)))
    assert output["json"] is None
    assert output["json_error"]
    if len(body) < 1000:
        assert base64.b64decode(output["content"]) == body


def test_content_can_be_asked_for_or_left_out() -> None:
    """`include_response_content` true keeps the bytes of JSON too, false leaves out those of anything else."""
    output = succeeded(judged(answer(body=b"[1]", headers=JSON), Wanted(READ, include_content=True)))
    assert (output["json"], output["content"]) == ([1], "WzFd")
    assert "content" not in succeeded(judged(answer(body=b"hi"), Wanted(READ, include_content=False)))


def test_a_body_that_cannot_be_unpacked_is_kept() -> None:
    """The bytes as they came, with the reason."""
    output = succeeded(judged(answer(body=b"[1]", headers=JSON, flaw="encoded as br"), WANTED))
    assert (output["json"], output["content"], output["json_error"]) == (None, "WzFd", "encoded as br")


@pytest.mark.parametrize("size", [70_000, 400_000])
def test_large_fields_travel_apart(size: int) -> None:
    """Above 64 KiB the JSON, or the content, is handed out to travel as a payload."""
    body = json.dumps(["x" * size]).encode()
    outcome = judged(answer(body=body, headers=JSON), WANTED)
    assert (succeeded(outcome)["json"], outcome.large) == (None, {"json": body})
    outcome = judged(answer(body=b"x" * size), WANTED)
    assert outcome.output is not None
    assert outcome.output["content"] is None
    assert base64.b64decode(json.loads(outcome.large["content"])) == b"x" * size


def test_json_that_grows_is_measured_as_it_is_written() -> None:
    """1e15 is written in 18 characters: what counts is what will be sent."""
    body = b"[" + b",".join([b"1e15"] * 5000) + b"]"
    assert judged(answer(body=body, headers=JSON), WANTED).large == {"json": body}
    small = b"[" + b",".join([b"1"] * 10_000) + b"]"
    assert judged(answer(body=small, headers=JSON), WANTED).large == {}


def test_an_answer_cannot_forge_a_reference() -> None:
    """A target that answers with what looks like a reference to a payload gets its answer stored as a payload."""
    body = b'{"$payload": "sha256:0"}'
    assert judged(answer(body=body, headers=JSON), WANTED).large == {"json": body}


def test_repeated_headers_are_joined() -> None:
    """By a comma; set-cookie by a line feed; bytes beyond ASCII as Latin-1; NUL never."""
    raw = [(b"A", b"1"), (b"a", b"2"), (b"Set-Cookie", b"x=1, y"), (b"set-cookie", b"z"), (b"B", b"\xe9\x00")]
    assert readable_headers(raw, 1000) == ({"a": "1, 2", "set-cookie": "x=1, y\nz", "b": "é\ufffd"}, False)


def test_endless_headers_are_cut() -> None:
    """Headers beyond the bound are left out, and the output says so."""
    headers = {f"h{number}": "x" * 10_000 for number in range(5)}
    output = succeeded(judged(answer(headers=headers), WANTED))
    assert (sorted(output["headers"]), output["truncated"]) == (["h0", "h1", "h2"], True)


@pytest.mark.parametrize("status", [301, 304, 400, 404, 408, 429, 500, 501, 502, 503, 504])
def test_other_statuses_fail(status: int) -> None:
    """The code is http_status; the status says whether it may be tried again and what happened."""
    for terms in (READ, UNSAFE):
        error = failure_of(judged(answer(status, b"why\x00\xff", headers={"a": "b"}), Wanted(terms)))
        assert error.code == "http_status"
        assert error.retryable == (status in {408, 429, 500, 502, 503, 504})
        assert error.effect_happened == ("no" if terms is READ or 400 <= status < 500 else "unknown")
        assert error.response is not None
        assert (error.response.status_code, error.response.body_excerpt) == (status, "why\ufffd\ufffd")
        assert error.response.headers == {"a": "b"}


def test_an_excerpt_is_at_most_4_kib() -> None:
    """Cut in bytes, never inside a character."""
    for body in ("ü".encode() * 5000, b"x" + "ü".encode() * 5000, b"\xff" * 5000):
        response = failure_of(judged(answer(500, body), WANTED)).response
        assert response is not None
        assert 4090 <= len(response.body_excerpt.encode()) <= 4096


@pytest.mark.parametrize(("terms", "happened"), [(READ, "no"), (REPEATABLE, "yes"), (UNSAFE, "yes")])
def test_an_answer_that_is_too_large_or_wrong_happened_all_the_same(terms: Terms, happened: str) -> None:
    """A 2xx that cannot be handed on is a failure whose effect is known."""
    error = failure_of(judged(answer(body=b"xxx", is_too_large=True), Wanted(terms)))
    assert (error.code, error.effect_happened, error.retryable) == ("response_too_large", happened, False)
    check = compiled({"type": "object", "required": ["a"]})
    error = failure_of(judged(answer(body=b"{}", headers=JSON), Wanted(terms, check)))
    assert (error.code, error.effect_happened, error.retryable) == ("response_invalid", happened, False)


def test_content_above_what_the_bus_carries_is_too_large() -> None:
    """Base64 makes a third more of it: beyond 50 MiB it cannot travel."""
    error = failure_of(judged(answer(body=b"x" * (40 * 1024 * 1024)), WANTED))
    assert error.code == "response_too_large"


def test_a_schema_names_what_is_wrong_by_path() -> None:
    """At most twenty faults, each with its path; no JSON at all is a fault too."""
    check = compiled({"type": "object", "additionalProperties": {"type": "integer"}})
    body = json.dumps({f"k{number}": "x" for number in range(50)} | {"a/b": 1}).encode()
    error = failure_of(judged(answer(body=body, headers=JSON), Wanted(READ, check)))
    assert (len(error.details), error.details[0].path) == (20, "/k0")
    error = failure_of(judged(answer(body=b"hi"), Wanted(READ, check)))
    assert error.details[0].message == "the body is no JSON"
    error = failure_of(judged(answer(body=b"{NaN}", headers=JSON), Wanted(READ, check)))
    assert "not JSON" in error.details[0].message
    assert succeeded(judged(answer(body=b'{"a":1}', headers=JSON), Wanted(READ, check)))["json"] == {"a": 1}


def test_what_a_definition_wants_of_an_answer() -> None:
    """Terms, schema and content come from the work item and its request."""
    work = item({"schema": False, "include_response_content": True})
    made = build_request(work, user_agent="x")
    wanted = wanted_of(work, made)
    assert (wanted.terms, wanted.include_content) == (work.terms, True)
    assert wanted.check is not None
    assert wanted_of(item({}), made).check is None
    other = ToolDefinition(name="f", function=FunctionSection())
    assert wanted_of(work.model_copy(update={"definition": other}), made).check is None


# ── no complete answer ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("terms", [READ, REPEATABLE, UNSAFE])
@pytest.mark.parametrize("kind", ["timeout", "lost", "too_late"])
def test_nothing_was_sent(kind: Any, terms: Terms) -> None:
    """Whatever the reason, what was not sent had no effect and may be tried again."""
    outcome = judge_failure(Failure(kind, "why", is_sent=False), terms)
    error = failure_of(outcome)
    assert (outcome.result, error.code, error.retryable, error.effect_happened) == (
        "not_sent",
        "connection_failed",
        True,
        "no",
    )


@pytest.mark.parametrize(
    ("kind", "code"), [("timeout", "timeout"), ("too_late", "timeout"), ("lost", "connection_lost")]
)
@pytest.mark.parametrize(
    ("terms", "may_be_repeated", "happened"),
    [(READ, True, "no"), (REPEATABLE, True, "unknown"), (UNSAFE, False, "unknown")],
)
def test_no_answer_after_sending(kind: Any, code: str, *, terms: Terms, may_be_repeated: bool, happened: str) -> None:
    """It is told as it is, whatever the terms: what it means for the call is not decided here."""
    outcome = judge_failure(Failure(kind, "why", is_sent=True), terms)
    error = failure_of(outcome)
    assert (outcome.result, error.code, error.effect_happened) == ("unknown", code, happened)
    assert error.retryable == may_be_repeated


@pytest.mark.parametrize("terms", [READ, REPEATABLE, UNSAFE])
@pytest.mark.parametrize("is_sent", [False, True])
def test_what_the_guard_stops_failed(terms: Terms, *, is_sent: bool) -> None:
    """Never to be tried again; only a redirect that was followed there leaves the effect open."""
    outcome = judge_failure(Failure("denied", "intra:80 is not reached: private", is_sent=is_sent), terms)
    error = failure_of(outcome)
    assert (outcome.result, error.code, error.retryable) == ("failed", "egress_denied", False)
    assert error.message == "intra:80 is not reached: private"
    assert error.effect_happened == ("unknown" if is_sent and terms != READ else "no")


def test_a_broken_body_keeps_what_came() -> None:
    """After a 2xx the outcome is not known, but the beginning of the answer is; another status says enough."""
    lost = Failure("lost", "broken off", is_sent=True)
    outcome = judged(answer(200, b"part", failure=lost), Wanted(UNSAFE))
    response = failure_of(outcome).response
    assert response is not None
    assert (outcome.result, response.status_code, response.body_excerpt) == ("unknown", 200, "part")
    assert failure_of(judged(answer(404, b"part", failure=lost), Wanted(UNSAFE))).code == "http_status"


def test_refusals_and_deadlines_send_nothing() -> None:
    """Both are failures without effect that are not tried again."""
    for outcome, code in (
        (refused(Refused("request_invalid", "no")), "request_invalid"),
        (deadline_passed(), "deadline_passed"),
    ):
        error = failure_of(outcome)
        assert (outcome.result, error.code, error.retryable, error.effect_happened) == ("failed", code, False, "no")
