"""From an answer to an outcome: what is kept of it, and what its status says about the effect."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from toolbus_contracts.calls import CallError, Detail, EffectHappened, ResponseExcerpt
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.executing.outcomes import Failure, Outcome, judge_failure
from toolbus_contracts.executing.schemas import Check, compiled
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.retry_after import retry_after_s
from toolbus_contracts.tools import JsonObject, Terms
from toolbus_contracts.values import Json, compact, parse_json
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_THRESHOLD_BYTES, WorkItem

RETRYABLE = frozenset({408, 429, 500, 502, 503, 504})
SERVER_ERRORS = 500
CLIENT_ERRORS = 400
MAX_EXCERPT_BYTES = 4 * 1024
MAX_HEADERS_CHARS = 32 * 1024
MAX_EXCERPT_HEADERS_CHARS = 8 * 1024
MAX_PAYLOAD_BYTES = 50 * 1024 * 1024 - 2  # of text between its quotes; the bucket takes no more
_GROWTH = 5  # JSON written by us is at most this many times as long as what was read (1e15 and the like)
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """
    What came back: the body unpacked, as far as it was read.

    `failure` is set when the connection broke or the time was up after the status had come;
    `is_too_large` when reading stopped at the bound; `flaw` when the body could not be unpacked and
    is kept as it came; `is_dropped` when it could not be searched for secrets, and only its status is left.
    """

    status_code: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    is_too_large: bool = False
    flaw: str | None = None
    failure: Failure | None = None
    is_dropped: bool = False

    @property
    def is_success(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status_code <= 299  # noqa: PLR2004 - the class of status that the name says


class Wanted(NamedTuple):
    """What the definition wants of an answer."""

    terms: Terms
    check: Check | None = None
    include_content: bool | None = None


def wanted_of(item: WorkItem, request: HttpRequest) -> Wanted:
    """What a work item wants of the answer to its request."""
    section = item.definition.api_call
    schema = None if section is None else section.response_schema
    return Wanted(item.terms, None if schema is None else compiled(schema), request.include_response_content)


class _Body(NamedTuple):
    """A body read as JSON: the value when `is_json`, else the reason when it claimed to be."""

    value: Json
    is_json: bool
    error: str | None


def judge_answer(answer: HttpAnswer, wanted: Wanted, now: datetime) -> Outcome:
    """
    What an answer that came by `now` means.

    A status that is no success is an answer even when its body broke off; a success is one only when
    it is whole.
    """
    if not answer.is_success:
        error = _status_error(answer, wanted.terms)
        return Outcome("failed", error=error, retry_after_s=retry_after_s(answer.headers, now))
    if answer.is_dropped:
        return _rejected("redaction_failed", "the answer was dropped: it could not be searched", answer, wanted.terms)
    if answer.failure is not None:
        return judge_failure(replace(answer.failure, response=excerpt(answer)), wanted.terms)
    if answer.is_too_large:
        message = f"the answer is larger than max_output_bytes; reading stopped after {len(answer.body)} bytes"
        return _rejected("response_too_large", message, answer, wanted.terms)
    headers, is_cut = readable_headers(answer.headers, MAX_HEADERS_CHARS)
    body = _read_json(answer, headers.get("content-type", ""))
    if wanted.check is not None and (faults := _faults(body, wanted.check)):
        message = f"the answer does not fit its schema: {faults[0].message}"
        return _rejected("response_invalid", message, answer, wanted.terms, details=faults)
    return _succeeded(answer, headers, body, wanted, is_cut=is_cut)


def readable_headers(raw: Iterable[tuple[bytes, bytes]], max_chars: int) -> tuple[dict[str, str], bool]:
    """
    Headers as storable text, by lower-case name, and whether some were left out for length.

    Repeated ones are joined by a comma; `set-cookie`, whose values hold commas, by a line feed.
    Source: RFC 9110 §5.3, RFC 6265 §3.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = _text(raw_name).lower(), _text(raw_value)
        max_chars -= len(name) + len(value)
        if max_chars < 0:
            return found, True
        if name in found:
            found[name] += ("\n" if name == "set-cookie" else ", ") + value
        else:
            found[name] = value
    return found, False


