"""`/v1/calls`: submit, read, list, cancel, settle."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BeforeValidator, StringConstraints

from toolbus_contracts.calls import Call, CallStatus, CallView, CancelCall, SettleDoubt, SubmitCall, view_call
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Fault, ToolbusError, Unreadable
from toolbus_contracts.problems import problem, problem_of_call
from toolbus_contracts.values import Json, refuse_number
from toolbus_dispatcher.adapters.queries import CallFilter
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.core.calls import known
from toolbus_dispatcher.http.services import Services, Wired, caller
from toolbus_dispatcher.http.shapes import BatchAnswer
from toolbus_runtime.commands import new_id, parsed
from toolbus_runtime.http import problems
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_like, body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["calls"])
MAX_BATCH = 1000
MAX_LABEL_CHARS = 63 + 1 + 256
BATCH = {
    "type": "object",
    "required": ["calls"],
    "additionalProperties": False,
    "properties": {
        "calls": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_BATCH,
            "description": "each as in `POST /v1/calls`; a bad one has its own result and harms no other",
        }
    },
}
Wait = Annotated[float, Query(ge=0, le=60, description="seconds to wait for the end of the call")]
Moment = Annotated[datetime | None, BeforeValidator(refuse_number), Query(description="RFC 3339; UTC without a zone")]
MAX_VALUES = 32  # of one repeated query parameter
Labels = Annotated[
    list[Annotated[str, StringConstraints(max_length=MAX_LABEL_CHARS)]] | None,
    Query(description="key:value; repeated: all of them", max_length=MAX_VALUES),
]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]
Include = Annotated[str, Query(pattern="^((arguments|output)(,(arguments|output))*)?$")]


def shown(call: Call, tenant: str, parts: Services) -> dict[str, Any]:
    """A call as JSON."""
    held = None if call.is_terminal else parts.holding.explain(call.id)
    return view_call(call, tenant=tenant, now=datetime.now(UTC), held=held).model_dump(mode="json")


@router.post(
    "/v1/calls",
    status_code=202,
    response_model=CallView,
    responses={200: {"model": CallView, "description": "It ended while it was waited for"}, **refusals(404, 409)},
    openapi_extra=body_of(SubmitCall),
)
async def submit(
    request: Request,
    parts: Wired,
    who: Annotated[Caller, caller("submit")],
    wait_s: Wait = 0,
    idempotency_key: Annotated[
        str | None, Header(alias="Idempotency-Key", description="`idempotency_key`, unless the body has one")
    ] = None,
) -> Response:
    """Submit a call; 202 means that it is on disk. With `wait_s` the answer is the ended call, if it ends in time."""
    body, size = await read_object(request)
    if idempotency_key is not None and body.get("idempotency_key") is None:
        body["idempotency_key"] = idempotency_key
    decided = await parts.intake.submit(
        body,
        tenant=who.tenant,
        actor=who.actor,
        key=who.key,
        size=size,
        traceparent=request.headers.get("traceparent"),
    )
    call: Call = decided.state
    refusal = problem_of_call(call)
    if refusal is not None:
        return problems.respond(refusal)
    if body.get("dry_run"):
        return JsonResponse(shown(call, who.tenant, parts))
    call = await parts.watch.until_still(who.tenant, call, wait_s)
    return JsonResponse(shown(call, who.tenant, parts), status_code=200 if call.is_terminal else 202)


@router.post("/v1/calls/batch", status_code=202, response_model=BatchAnswer, openapi_extra=body_like(BATCH))
async def submit_batch(request: Request, parts: Wired, who: Annotated[Caller, caller("submit")]) -> Response:
    """Submit up to 1,000 calls at once; each has its own result, in order."""
    body, _ = await read_object(request)
    items = body.get("calls")
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_BATCH or body.keys() != {"calls"}:
        message = f"calls must be a list of 1 to {MAX_BATCH} calls, and nothing else"
        raise Unreadable("invalid_request", message, (Fault("/calls", message),))
    results = await asyncio.gather(*(_submit_one(parts, who, item) for item in items))
    return JsonResponse({"items": results}, status_code=202)


async def _submit_one(parts: Services, who: Caller, item: Json) -> dict[str, Any]:
    try:
        if not isinstance(item, dict):
            raise Unreadable("invalid_request", "a call is an object", (Fault("", "not an object"),))
        size = len(str(item))
        decided = await parts.intake.submit(item, tenant=who.tenant, actor=who.actor, key=who.key, size=size)
    except ToolbusError as error:
        return {"status": error.status, "problem": problem(error)}
    refusal = problem_of_call(decided.state)
    if refusal is not None:
        return {"status": refusal["status"], "problem": refusal}
    return {"status": 202, "call": shown(decided.state, who.tenant, parts)}


@router.get("/v1/calls/{call_id}", response_model=CallView, responses=refusals(404))
async def get(call_id: str, parts: Wired, who: Annotated[Caller, caller("read")], wait_s: Wait = 0) -> Response:
    """Read a call as it stands now."""
    call = await find(parts, who.tenant, call_id)
    call = await parts.watch.until_still(who.tenant, call, wait_s)
    return JsonResponse(shown(call, who.tenant, parts))


async def find(parts: Services, tenant: str, call_id: str) -> Call:
    """The call, folded from its stream. Raises: NotFound."""
    call: Call | None = await parts.batcher.states.read(tenant, CALL, call_id)
    return known(call, call_id)


@router.get("/v1/calls", response_model=Page[CallView])
async def list_calls(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    status: Annotated[list[CallStatus] | None, Query(max_length=MAX_VALUES)] = None,
    tool: str | None = None,
    type_: Annotated[str | None, Query(alias="type")] = None,
    execution_id: str | None = None,
    external_id: str | None = None,
    label: Labels = None,
    since: Moment = None,
    until: Moment = None,
    include: Include = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List calls, newest first, without arguments and output unless included."""
    wanted = CallFilter(
        status=tuple(status or ()),
        tool=tool,
        type=type_,
        execution_id=execution_id,
        external_id=external_id,
        labels=tuple(labelled(text) for text in label or ()),
        since=aware(since, "since"),
        until=aware(until, "until"),
    )
    rows = await parts.queries.calls(who.tenant, wanted, before=decode_cursor(cursor), limit=limit)
    streams = {stream_name(who.tenant, CALL, call_id): call_id for call_id, _ in rows}
    states = await parts.batcher.states.read_many(streams)
    hidden = {"arguments", "output"} - set(include.split(","))
    items = []
    for stream in streams:
        view = shown(states[stream], who.tenant, parts)
        items.append({**view, **dict.fromkeys(hidden)})
    return JsonResponse({"items": items, "next_cursor": encode_cursor(rows[-1][1]) if len(rows) == limit else None})


