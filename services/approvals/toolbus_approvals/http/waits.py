"""`/v1/waits`: read what stands still, and speak."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from toolbus_approvals.adapters.queries import WaitFilter
from toolbus_approvals.http.services import Wired, caller, spoken
from toolbus_contracts.waits import (
    AnswerWait,
    ApproveWait,
    DelegateWait,
    DenyWait,
    Simulated,
    SimulateWait,
    Wait,
    WaitDetail,
    WaitKind,
    view_wait,
)
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, MAX_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["waits"])
Include = Annotated[Literal["arguments"] | None, Query(description="arguments: those of each wait, and of its edits")]
REFUSED = refusals(404, 409)


def shown(wait: Wait) -> Response:
    """A wait, whole."""
    return JsonResponse(view_wait(wait).model_dump(mode="json"))


@router.get("/v1/waits", response_model=Page[WaitDetail])
async def list_waits(
    parts: Wired,
    who: Annotated[Caller, caller("read")],
    kind: WaitKind | None = None,
    status: Literal["open", "closed"] | None = None,
    tool: str | None = None,
    call_id: str | None = None,
    include: Include = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List waits, newest first; without arguments unless asked for."""
    wanted = WaitFilter(kind=kind, status=status, tool=tool, call_id=call_id)
    found, behind = await parts.desk.list(who.tenant, wanted, before=decode_cursor(cursor), limit=limit)
    items = [_item(wait, is_whole=include is not None) for wait in found]
    return JsonResponse({"items": items, "next_cursor": None if behind is None else encode_cursor(behind)})


def _item(wait: Wait, *, is_whole: bool) -> dict[str, Any]:
    item = view_wait(wait).model_dump(mode="json")
    if not is_whole:
        item |= {"arguments": None, "proposed": None}
        item["edits"] = [{**edit, "arguments": None} for edit in item["edits"]]
    return item


@router.post(
    "/v1/waits/simulate", response_model=Simulated, responses=refusals(404), openapi_extra=body_of(SimulateWait)
)
async def simulate(request: Request, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """Tell who would have to approve a call; nothing is recorded."""
    body, _ = await read_object(request)
    found = await parts.desk.simulate(who.tenant, parsed(SimulateWait, body), spoken(who))
    return JsonResponse(found.model_dump(mode="json", by_alias=True))


@router.get("/v1/waits/{wait_id}", response_model=WaitDetail, responses=refusals(404))
async def get(wait_id: str, parts: Wired, who: Annotated[Caller, caller("read")]) -> Response:
    """Read one wait."""
    return shown(await parts.desk.wait(who.tenant, wait_id))


@router.post(
    "/v1/waits/{wait_id}/approve", response_model=WaitDetail, responses=REFUSED, openapi_extra=body_of(ApproveWait)
)
async def approve(wait_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """Agree to what the digest stands for, or change the arguments and agree to that."""
    body, _ = await read_object(request)
    return shown(await parts.desk.approve(who.tenant, wait_id, parsed(ApproveWait, body), spoken(who)))


@router.post("/v1/waits/{wait_id}/deny", response_model=WaitDetail, responses=REFUSED, openapi_extra=body_of(DenyWait))
async def deny(wait_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """Say no, which ends the call."""
    body, _ = await read_object(request)
    return shown(await parts.desk.deny(who.tenant, wait_id, parsed(DenyWait, body), spoken(who)))


@router.post(
    "/v1/waits/{wait_id}/answer", response_model=WaitDetail, responses=REFUSED, openapi_extra=body_of(AnswerWait)
)
async def answer(wait_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """Supply the values that a call asks for."""
    body, _ = await read_object(request)
    return shown(await parts.desk.answer(who.tenant, wait_id, parsed(AnswerWait, body), spoken(who)))


@router.post(
    "/v1/waits/{wait_id}/delegate", response_model=WaitDetail, responses=REFUSED, openapi_extra=body_of(DelegateWait)
)
async def delegate(wait_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("approve")]) -> Response:
    """Let somebody else decide this wait in one's place."""
    body, _ = await read_object(request)
    return shown(await parts.desk.delegate(who.tenant, wait_id, parsed(DelegateWait, body), spoken(who)))
