"""Answers of the HTTP API, as the server writes them, to be changed by a test."""

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
CALL = "call_" + "0a" * 16
EXECUTION = "exec_" + "0a" * 16
HASH = "sha256:" + "ab" * 32
WAIT = "wait_" + "0a" * 16
LEASE = "lease_" + "0a" * 16


def at(seconds: float) -> str:
    """A moment so many seconds after the beginning of every test's time."""
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def call(**changes: Any) -> dict[str, Any]:
    """A call that succeeded; `later_field` is what only a newer server knows."""
    return {
        "id": CALL,
        "tool": "get_weather",
        "tool_version": 1,
        "type": "api_call",
        "status": "succeeded",
        "execution_id": EXECUTION,
        "external_id": None,
        "arguments": {"city": "Berlin"},
        "output": {"status_code": 200, "json": {"temp": 21}},
        "error": None,
        "attempt": 1,
        "contract": {"effect": "read", "idempotency": "native", "is_asserted": True, "provenance": "method"},
        "digest": HASH,
        "definition_hash": HASH,
        "labels": {"team": "ops"},
        "actor": {"subject": "user:ana", "key_id": "key_1", "via": "http", "on_behalf_of": None},
        "requested_at": at(0),
        "finished_at": at(0.312),
        "retry_at": None,
        "is_effect_doubled": False,
        "wait": None,
        "why": None,
        "later_field": {"of": "a newer server"},
        **changes,
    }


def open_call(**changes: Any) -> dict[str, Any]:
    """A call that goes on by itself."""
    told = "attempt 1 runs and is stopped in 3.0 s at the latest"
    return call(**{"status": "running", "output": None, "finished_at": None, "why": told, **changes})


def error(code: str = "http_status", **changes: Any) -> dict[str, Any]:
    """Why a call did not succeed."""
    return {
        "code": code,
        "message": "the target answered 500",
        "retryable": False,
        "effect_happened": "no",
        "details": [],
        "response": None,
        **changes,
    }


def wait(kind: str = "approval") -> dict[str, Any]:
    """What a standing call waits for."""
    return {"id": "wait_1", "kind": kind, "digest": HASH, "since": at(1), "expires_at": at(86401)}


def leased(**changes: Any) -> dict[str, Any]:
    """A function call that a worker holds."""
    return {
        "wait_id": WAIT,
        "call_id": CALL,
        "lease_id": LEASE,
        "tool": "draft_letter",
        "arguments": {"to": "ana"},
        "token": "wt_default_x",
        "leased_until": at(60),
        "expires_at": at(86400),
        "attempt": 1,
        "later_field": None,
        **changes,
    }


def lease(**changes: Any) -> dict[str, Any]:
    """Until when a worker holds a call."""
    return {"wait_id": WAIT, "lease_id": LEASE, "leased_until": at(120), **changes}


def tool(**changes: Any) -> dict[str, Any]:
    """A tool version."""
    return {
        "name": "get_weather",
        "scope": "tenant",
        "type": "api_call",
        "description": "Current weather",
        "version": 1,
        "definition_hash": HASH,
        "contract": {"effect": "read", "idempotency": "native", "is_asserted": True, "provenance": "method"},
        "definition": definition(),
        "defined_at": at(0),
        "retired_at": None,
        **changes,
    }


def definition() -> dict[str, Any]:
    """A tool definition as its owner writes it."""
    return {
        "name": "get_weather",
        "description": "Current weather",
        "type": "api_call",
        "api_call": {"method": "GET", "url": "https://api.example.com/{city}"},
    }


def execution(**changes: Any) -> dict[str, Any]:
    """An execution that succeeded."""
    return {
        "id": EXECUTION,
        "status": "succeeded",
        "parent": None,
        "labels": {},
        "input": None,
        "output": None,
        "reason": "",
        "calls": {"succeeded": 1},
        "started_at": at(0),
        "finished_at": at(0.312),
        **changes,
    }


def event(position: int, kind: str = "call.requested.v1", seconds: float = 0.0, **data: Any) -> dict[str, Any]:
    """An event of a call, `seconds` after the beginning."""
    call_id = data.get("call_id", CALL)
    return {
        "position": position,
        "id": f"event-{position}",
        "kind": kind,
        "category": kind.split(".", maxsplit=1)[0],
        "subject_id": call_id,
        "version": position,
        "data": {"kind": kind, "call_id": call_id, "at": at(seconds), **data},
        "actor": {"subject": "user:ana", "via": "http"},
        "correlation_id": EXECUTION,
        "causation_id": "cause",
        "recorded_at": at(seconds),
        "hash": "0" * 64,
    }


