"""Signing in with an API key, and out again."""

import hmac
import re
import secrets

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from toolbus_approvals.inbox.forms import read_form
from toolbus_approvals.inbox.guarding import (
    SEE_OTHER,
    SIGN_IN,
    get_cookie,
    open_door,
    posted,
    refuse_other_sites,
    set_cookie,
)
from toolbus_approvals.inbox.pages import render
from toolbus_approvals.inbox.parts import has_scope, parts_of
from toolbus_approvals.inbox.sessions import LASTS, SIGN_IN_LASTS, new_session
from toolbus_contracts.keys import Key
from toolbus_runtime.http.auth import parse_token, secret_hash

BEFORE = "before"  # the cookie that binds the form to the browser before there is a session
_OWN_PAGE = re.compile(r"/|/inbox/waits/wait_[0-9a-f]{32}")


async def sign_in_page(request: Request) -> Response:
    """The form that asks for a key."""
    return _form(request, _next(request.query_params.get("next", "")))


def _next(path: str) -> str:
    """A page of ours, wherever somebody wants a visitor to be sent to."""
    return path if _OWN_PAGE.fullmatch(path) else "/"


def _form(request: Request, following: str, error: str = "", status_code: int = 200) -> Response:
    parts = parts_of(request)
    until = parts.clock() + SIGN_IN_LASTS
    before = parts.seals.seal(BEFORE, {"id": secrets.token_urlsafe(18)}, until)
    token = parts.seals.form_token(before)
    page = HTMLResponse(render("sign_in.html", token=token, following=following, error=error), status_code=status_code)
    set_cookie(request, page, BEFORE, value=before, lasts=SIGN_IN_LASTS)
    return page


async def sign_in(request: Request) -> Response:
    """Begin a session, when the key is valid and has the scope `approve`."""
    parts = parts_of(request)
    refuse_other_sites(request)
    form = await read_form(request)
    following = _next(form.one("next"))
    before = get_cookie(request, BEFORE)
    is_ours = parts.seals.open(BEFORE, before, parts.clock()) is not None
    if not is_ours or not parts.seals.is_form_token(before, form.one("token")):
        return _form(request, following, "This form was too old. Please try again.", 403)
    key = await _key(request, form.one("key"))
    if key is None:
        return _form(request, following, "This is no valid key.", 401)
    if not has_scope(key, "approve"):
        return _form(request, following, "This key lacks the scope approve.", 403)
    response = RedirectResponse(following, status_code=SEE_OTHER)
    open_door(request, response, new_session(key.tenant, key.key_id, parts.clock()))
    set_cookie(request, response, BEFORE, value="", lasts=SIGN_IN_LASTS)
    return response


async def _key(request: Request, text: str) -> Key | None:
    """The key of a token, if it is the right token and the key opens anything."""
    parts = parts_of(request)
    token = parse_token(text)
    key = await parts.find_key(token.tenant, token.key_id) if token else None
    if token is None or key is None or not hmac.compare_digest(key.secret_hash, secret_hash(token.secret)):
        return None
    return key if key.is_valid(parts.clock()) else None


async def sign_out(request: Request) -> Response:
    """End the session: its cookie opens nothing any more, wherever a copy of it may be."""
    who, _ = await posted(request)
    parts = parts_of(request)
    await parts.ended.add(who.session.id, who.session.ends_at, parts.clock())
    response = RedirectResponse(SIGN_IN, status_code=SEE_OTHER)
    set_cookie(request, response, "session", value="", lasts=LASTS)
    return response