def excerpt(answer: HttpAnswer) -> ResponseExcerpt:
    """The beginning of an answer, for people."""
    text = answer.body[:MAX_EXCERPT_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd")
    headers, _ = readable_headers(answer.headers, MAX_EXCERPT_HEADERS_CHARS)
    cut = text.encode()[:MAX_EXCERPT_BYTES].decode("utf-8", "ignore")
    return ResponseExcerpt(status_code=answer.status_code, headers=headers, body_excerpt=cut)


def _text(raw: bytes) -> str:
    return raw.decode("latin-1").replace("\x00", "\ufffd")


def _status_error(answer: HttpAnswer, terms: Terms) -> CallError:
    """A 4xx says that nothing happened; behind a redirect or a 5xx something may have."""
    says_no = CLIENT_ERRORS <= answer.status_code < SERVER_ERRORS
    return CallError(
        code="http_status",
        message=f"the target answered {answer.status_code}",
        retryable=answer.status_code in RETRYABLE,
        effect_happened="no" if says_no or terms.is_safe_to_repeat else "unknown",
        response=excerpt(answer),
    )


def _rejected(
    code: str, message: str, answer: HttpAnswer, terms: Terms, *, details: tuple[Detail, ...] = ()
) -> Outcome:
    """A 2xx that we cannot hand on: the effect happened all the same."""
    happened: EffectHappened = "no" if terms.effect == "read" else "yes"
    error = CallError(code=code, message=message, effect_happened=happened, details=details, response=excerpt(answer))
    return Outcome("failed", error=error)


def _read_json(answer: HttpAnswer, content_type: str) -> _Body:
    """Strict JSON or the reason why not; a body that claims nothing is read when it looks like JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    body = answer.body.removeprefix(_BOM)
    claims = kind.endswith(("/json", "+json"))
    if not body or not (claims or body.lstrip(b" \t\r\n")[:1] in {b"{", b"["}):
        return _Body(None, is_json=False, error=None)
    if answer.flaw is not None:
        return _Body(None, is_json=False, error=answer.flaw)
    try:
        return _Body(parse_json(body), is_json=True, error=None)
    except Unreadable as error:
        told = "; ".join(f"{fault.path or '/'}: {fault.message}" for fault in error.faults[:5]) or error.message
        return _Body(None, is_json=False, error=told if claims else None)


def _faults(body: _Body, check: Check) -> tuple[Detail, ...]:
    if not body.is_json:
        return (Detail(path="", message=body.error or "the body is no JSON"),)
    return check(body.value)


def _succeeded(answer: HttpAnswer, headers: dict[str, str], body: _Body, wanted: Wanted, *, is_cut: bool) -> Outcome:
    output: JsonObject = {"status_code": answer.status_code, "headers": headers, "json": body.value}
    large: dict[str, bytes] = {}
    if body.is_json and (_is_large(answer.body, body.value) or _looks_like_reference(body.value)):
        output["json"], large["json"] = None, answer.body.removeprefix(_BOM)
    is_wanted = wanted.include_content if wanted.include_content is not None else not body.is_json
    if (is_wanted or body.error is not None) and answer.body:
        content = base64.b64encode(answer.body).decode()
        if len(content) > MAX_PAYLOAD_BYTES:
            message = f"the answer is larger than {MAX_PAYLOAD_BYTES} bytes in base64"
            return _rejected("response_too_large", message, answer, wanted.terms)
        if len(content) > PAYLOAD_THRESHOLD_BYTES:
            output["content"], large["content"] = None, f'"{content}"'.encode()
        else:
            output["content"] = content
    if body.error is not None:
        output["json_error"] = body.error
    output |= {"bytes": len(answer.body), "truncated": is_cut}
    return Outcome("succeeded", output=output, large=large)


def _is_large(raw: bytes, value: Json) -> bool:
    if len(raw) > PAYLOAD_THRESHOLD_BYTES:
        return True
    may_grow = len(raw) * _GROWTH > PAYLOAD_THRESHOLD_BYTES
    return may_grow and len(compact(value).encode()) > PAYLOAD_THRESHOLD_BYTES


def _looks_like_reference(value: Json) -> bool:
    """True for an answer that would be taken for a reference to a payload, which the target must not forge."""
    return isinstance(value, dict) and PAYLOAD_KEY in value