def transition(position: int = 1, **changes: Any) -> dict[str, Any]:
    """One step of an execution."""
    return {
        "position": position,
        "type": "step",
        "call_id": CALL,
        "tool": "get_weather",
        "status": "succeeded",
        "output": None,
        "at": at(1),
        **changes,
    }


def key(**changes: Any) -> dict[str, Any]:
    """A key without its secret."""
    return {
        "id": "key_1",
        "tenant": "default",
        "subject": "user:ana",
        "roles": [],
        "scopes": ["read", "submit"],
        "tools": None,
        "created_at": at(0),
        "expires_at": None,
        "revoked_at": None,
        **changes,
    }


def letter(**changes: Any) -> dict[str, Any]:
    """A dead letter as lists show it."""
    return {
        "id": "dead_7",
        "reason": "too_many_deliveries",
        "subject": "toolbus.cmd.default.call.submit",
        "stream": "COMMANDS",
        "sequence": 12,
        "stored_at": at(0),
        "died_at": at(1),
        "deliveries": 20,
        "error": "KeyError: 'x'",
        "bytes": 19,
        "is_redrivable": True,
        **changes,
    }


def opened(**changes: Any) -> dict[str, Any]:
    """A dead letter with what is in it."""
    inside = {"call_id": CALL, "headers": {"traceparent": "00-1"}, "body": {"tool": "t"}, "content": None}
    return {**letter(), **inside, **changes}


def redriven(letter_id: str = "dead_7", outcome: str = "decided") -> dict[str, Any]:
    """A dead letter that was dealt with."""
    return {"id": letter_id, "outcome": outcome, "call_id": CALL}


def page(*items: Any, next_cursor: str | None = None) -> dict[str, Any]:
    """One page of a list."""
    return {"items": list(items), "next_cursor": next_cursor}


def problem(code: str, status: int, **changes: Any) -> dict[str, Any]:
    """A problem document."""
    return {
        "type": f"https://docs.example.com/errors#{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": f"it is {code}",
        "code": code,
        "next_step": f"mend {code}",
        "instance": "/requests/1",
        **changes,
    }


def sse(*events: dict[str, Any]) -> str:
    """Events as a stream sends them."""
    import json

    return "".join(
        f"id: {event['position']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n" for event in events
    )


def provider(**changes: Any) -> dict[str, Any]:
    """A provider of ready tools with one method."""
    method = {
        "method": "search",
        "description": "Search it.",
        "arguments": {"type": "object", "properties": {"query": {}, "count": {}}, "required": ["query"]},
        "output": {"type": "object"},
        "contract": {"effect": "read", "idempotency": "native"},
        "timeout_s": 30.0,
        "retry_on": [500],
    }
    return {
        "provider": "library",
        "package": "toolbus-library",
        "version": "1.0",
        "info": {"friendly_name": "The library", "url": "https://library.example", "docs": "", "icon": ""},
        "extra": None,
        "setup": {"type": "object", "properties": {"key": {}, "base_url": {}}, "required": ["key"]},
        "methods": [method],
        "fault": None,
        **changes,
    }


def mcp_server(**changes: Any) -> dict[str, Any]:
    """An MCP server over HTTP."""
    return {
        "name": "files",
        "transport": "http",
        "url": "https://mcp.example.com/mcp",
        "headers": {"X-Team": "blue"},
        "bearer": "secret://files",
        "pin": "pin",
        "timeout_s": 30.0,
        "stored_at": at(0),
        **changes,
    }


def mcp_surface(*tools: dict[str, Any]) -> dict[str, Any]:
    """What a server says of itself."""
    return {"server": "files", "version": "1.0", "protocol": "2026-07-28", "tools": list(tools)}


def mcp_tool(name: str = "read_file", **changes: Any) -> dict[str, Any]:
    """A tool as its server describes it."""
    return {"name": name, "description": "Read it.", "arguments": {"type": "object"}, **changes}


def stored(**changes: Any) -> dict[str, Any]:
    """What is stored for a tool."""
    found = {"level": "tenant", "level_id": "all", "tool": "search"}
    return {**found, "setup": {"key": "secret://key"}, "arguments": {"limit": 3}, **changes}
