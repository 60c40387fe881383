"""Function calls in the hands of clients: lease, heartbeat, release, complete."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from toolbus_approvals.adapters.tokens import PREFIX
from toolbus_approvals.completing import answer_in
from toolbus_approvals.http.services import Wired, caller
from toolbus_contracts.calls import CallView, view_call
from toolbus_contracts.waits import CompleteCall, HeartbeatWait, LeasedCall, LeaseView, LeaseWaits, ReleaseWait
from toolbus_runtime.commands import parsed
from toolbus_runtime.http.auth import Caller, refuse_nul, require
from toolbus_runtime.http.bodies import read_object
from toolbus_runtime.http.document import body_of, refusals
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Shape

router = APIRouter(tags=["functions"])


class LeasedCalls(Shape):
    """The calls that a worker holds now; fewer than asked for when no more wait, none when none does."""

    items: list[LeasedCall]


@router.post("/v1/waits/lease", response_model=LeasedCalls, openapi_extra=body_of(LeaseWaits))
async def lease(request: Request, parts: Wired, who: Annotated[Caller, caller("work")]) -> Response:
    """Take waiting function calls to work on, oldest first; nobody else gets them until `leased_until`."""
    body, _ = await read_object(request)
    found = await parts.leasing.lease(parsed(LeaseWaits, body), key=who.key)
    return JsonResponse({"items": [leased.model_dump(mode="json") for leased in found]})


@router.post(
    "/v1/waits/{wait_id}/heartbeat",
    response_model=LeaseView,
    responses=refusals(404, 409),
    openapi_extra=body_of(HeartbeatWait),
)
async def heartbeat(wait_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("work")]) -> Response:
    """Keep a leased call for longer, from now on."""
    body, _ = await read_object(request)
    kept = await parts.leasing.heartbeat(wait_id, parsed(HeartbeatWait, body), key=who.key)
    return JsonResponse(kept.model_dump(mode="json"))


@router.post(
    "/v1/waits/{wait_id}/release",
    status_code=204,
    response_class=Response,
    responses=refusals(404, 409),
    openapi_extra=body_of(ReleaseWait),
)
async def release(wait_id: str, request: Request, parts: Wired, who: Annotated[Caller, caller("work")]) -> Response:
    """Give a leased call back, so that another worker may have it at once."""
    body, _ = await read_object(request)
    await parts.leasing.release(wait_id, parsed(ReleaseWait, body), key=who.key)
    return Response(status_code=204)


async def _worker(request: Request, parts: Wired) -> Caller | str:
    """Who completes: a caller whose key has the scope, or the text of a call's own token."""
    refuse_nul(request)
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text.strip().startswith(f"{PREFIX}_"):
        return text.strip()
    return await require("work", parts.key)(request)


_worker.scope = "work"  # type: ignore[attr-defined]  # read by the generated reference


@router.post(
    "/v1/calls/{call_id}/complete",
    response_model=CallView,
    responses=refusals(404, 409),
    openapi_extra=body_of(CompleteCall),
)
async def complete(
    call_id: str, request: Request, parts: Wired, who: Annotated[Caller | str, Depends(_worker)]
) -> Response:
    """
    Say what a function came to: `output` or `error`; the call's own token (`wt_…`) stands in for a key.

    The same answer again changes nothing; another one is a conflict, and so is one that comes too late.
    """
    body, _ = await read_object(request)
    command = answer_in(body)
    if isinstance(who, str):
        tenant, call = await parts.completing.by_token(call_id, command, token=who)
    else:
        tenant, call = who.tenant, await parts.completing.by_key(call_id, command, key=who.key)
    return JsonResponse(view_call(call, tenant=tenant, now=datetime.now(UTC)).model_dump(mode="json"))
