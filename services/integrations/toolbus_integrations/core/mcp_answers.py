"""From the answer of an MCP server to an outcome: what is kept of it, and what it says about the effect."""

import base64
import json
from dataclasses import dataclass
from typing import Final

from toolbus_contracts.calls import CallError, Detail, EffectHappened, ResponseExcerpt
from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.executing.outcomes import Failure, Outcome, effect_after, judge_failure, refused
from toolbus_contracts.tools import JsonObject, Terms
from toolbus_contracts.values import Json, compact, parse_json, storable
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_THRESHOLD_BYTES
from toolbus_integrations.core.mcp_questions import asked_by

# Source: JSON-RPC 2.0 §5.1, and MCP 2026-07-28 and 2025-11-25, error codes.
CONNECTION_CLOSED: Final = -32000
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
URL_ELICITATION: Final = -32042
NOTHING_RAN: Final = frozenset({-32700, -32600, -32601, -32602, HEADER_MISMATCH})
UNREADABLE: Final = -32700
RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
CLIENT_ERRORS: Final = range(400, 500)
MAX_MESSAGE_CHARS: Final = 4000
MAX_APART_BYTES: Final = 50 * 1024 * 1024 - 2  # the bucket takes no more


@dataclass(frozen=True, slots=True)
class Heard:
    """
    What our own transport knows of the exchange, whatever the library made of it.

    `failure`: why no complete answer came, if none did. `is_session_gone`: the server answered that it knows no such
    session, so that it carried nothing out. `response` is there when HTTP told an error, and `is_rpc` when its body was
    one of JSON-RPC. `is_unreadable`: a success, or a redirect, that is no answer of the protocol.
    """

    failure: Failure | None = None
    is_too_large: bool = False
    is_unreadable: bool = False
    is_session_gone: bool = False
    is_rpc: bool = False
    response: ResponseExcerpt | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class RpcError:
    """An error of JSON-RPC, the server's own or one that the library made."""

    code: int
    message: str


def judge_result(result: JsonObject, terms: Terms) -> Outcome:
    """What a result means: `result` as it came over the wire."""
    if wants_input(result):
        return _asked(result)
    output, large = output_of(result)
    if any(len(body) > MAX_APART_BYTES for body in large.values()):
        message = f"a part of the answer has more than {MAX_APART_BYTES} bytes as JSON"
        error = CallError(code="response_too_large", message=message, effect_happened=after_answer(terms))
        return Outcome("failed", error=error)
    if not output["is_error"]:
        return Outcome("succeeded", output=output, large=large)
    told = output["text"] or "the tool reports an error and does not say which"
    error = CallError(code="tool_error", message=told[:MAX_MESSAGE_CHARS], effect_happened=effect_after(terms))
    return Outcome("failed", error=error)


def wants_input(result: JsonObject) -> bool:
    """Whether a server did nothing yet, because it wants to know more."""
    return result.get("resultType") == "input_required"


def judge_error(error: RpcError, heard: Heard, terms: Terms) -> Outcome:
    """What it means that an error came back instead of a result."""
    if heard.is_too_large:
        return _failed(
            heard, "the answer is larger than max_output_bytes", after_answer(terms), code="response_too_large"
        )
    if heard.failure is not None:
        return judge_failure(heard.failure, terms)
    if heard.is_unreadable:
        return _failed(heard, error.message, effect_after(terms), code="response_invalid")
    if heard.is_session_gone:
        message = "the server had forgotten the session, and carried nothing out"
        return Outcome("not_sent", error=CallError(code="connection_failed", message=message, retryable=True))
    if heard.response is not None and not heard.is_rpc:
        return _status(heard.response, heard, terms)
    if error.code in {MISSING_CAPABILITY, URL_ELICITATION}:
        return unasked((Detail(path="", message=error.message[:MAX_MESSAGE_CHARS]),))
    if error.code == UNREADABLE:
        return _failed(heard, error.message, after_answer(terms), code="response_invalid")
    happened: EffectHappened = "no" if error.code in NOTHING_RAN else effect_after(terms)
    return _failed(heard, f"{error.message or 'no message'} ({error.code})", happened, code="mcp_error")


def output_of(result: JsonObject) -> tuple[JsonObject, dict[str, bytes]]:
    """What is kept of a result (`McpOutput`), and by field what is too large to travel in it."""
    return _split(kept(result))


def kept(result: JsonObject) -> JsonObject:
    """
    What is kept of a result.

    What no strict JSON reader would keep as it is stays as `raw`, with the reason.
    """
    content = result.get("content") or []
    is_error = result.get("isError") is True
    try:
        parse_json(_bytes(result))
    except (Unreadable, ValueError) as flaw:
        raw = base64.b64encode(_bytes(result, is_strict=False)).decode()
        return {"content": [], "is_error": is_error, "raw": raw, "json_error": str(flaw)[:MAX_MESSAGE_CHARS]}
    texts = [block["text"] for block in content if block.get("type") == "text"]
    output: JsonObject = {"text": "\n".join(texts) if texts else None}
    if "structuredContent" in result:
        output["structured"] = result["structuredContent"]
    return {**output, "content": content, "is_error": is_error}


def _split(output: JsonObject) -> tuple[JsonObject, dict[str, bytes]]:
    large = {}
    for name, value in output.items():
        body = _bytes(value)
        if len(body) > PAYLOAD_THRESHOLD_BYTES or PAYLOAD_KEY.encode() in body:
            large[name] = body  # also what would be taken for a reference, which a server must not forge
    return {"text": None, **output} | dict.fromkeys(large), large


def _failed(heard: Heard, message: str, happened: EffectHappened, *, code: str) -> Outcome:
    told = storable(message[:MAX_MESSAGE_CHARS])
    error = CallError(code=code, message=told, effect_happened=happened, response=heard.response)
    return Outcome("failed", error=error, retry_after_s=heard.retry_after_s)


def after_answer(terms: Terms) -> EffectHappened:
    """A success that we cannot hand on: the effect happened all the same."""
    return "no" if terms.effect == "read" else "yes"


def _status(response: ResponseExcerpt, heard: Heard, terms: Terms) -> Outcome:
    """A 4xx says that nothing happened; behind a 5xx something may have."""
    says_no = response.status_code in CLIENT_ERRORS
    error = CallError(
        code="http_status",
        message=f"the server answered {response.status_code}",
        retryable=response.status_code in RETRYABLE,
        effect_happened="no" if says_no or terms.is_safe_to_repeat else "unknown",
        response=response,
    )
    return Outcome("failed", error=error, retry_after_s=heard.retry_after_s)


def _asked(result: JsonObject) -> Outcome:
    """What is asked of a person; what cannot be is told by its names, and nothing was done."""
    try:
        return Outcome("input_required", asked=asked_by(result))
    except Refused as refusal:
        return refused(refusal)


def unasked(details: tuple[Detail, ...]) -> Outcome:
    """The server wants somebody to supply more first, in a way in which nobody is asked: it has done nothing yet."""
    message = "the server wants somebody to supply more before it goes on, in a way that is not offered"
    error = CallError(code="input_required", message=message, effect_happened="no", details=details)
    return Outcome("failed", error=error)


def _bytes(value: Json, *, is_strict: bool = True) -> bytes:
    """JSON of a value. Raises: ValueError, when it is strict and the value holds what JSON does not know."""
    if is_strict:
        return compact(value).encode()
    return json.dumps(value).encode()
