"""Requests about calls."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypedDict
from uuid import uuid4

from toolbus.client.exchange import Answer, Page, Request, dump, parse, problem_from, reading, reading_page
from toolbus.client.failures import Problem, UnexpectedAnswer
from toolbus.client.requests.parts import MAX_WAIT_S, When, labelled, part, query_of, waiting
from toolbus_contracts.calls import CallView
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import Json

Tool: TypeAlias = str | ToolDefinition | Mapping[str, Json]


class CallOptions(TypedDict, total=False):
    """
    What may be said about a call beside its tool and arguments.

    `execution_id`: the execution it belongs to. `deadline_s`: seconds after which nothing is begun any
    more. `priority`: 0 to 9, higher first. `context`: the session, task, user and agent whose stored values hold.
    `dry_run` (for `submit`) only tells whether it would be
    accepted. Without `idempotency_key` the client makes one, so that
    repeating a lost request cannot submit twice.
    """

    idempotency_key: str
    execution_id: str
    external_id: str
    deadline_s: float
    priority: int
    labels: Mapping[str, str]
    on_behalf_of: str
    context: Mapping[str, str]
    expected_definition_hash: str
    dry_run: bool


class CallFilter(TypedDict, total=False):
    """Which calls to list. `since` and `until` are aware times or RFC 3339 text; `include` adds large fields."""

    status: str
    tool: str
    type: str
    execution_id: str
    external_id: str
    labels: Mapping[str, str]
    since: When
    until: When
    include: Iterable[str]


def call_body(tool: Tool, arguments: Mapping[str, Json] | None, options: CallOptions) -> dict[str, Json]:
    """The body of a submission, with an idempotency key; a tool may be named or brought along."""
    named: Json = tool
    if isinstance(tool, ToolDefinition):
        named = tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return keyed({"tool": named, "arguments": dict(arguments or {}), **options})


def keyed(body: Mapping[str, Json]) -> dict[str, Json]:
    """The body with its idempotency key, or with a new one."""
    return {**body, "idempotency_key": body.get("idempotency_key") or f"client-{uuid4().hex}"}


def submit_call(body: Mapping[str, Json], wait_s: float = 0.0) -> Request[CallView]:
    """POST /v1/calls; repeatable because the body holds an idempotency key."""
    return Request(
        "POST", "/v1/calls", reading(CallView), waiting(wait_s), body=dump(body), wait_s=min(wait_s, MAX_WAIT_S)
    )


def submit_batch(bodies: list[Mapping[str, Json]]) -> Request[tuple[CallView | Problem, ...]]:
    """POST /v1/calls/batch; one result per body, in order."""

    def read(answer: Answer) -> tuple[CallView | Problem, ...]:
        found = answer.json()
        items = found.get("items") if isinstance(found, dict) else None
        if not isinstance(items, list) or len(items) != len(bodies):
            raise UnexpectedAnswer(f"the answer does not hold one item for each of the {len(bodies)} calls")
        return tuple(_batch_item(item) for item in items)

    return Request("POST", "/v1/calls/batch", read, body=dump({"calls": bodies}))


def _batch_item(item: Json) -> CallView | Problem:
    if not isinstance(item, dict):
        raise UnexpectedAnswer("an item of the batch is no object")
    if item.get("call") is not None:
        return parse(CallView, item["call"])
    told = item.get("problem")
    return problem_from(told if isinstance(told, dict) else {}, int(item.get("status") or 500))


def get_call(call_id: str, wait_s: float = 0.0) -> Request[CallView]:
    """GET /v1/calls/{id}."""
    path = f"/v1/calls/{part(call_id)}"
    return Request("GET", path, reading(CallView), waiting(wait_s), wait_s=min(wait_s, MAX_WAIT_S))


def cancel_call(call_id: str, reason: str = "") -> Request[CallView]:
    """POST /v1/calls/{id}/cancel; asking twice is asking once."""
    body = {"reason": reason} if reason else {}
    return Request("POST", f"/v1/calls/{part(call_id)}/cancel", reading(CallView), body=dump(body))


def settle_call(call_id: str, outcome: str, *, note: str, output: Json = None) -> Request[CallView]:
    """POST /v1/calls/{id}/settle; not repeatable, for it might settle a later doubt of the same call."""
    body = {"outcome": outcome, "note": note, **({} if output is None else {"output": output})}
    path = f"/v1/calls/{part(call_id)}/settle"
    return Request("POST", path, reading(CallView), body=dump(body), is_repeatable=False)


def list_calls(asked: CallFilter, limit: int | None = None, cursor: str | None = None) -> Request[Page[CallView]]:
    """GET /v1/calls."""
    query = query_of(
        limit=limit,
        cursor=cursor,
        status=asked.get("status"),
        tool=asked.get("tool"),
        type=asked.get("type"),
        execution_id=asked.get("execution_id"),
        external_id=asked.get("external_id"),
        since=asked.get("since"),
        until=asked.get("until"),
        include=",".join(asked.get("include", ())) or None,
    )
    return Request("GET", "/v1/calls", reading_page(CallView), (*query, *labelled(asked.get("labels"))))
