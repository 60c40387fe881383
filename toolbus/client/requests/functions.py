"""Requests of those who carry out functions: take waiting calls, keep them, give them back, complete them."""

from collections.abc import Iterable, Mapping

from toolbus.client.exchange import Answer, Request, dump, parse, reading
from toolbus.client.failures import UnexpectedAnswer
from toolbus.client.requests.parts import nothing, part
from toolbus_contracts.calls import CallView
from toolbus_contracts.values import Json
from toolbus_contracts.waits import LeasedCall, LeaseView

VISIBILITY_S = 60.0  # Source: API.md, POST /v1/waits/lease


def lease_calls(
    tools: Iterable[str], limit: int = 1, visibility_s: float = VISIBILITY_S
) -> Request[tuple[LeasedCall, ...]]:
    """POST /v1/waits/lease; not repeatable, for what a lost answer held stays held until its time is over."""
    body = {"tools": list(tools), "max": limit, "visibility_s": visibility_s}
    return Request("POST", "/v1/waits/lease", _leased, body=dump(body), is_repeatable=False)


def _leased(answer: Answer) -> tuple[LeasedCall, ...]:
    found = answer.json()
    items = found.get("items") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise UnexpectedAnswer("the answer is no list: it has no items")
    return tuple(parse(LeasedCall, item) for item in items)


def keep_lease(wait_id: str, lease_id: str, visibility_s: float = VISIBILITY_S) -> Request[LeaseView]:
    """POST /v1/waits/{id}/heartbeat."""
    body = {"lease_id": lease_id, "visibility_s": visibility_s}
    return Request("POST", f"/v1/waits/{part(wait_id)}/heartbeat", reading(LeaseView), body=dump(body))


def release_lease(wait_id: str, lease_id: str) -> Request[None]:
    """POST /v1/waits/{id}/release; giving back twice is giving back once."""
    return Request("POST", f"/v1/waits/{part(wait_id)}/release", nothing, body=dump({"lease_id": lease_id}))


def complete_call(
    call_id: str, output: Json = None, error: str | Mapping[str, Json] | None = None, token: str | None = None
) -> Request[CallView]:
    """POST /v1/calls/{id}/complete; the same answer twice is one answer. A `token` stands in for the API key."""
    body: dict[str, Json] = {"output": output}
    if error is not None:
        body = {"error": {"message": error} if isinstance(error, str) else dict(error)}
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return Request("POST", f"/v1/calls/{part(call_id)}/complete", reading(CallView), headers=headers, body=dump(body))
