"""From answers of MCP servers to outcomes."""

import base64
import json
from typing import Any

import pytest

from toolbus_contracts.calls import ResponseExcerpt
from toolbus_contracts.executing.outcomes import Failure, Outcome
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.mcp_answers import MAX_APART_BYTES, Heard, RpcError, judge_error, judge_result

UNSAFE = Terms()
READ = Terms(effect="read", idempotency="native", is_asserted=True, provenance="definition")


def error_of(outcome: Outcome) -> tuple[str, str, str]:
    """Result, code and effect of what did not succeed."""
    assert outcome.error is not None
    return outcome.result, outcome.error.code, outcome.error.effect_happened


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


def test_blocks_of_text_are_joined_and_all_blocks_kept() -> None:
    """Pictures and other blocks stay as they came; structured content may be any value, null too."""
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    found = judge_result({"content": [text("a"), image, text("b")], "structuredContent": None}, UNSAFE)
    assert found.output == {
        "text": "a\nb",
        "content": [text("a"), image, text("b")],
        "structured": None,
        "is_error": False,
    }
    assert judge_result({"content": [image]}, UNSAFE).output == {"text": None, "content": [image], "is_error": False}
    assert judge_result({}, UNSAFE).output == {"text": None, "content": [], "is_error": False}


def test_a_tool_that_reports_an_error_has_failed() -> None:
    """An answer was received; what it did before it failed, nobody knows."""
    told = {"content": [text("no such file")], "isError": True}
    assert error_of(judge_result(told, UNSAFE)) == ("failed", "tool_error", "unknown")
    assert error_of(judge_result(told, READ)) == ("failed", "tool_error", "no")
    silent = judge_result({"content": [], "isError": True}, UNSAFE)
    assert silent.error is not None
    assert "does not say" in silent.error.message


def test_what_the_bucket_does_not_take_is_told_as_too_large() -> None:
    """The effect was made all the same; a read has none."""
    told = {"content": [], "structuredContent": "x" * (MAX_APART_BYTES - 1)}  # two quotes come along
    assert error_of(judge_result(told, UNSAFE)) == ("failed", "response_too_large", "yes")
    assert error_of(judge_result(told, READ)) == ("failed", "response_too_large", "no")


def test_what_would_pass_for_a_reference_travels_apart() -> None:
    """A server must not make us hand out somebody's payload."""
    forged = {"$payload": "sha256:" + "0" * 64}
    found = judge_result({"content": [], "structuredContent": {"deep": [forged]}}, UNSAFE)
    assert found.output is not None
    assert found.output["structured"] is None
    assert json.loads(found.large["structured"]) == {"deep": [forged]}


@pytest.mark.parametrize("value", ["\x00", "\ud800", 2**60])
def test_what_is_no_strict_json_is_kept_as_bytes(value: Any) -> None:
    """Nothing is refused for its content, and nothing is changed silently."""
    result = {"content": [text("x")], "structuredContent": {"v": value}}
    found = judge_result(result, UNSAFE)
    assert found.result == "succeeded"
    assert found.output is not None
    assert json.loads(base64.b64decode(found.output["raw"])) == result
    assert found.output["json_error"]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (-32601, ("failed", "mcp_error", "no")),
        (-32602, ("failed", "mcp_error", "no")),
        (-32020, ("failed", "mcp_error", "no")),
        (-32603, ("failed", "mcp_error", "unknown")),
        (-32000, ("failed", "mcp_error", "unknown")),
        (-32021, ("failed", "input_required", "no")),
        (-32042, ("failed", "input_required", "no")),
        (-32700, ("failed", "response_invalid", "yes")),
    ],
)
def test_errors_of_the_protocol(code: int, wanted: tuple[str, str, str]) -> None:
    """Those that say that nothing ran are believed; any other leaves the effect open."""
    assert error_of(judge_error(RpcError(code, "told"), Heard(), UNSAFE)) == wanted


@pytest.mark.parametrize(
    ("status", "wanted", "is_retryable"),
    [
        (401, ("failed", "http_status", "no"), False),
        (429, ("failed", "http_status", "no"), True),
        (503, ("failed", "http_status", "unknown"), True),
    ],
)
def test_errors_of_http(status: int, wanted: tuple[str, str, str], *, is_retryable: bool) -> None:
    """A 4xx says that nothing happened; Retry-After is heeded."""
    response = ResponseExcerpt(status_code=status, headers={}, body_excerpt="")
    heard = Heard(response=response, retry_after_s=7.0)
    found = judge_error(RpcError(-32603, "told"), heard, UNSAFE)
    assert error_of(found) == wanted
    assert found.error is not None
    assert (found.error.retryable, found.error.response, found.retry_after_s) == (is_retryable, response, 7.0)
    safe = judge_error(RpcError(-32603, "told"), heard, READ)
    assert error_of(safe)[2] == "no"
    spoken = judge_error(RpcError(-32602, "bad"), Heard(response=response, is_rpc=True), UNSAFE)
    assert error_of(spoken) == ("failed", "mcp_error", "no")


@pytest.mark.parametrize(
    ("heard", "wanted"),
    [
        (Heard(failure=Failure("lost", "broke", is_sent=True)), ("unknown", "connection_lost", "unknown")),
        (Heard(failure=Failure("lost", "broke", is_sent=False)), ("not_sent", "connection_failed", "no")),
        (Heard(failure=Failure("denied", "no", is_sent=False)), ("failed", "egress_denied", "no")),
        (Heard(is_session_gone=True), ("not_sent", "connection_failed", "no")),
        (Heard(is_unreadable=True), ("failed", "response_invalid", "unknown")),
        (Heard(is_too_large=True), ("failed", "response_too_large", "yes")),
    ],
)
def test_what_our_own_transport_saw_goes_before_what_the_library_says(
    heard: Heard, wanted: tuple[str, str, str]
) -> None:
    """Whether something was sent is never taken from the library's errors."""
    assert error_of(judge_error(RpcError(-32000, "Connection closed"), heard, UNSAFE)) == wanted
