"""What the page shows: the list, one wait, and what changes meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse

from toolbus_approvals.inbox.forms import Form, fields_of
from toolbus_approvals.inbox.guarding import SEE_OTHER, SignInNeededError, Visitor, get_cookie, set_cookie, visitor
from toolbus_approvals.inbox.pages import render, static_files
from toolbus_approvals.inbox.parts import Change, Inbox, has_scope, parts_of
from toolbus_approvals.inbox.sessions import NOTICE_LASTS
from toolbus_approvals.inbox.showing import Detail, Large, detail_of, references_in, row_of
from toolbus_approvals.inbox.values import DiffLine, Shown, show
from toolbus_contracts.errors import NotFound, ToolbusError, Unavailable
from toolbus_contracts.executing.payloads import digests_in, payload_value
from toolbus_contracts.problems import problem
from toolbus_contracts.values import Json
from toolbus_contracts.waits import Wait
from toolbus_runtime.http.paging import decode_cursor, encode_cursor

MAX_ROWS = 200
MAX_LARGE = 10  # values that are looked up for one page
MAX_WHOLE_BYTES = 8 * 1024 * 1024  # of them, for the request that is shown
NOTICE = "notice"
FOREVER = "public, max-age=31536000, immutable"
SETTLE_SCOPES = ("operate",)
COMPLETE_SCOPES = ("work",)


async def list_page(request: Request) -> Response:
    """The newest open waits, or those that are older than a place (`before`)."""
    who = await visitor(request)
    values = await _listed(request, who)
    notice = notice_in(request)
    page = HTMLResponse(render("list.html", **frame(request, who), **values, notice=notice))
    if notice is not None:
        set_cookie(request, page, NOTICE, value="", lasts=NOTICE_LASTS)
    return page


async def list_part(request: Request) -> Response:
    """The rows alone, for a page that is open already."""
    who = await visitor(request)
    return HTMLResponse(render("_rows.html", **await _listed(request, who)))


async def _listed(request: Request, who: Visitor) -> dict[str, Any]:
    parts = parts_of(request)
    before = decode_cursor(request.query_params.get("before"))
    found, behind = await parts.open_waits(who.key, before=before, limit=MAX_ROWS)
    rows = [row_of(wait) for wait in found if wait.is_open and who.key.may_call(wait.tool)]
    return {
        "rows": rows,
        "now": parts.clock(),
        "before": "" if before is None else encode_cursor(before),
        "older": None if behind is None else encode_cursor(behind),
    }


def list_url(cursor: str) -> str:
    """Where the page of the list is that begins behind a place. Raises: Unreadable."""
    before = decode_cursor(cursor)
    return "/" if before is None else f"/?before={encode_cursor(before)}"


def frame(request: Request, who: Visitor) -> dict[str, Any]:
    """What stands around every page of somebody who is signed in."""
    token = parts_of(request).seals.form_token(who.session.id)
    return {"subject": who.key.subject, "tenant": who.tenant, "token": token}


def notice_in(request: Request) -> dict[str, str] | None:
    """What is to be told about the last thing that was done; it is told once."""
    parts = parts_of(request)
    sealed = get_cookie(request, NOTICE)
    return parts.seals.open(NOTICE, sealed, parts.clock()) if sealed else None


async def wait_page(request: Request) -> Response:
    """One wait with all that is known about it."""
    who = await visitor(request)
    wait = await allowed_wait(request, who)
    notice = notice_in(request)
    page = await show_wait(request, who, wait, notice=notice)
    if notice is not None:
        set_cookie(request, page, NOTICE, value="", lasts=NOTICE_LASTS)
    return page


async def allowed_wait(request: Request, who: Visitor) -> Wait:
    """
    The wait of the path.

    Raises:
        NotFound: there is none, or this key may not see the tool.
    """
    wait_id = request.path_params["wait_id"]
    wait = await parts_of(request).desk.wait(who.tenant, wait_id)
    if not who.key.may_call(wait.tool):
        raise NotFound(f"there is no wait {wait_id}")
    return wait


async def show_wait(
    request: Request,
    who: Visitor,
    wait: Wait,
    *,
    error: ToolbusError | None = None,
    sent: Form | None = None,
    preview: Sequence[DiffLine] | None = None,
    notice: dict[str, str] | None = None,
    status_code: int = 200,
) -> Response:
    """The page of a wait: as it stands, or with what was sent and why that was not taken."""
    parts = parts_of(request)
    detail = await _detail(parts, who, wait)
    known = {} if wait.is_from_server else wait.arguments  # what a server asks for is no argument, whatever its name
    body = render(
        "wait.html",
        **frame(request, who),
        detail=detail,
        wait=wait,
        row=detail.row,
        now=parts.clock(),
        fields=fields_of(wait.ask_user, known, sent) if wait.ask_user is not None else (),
        may_complete=has_scope(who.key, *COMPLETE_SCOPES),
        may_settle=parts.settle is not None and has_scope(who.key, *SETTLE_SCOPES),
        sent={name: sent.raw(name) for name in sent.values} if sent else {},
        preview=preview,
        notice=notice,
        told=problem(error) if error is not None else None,
    )
    return HTMLResponse(body, status_code=status_code)


async def _detail(parts: Inbox, who: Visitor, wait: Wait) -> Detail:
    large = await _large(parts, who.tenant, wait.arguments)
    make = partial(detail_of, wait, await parts.definition(who.tenant, wait), large, user_agent=parts.user_agent)
    return await asyncio.to_thread(make) if large.values else make()


async def _large(parts: Inbox, tenant: str, arguments: Json) -> Large:
    """What the arguments refer to; a body may be many megabytes, which are read beside the loop, one by one."""
    shown: dict[str, Shown] = {}
    values: dict[str, Json] = {}
    room = MAX_WHOLE_BYTES
    for digest in list(dict.fromkeys(digests_in(arguments)))[:MAX_LARGE]:
        body = await parts.payload(tenant, digest)
        shown[digest], value = await asyncio.to_thread(_read_large, body, digest)
        if body is not None and len(body) <= room:
            room -= len(body)
            values[digest] = value
    fields = references_in(arguments)
    return Large({name: shown[digest] for name, digest in fields.items() if digest in shown}, values)


def _read_large(body: bytes | None, digest: str) -> tuple[Shown, Json]:
    """The beginning of a large value, and the value."""
    if body is None:
        return Shown("(this value is missing)", is_shortened=True, digest=digest), None
    value = payload_value(body)
    found = show(value)
    return Shown(found.text, is_shortened=found.is_shortened, size_bytes=len(body), digest=digest), value


async def events(request: Request) -> Response:
    """Tell an open page which waits changed (server-sent events), as long as the session lasts."""
    who = await visitor(request)
    lines = _lines(parts_of(request).changes(who.tenant), request)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(lines, media_type="text/event-stream", headers=headers)


async def _lines(changes: AsyncIterator[Sequence[Change]], request: Request) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    try:
        async for found in changes:
            await visitor(request)
            if found:
                yield b"event: waits\ndata: %b\n\n" % orjson.dumps(sorted({change.wait_id for change in found}))
            else:
                yield b": still here\n\n"
    except (SignInNeededError, Unavailable):
        return  # the browser comes again, and hears then that it has to sign in


async def static(request: Request) -> Response:
    """A stylesheet or script of the page."""
    found = static_files().get(request.path_params["name"])
    if found is None:
        raise NotFound("there is no such file")
    is_this_one = request.query_params.get("v") == found.version
    return Response(
        found.body, media_type=found.media_type, headers={"Cache-Control": FOREVER if is_this_one else "no-cache"}
    )


def done(request: Request, where: str, text: str, kind: str = "ok") -> Response:
    """Send the browser on with a word about what was done (POST, redirect, GET)."""
    parts = parts_of(request)
    response = RedirectResponse(where, status_code=SEE_OTHER)
    sealed = parts.seals.seal(NOTICE, {"text": text, "kind": kind}, parts.clock() + NOTICE_LASTS)
    set_cookie(request, response, NOTICE, value=sealed, lasts=NOTICE_LASTS)
    return response
