"""`/v1/dead`: messages that nobody could use, and handing them to their handlers again."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from toolbus_contracts.dead import OpenedLetterView, Redriven
from toolbus_dispatcher.core.dead import opened, view
from toolbus_dispatcher.http.calls import Limit
from toolbus_dispatcher.http.services import Wired, caller
from toolbus_dispatcher.http.shapes import DeadPage
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.document import refusals
from toolbus_runtime.http.paging import DEFAULT_LIMIT, decode_cursor, encode_cursor
from toolbus_runtime.http.responses import JsonResponse

router = APIRouter(tags=["dead"])
Reason = Annotated[str | None, Query(pattern="^[a-z0-9_]{1,64}$", description="an error code")]


@router.get("/v1/dead", response_model=DeadPage)
async def list_letters(
    parts: Wired,
    who: Annotated[Caller, caller("operate")],
    reason: Reason = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Response:
    """List dead letters, newest first, without what is in them. A page of large ones may be shorter than `limit`."""
    letters = parts.redriving.letters
    page = await letters.page(who.tenant, reason, before=decode_cursor(cursor), limit=limit)
    return JsonResponse(
        {
            "items": [view(letter).model_dump(mode="json") for letter in page.items],
            "next_cursor": encode_cursor(page.before) if page.before is not None else None,
            "counts": await letters.counts(who.tenant),
        }
    )


@router.get("/v1/dead/{letter_id}", response_model=OpenedLetterView, responses=refusals(404))
async def get(letter_id: str, parts: Wired, who: Annotated[Caller, caller("operate")]) -> Response:
    """Read a dead letter with what is in it."""
    letter = await parts.redriving.letters.find(who.tenant, letter_id)
    return JsonResponse(opened(letter).model_dump(mode="json"))


@router.post("/v1/dead/{letter_id}/redrive", response_model=Redriven, responses=refusals(404, 409))
async def redrive(letter_id: str, parts: Wired, who: Annotated[Caller, caller("operate")]) -> Response:
    """
    Let its handler try again; on success the letter is gone, on a refusal it stays.

    The message keeps the identity that it had: a command that was decided after all is not decided a second time.
    """
    redriven = await parts.redriving.redrive(letter_id, tenant=who.tenant, actor=who.actor)
    return JsonResponse(redriven.model_dump(mode="json"))