@router.post(
    "/v1/calls/{call_id}/cancel",
    response_model=CallView,
    responses=refusals(404, 409),
    openapi_extra=body_of(CancelCall, required=False, without="call_id"),
)
async def cancel(call_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("submit")]) -> Response:
    """Stop a call; one whose unsafe attempt has started is asked to stop, and keeps its own outcome."""
    body, _ = await read_object(request)
    command = parsed(CancelCall, {**_closed(body, {"reason"}), "call_id": call_id})
    decided = await parts.lifecycle.cancel(command, tenant=who.tenant, actor=who.actor, causation_id=new_id("cmd"))
    return JsonResponse(shown(decided.state, who.tenant, parts))


@router.post(
    "/v1/calls/{call_id}/settle",
    response_model=CallView,
    responses=refusals(404, 409),
    openapi_extra=body_of(SettleDoubt, without="call_id"),
)
async def settle(call_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("operate")]) -> Response:
    """Say what really happened to a call in doubt."""
    body, _ = await read_object(request)
    command = parsed(SettleDoubt, {**_closed(body, {"outcome", "output", "note"}), "call_id": call_id})
    decided = await parts.lifecycle.settle(command, tenant=who.tenant, actor=who.actor)
    return JsonResponse(shown(decided.state, who.tenant, parts))


def _closed(body: dict[str, Json], allowed: set[str]) -> dict[str, Json]:
    unknown = sorted(body.keys() - allowed)
    if unknown:
        faults = tuple(Fault(f"/{name}", "unknown field") for name in unknown)
        raise Unreadable("invalid_request", f"unknown field {unknown[0]}", faults)
    return body


def labelled(text: str) -> tuple[str, str]:
    """Take `key:value` apart. Raises: Unreadable."""
    key, colon, value = text.partition(":")
    if not key or not colon:
        raise Unreadable("invalid_request", "a label is key:value", (Fault("/query/label", "not key:value"),))
    return key, value


def aware(moment: datetime | None, name: str) -> datetime | None:
    """A time from the query parameter `name`, in UTC when it says no zone. Raises: Unreadable."""
    if moment is None:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        message = "this time is outside the calendar"
        raise Unreadable("invalid_request", message, (Fault(f"/query/{name}", message),)) from error
