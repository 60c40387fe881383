"""`/v1/executions`: open, read, follow, finish, cancel."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Fault, NotFound, Unreadable
from toolbus_contracts.executions import (
    CancelExecution,
    ExecutionStatus,
    ExecutionView,
    FinishExecution,
    StartExecution,
    Transition,
)
from toolbus_dispatcher.aggregates import CALL, EXECUTION
from toolbus_dispatcher.core.timeline import Timeline
from toolbus_dispatcher.http.calls import Labels, Limit, aware, labelled
from toolbus_dispatcher.http.services import Services, Wired, caller, still_valid
from toolbus_dispatcher.http.shapes import EventView
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals, resumable
from toolbus_runtime.http.events import event_view
from toolbus_runtime.http.paging import DEFAULT_LIMIT, decode_cursor, encode_cursor, position_in
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page
from toolbus_runtime.http.sse import EventStreamResponse, Wanted, event_stream, last_event_id
from toolbus_runtime.payloads import keep_large

router = APIRouter(tags=["executions"])
At = Annotated[str | None, Query(description="a time or a position: the state as it was then")]
PAGE = 1000
OWN = (EXECUTION, CALL)  # keys and tools have correlation ids, too, and not every reader may see them


@router.post(
    "/v1/executions",
    status_code=201,
    response_model=ExecutionView,
    openapi_extra=body_of(StartExecution, required=False),
)
async def start(request: Request, parts: Wired, who: Annotated[Caller, caller("submit")]) -> Response:
    """Open an execution that calls can be put into."""
    body, _ = await read_object(request)
    command = parsed(StartExecution, body)
    command = command.model_copy(update={"input": await keep_large(parts.store, who.tenant, command.input)})
    execution = await parts.resources.start_execution(command, tenant=who.tenant, actor=who.actor)
    timeline = await timeline_of(parts, who.tenant, execution.id, None)
    return JsonResponse(timeline.view().model_dump(mode="json"), status_code=201)


@router.get("/v1/executions", response_model=Page[ExecutionView])
async def list_executions(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    status: ExecutionStatus | None = None,
    parent: str | None = None,
    label: Labels = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List executions, newest first."""
    labels = [labelled(text) for text in label or ()]
    rows = await parts.queries.executions(
        who.tenant, status=status, parent=parent, labels=labels, before=decode_cursor(cursor), limit=limit
    )
    items = [(await timeline_of(parts, who.tenant, found, None)).view().model_dump(mode="json") for found, _ in rows]
    return JsonResponse({"items": items, "next_cursor": encode_cursor(rows[-1][1]) if len(rows) == limit else None})


@router.get("/v1/executions/{execution_id}", response_model=ExecutionView, responses=refusals(404))
async def get(execution_id: str, parts: Wired, who: Annotated[Caller, caller("read")], at: At = None) -> Response:
    """Read an execution as it stands, or as it stood `at` a time or position."""
    timeline = await timeline_of(parts, who.tenant, execution_id, at)
    return JsonResponse(timeline.view().model_dump(mode="json"))


@router.get("/v1/executions/{execution_id}/transitions", response_model=Page[Transition], responses=refusals(404))
async def transitions(
    execution_id: str, parts: Wired, who: Annotated[Caller, caller("read")], at: At = None
) -> Response:
    """The step-by-step view, oldest first."""
    timeline = await timeline_of(parts, who.tenant, execution_id, at)
    items = [one.model_dump(mode="json") for one in timeline.transitions]
    return JsonResponse({"items": items, "next_cursor": None})


@router.get("/v1/executions/{execution_id}/events", response_model=Page[EventView], responses=refusals(404))
async def events(
    execution_id: str,
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    limit: Limit = DEFAULT_LIMIT,
) -> Response:
    """The events of an execution and of its calls, oldest first; `next_cursor` is the `after` of the next page."""
    found = await parts.store.read(
        after=after, limit=limit, tenant=who.tenant, categories=OWN, correlation_id=execution_id
    )
    if not found and after == 0:
        raise NotFound(f"there is no execution {execution_id}")
    return JsonResponse(events_page(found, limit))


