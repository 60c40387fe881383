"""Who may see the page and post its forms, and the headers that every answer of it carries."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute

from toolbus_approvals.inbox.forms import Form, read_form
from toolbus_approvals.inbox.pages import render
from toolbus_approvals.inbox.parts import has_scope, parts_of
from toolbus_approvals.inbox.sessions import LASTS, Session
from toolbus_contracts.errors import NotAllowed, ToolbusError
from toolbus_contracts.keys import Key
from toolbus_contracts.problems import problem

SIGN_IN = "/inbox/sign-in"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SEE_OTHER = 303


class SignInNeededError(Exception):
    """There is no session, or not any more."""


@dataclass(frozen=True)
class Visitor:
    """Who is signed in."""

    session: Session
    key: Key

    @property
    def tenant(self) -> str:
        """The tenant, which comes from the key alone."""
        return self.key.tenant


class PageRoute(APIRoute):
    """A route whose errors are pages, and whose every answer is closed to other sites."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                response = await handle(request)
            except SignInNeededError:
                response = _to_sign_in(request)
            except ToolbusError as error:
                response = HTMLResponse(render("error.html", told=problem(error)), status_code=error.status)
            for name, value in HEADERS.items():
                response.headers[name] = value
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return guarded


def _to_sign_in(request: Request) -> Response:
    """Send a reader to the form; what was posted is lost, and a script is told so."""
    if "text/event-stream" in request.headers.get("accept", "") or request.headers.get("hx-request"):
        return Response("sign in again", status_code=401)
    there = request.scope["path"] if request.method == "GET" else "/"
    return RedirectResponse(f"{SIGN_IN}?next={quote(there, safe='/')}", status_code=SEE_OTHER)


def is_https(request: Request) -> bool:
    """True when the browser came by https: to us, or to what stands before us. Who lies here only harms themselves."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    return request.scope["scheme"] == "https" or forwarded == "https"


def cookie_name(request: Request, name: str) -> str:
    """By https a name that browsers take from this very host only. Source: RFC 6265bis §4.1.3.2."""
    return f"__Host-toolbus_{name}" if is_https(request) else f"toolbus_{name}"


def set_cookie(request: Request, response: Response, name: str, *, value: str, lasts: timedelta) -> None:
    """Set a cookie that no script reads and no other site sends; an empty value takes it away."""
    response.set_cookie(
        cookie_name(request, name),
        value,
        max_age=int(lasts.total_seconds()) if value else 0,
        path="/",
        secure=is_https(request),
        httponly=True,
        samesite="strict",
    )


def get_cookie(request: Request, name: str) -> str:
    """The value of a cookie; empty when there is none."""
    return request.cookies.get(cookie_name(request, name), "")


def open_door(request: Request, response: Response, session: Session) -> None:
    """Give the browser the session."""
    sealed = parts_of(request).seals.seal_session(session)
    set_cookie(request, response, "session", value=sealed, lasts=LASTS)


async def visitor(request: Request) -> Visitor:
    """
    Who is signed in; the key is looked at each time, so that a revoked one ends the session at once.

    Raises:
        SignInNeededError: no cookie, a forged or ended one, or the key opens nothing any more.
    """
    parts = parts_of(request)
    now = parts.clock()
    session = parts.seals.open_session(get_cookie(request, "session"), now)
    if session is None or await parts.ended.has(session.id):
        raise SignInNeededError
    key = await parts.find_key(session.tenant, session.key_id)
    if key is None or not key.is_valid(now) or not has_scope(key, "approve"):
        raise SignInNeededError
    return Visitor(session, key)


async def posted(request: Request) -> tuple[Visitor, Form]:
    """
    Who posts, and what.

    Raises:
        SignInNeededError: nobody is signed in.
        NotAllowed: the form is not from this session's page.
    """
    refuse_other_sites(request)
    who = await visitor(request)
    form = await read_form(request)
    if not parts_of(request).seals.is_form_token(who.session.id, form.one("token")):
        raise NotAllowed("this form belongs to another session; go back, reload the page and try again")
    return who, form


def refuse_other_sites(request: Request) -> None:
    """
    Refuse what another site had the browser send.

    A page under our own policy posts with `Origin: null` (no referrer, no origin): that says nothing, and neither
    does an old browser that sends no `Sec-Fetch-Site`; then the token of the form decides alone.

    Raises:
        NotAllowed: the request comes from elsewhere.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin", "null")
    own = f"{'https' if is_https(request) else 'http'}://{request.headers.get('host', '')}"
    if site not in {None, "same-origin"} or origin not in {"null", own}:
        raise NotAllowed("this came from another site")