def events_page(found: list[StoredEvent], limit: int) -> dict[str, Any]:
    """A page of events, oldest first."""
    next_cursor = str(found[-1].position) if len(found) == limit else None
    return {"items": [event_view(event) for event in found], "next_cursor": next_cursor}


@router.get(
    "/v1/executions/{execution_id}/events/stream",
    response_class=EventStreamResponse,
    responses=refusals(404),
    openapi_extra=resumable(),
)
async def stream(
    execution_id: str,
    request: Request,
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    after: Annotated[int | None, Query(ge=0, lt=2**62)] = None,
) -> Response:
    """
    Follow an execution live (server-sent events); the id is the position, `Last-Event-ID` resumes.

    It stays open when the execution has ended: hang up when its end, or that of the call, has come.
    """
    known = await parts.store.read(limit=1, tenant=who.tenant, categories=OWN, correlation_id=execution_id)
    if not known:
        raise NotFound(f"there is no execution {execution_id}")
    place = last_event_id(request, after)
    if place is None:
        place = known[0].position - 1

    wanted = Wanted(who.tenant, execution_id, OWN)
    return event_stream(parts.feed, parts.store, place, wanted, may_go_on=still_valid(parts, who))


@router.post(
    "/v1/executions/{execution_id}/finish",
    response_model=ExecutionView,
    responses=refusals(404, 409),
    openapi_extra=body_of(FinishExecution, required=False),
)
async def finish(
    execution_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("submit")]
) -> Response:
    """Take no further calls; the execution ends when the last of its calls has ended."""
    body, _ = await read_object(request)
    command = parsed(FinishExecution, body)
    command = command.model_copy(update={"output": await keep_large(parts.store, who.tenant, command.output)})
    await parts.resources.finish_execution(
        execution_id, command.status, tenant=who.tenant, actor=who.actor, output=command.output
    )
    return await get(execution_id, parts, who)


@router.post(
    "/v1/executions/{execution_id}/cancel",
    response_model=ExecutionView,
    responses=refusals(404, 409),
    openapi_extra=body_of(CancelExecution, required=False),
)
async def cancel(
    execution_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("submit")]
) -> Response:
    """Stop an execution and every call in it that can still be stopped."""
    body, _ = await read_object(request)
    command = parsed(CancelExecution, body)
    await parts.resources.finish_execution(
        execution_id, "cancelled", tenant=who.tenant, actor=who.actor, reason=command.reason
    )
    return await get(execution_id, parts, who)


async def timeline_of(parts: Services, tenant: str, execution_id: str, at: str | None) -> Timeline:
    """
    Fold everything that was recorded of an execution, up to a time or position.

    Raises:
        NotFound: nothing was recorded by then.
        Unreadable: `at` is neither a time nor a position.
    """
    until_position, until_time = moment_of(at)

    def is_past(event: StoredEvent) -> bool:
        return (until_position is None or event.position <= until_position) and (
            until_time is None or event.recorded_at <= until_time
        )

    timeline, after, is_more = Timeline(execution_id), 0, True
    while is_more:
        page = await parts.store.read(
            after=after, limit=PAGE, tenant=tenant, categories=OWN, correlation_id=execution_id
        )
        timeline.add([event for event in page if is_past(event)])
        is_more = len(page) == PAGE and is_past(page[-1])  # what comes later is not read to be left out
        after = page[-1].position if page else after
    if not timeline.is_known:
        raise NotFound(f"there is no execution {execution_id}" + (f" at {at}" if at else ""))
    return timeline


def moment_of(at: str | None) -> tuple[int | None, datetime | None]:
    """Read `at` as a position or a time. Raises: Unreadable."""
    if at is None:
        return None, None
    position = position_in(at)
    if position is not None:
        return position, None
    try:
        return None, aware(datetime.fromisoformat(at), "at")
    except ValueError as error:
        message = "neither a position nor a time (RFC 3339)"
        raise Unreadable("invalid_request", message, (Fault("/query/at", message),)) from error
