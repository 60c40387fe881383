"""Sessions: who gets in, for how long, and what a stolen or made-up cookie opens."""

from datetime import timedelta

import pytest

from tests.unit.approvals.inbox.browsing import browser, signed_in
from tests.unit.approvals.inbox.pretending import TENANT, Page
from toolbus_approvals.inbox.sessions import Seals, new_session
from toolbus_runtime.http.auth import new_token


async def test_a_key_of_scope_approve_opens_the_page(page: Page) -> None:
    """Signing in leads to the page that was asked for, and the cookie holds no token."""
    token = page.key()
    async with browser(page) as opened:
        first = await opened.get("/")
        assert (first.status_code, first.headers["location"]) == (303, "/inbox/sign-in?next=/")
        answer = await opened.sign_in(token)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookies = answer.headers.get_list("set-cookie")
        assert any("HttpOnly" in one and "SameSite=strict" in one and "Max-Age=28800" in one for one in cookies)
        assert not any(token.secret in one or "Secure" in one for one in cookies)
        page_text = (await opened.get("/")).text
    assert "user:ana" in page_text
    assert token.secret not in page_text


async def test_over_https_the_cookie_is_for_https_and_this_host_only(page: Page) -> None:
    """`Secure`, and the name that binds it to the host."""
    async with browser(page, "https://toolbus.example") as opened:
        answer = await opened.sign_in(page.key())
        assert all("Secure" in one for one in answer.headers.get_list("set-cookie"))
        assert "__Host-toolbus_session" in answer.headers["set-cookie"]
        assert (await opened.get("/")).status_code == 200


async def test_behind_a_proxy_that_speaks_https_the_cookie_is_secure_too(page: Page) -> None:
    """The proxy says how the browser came."""
    async with browser(page) as opened:
        answer = await opened.client.get("/inbox/sign-in", headers={"x-forwarded-proto": "https"})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("text", ["", "nonsense", new_token(TENANT, "key_" + "f" * 32).text()])
async def test_what_is_no_key_opens_nothing(page: Page, text: str) -> None:
    """The form comes again, and says so."""
    async with browser(page) as opened:
        answer = await opened.send("/inbox/sign-in", "/inbox/sign-in", {"key": text})
        assert answer.status_code == 401
        assert "no valid key" in answer.text
        assert (await opened.get("/")).status_code == 303


async def test_a_wrong_secret_opens_nothing(page: Page) -> None:
    """The id of a key is no secret."""
    other = new_token(TENANT, page.key().key_id)
    async with browser(page) as opened:
        assert (await opened.sign_in(other)).status_code == 401


async def test_a_key_without_the_scope_is_turned_away(page: Page) -> None:
    """`read` is not enough, `admin` is."""
    async with browser(page) as opened:
        assert (await opened.sign_in(page.key("read", "submit"))).status_code == 403
        assert (await opened.sign_in(page.key("admin"))).status_code == 303


@pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example", "/v1/keys", "/inbox/waits/../x", ""])
async def test_signing_in_leads_to_no_page_of_others(page: Page, there: str) -> None:
    """Whatever the address says, the way leads to a page of this one."""
    async with browser(page) as opened:
        assert (await opened.sign_in(page.key(), there)).headers["location"] == "/"


async def test_a_revoked_key_ends_its_sessions_at_once(page: Page) -> None:
    """Each request looks at the key."""
    token = page.key()
    async with signed_in(page, token) as opened:
        assert (await opened.get("/")).status_code == 200
        page.revoke(token)
        assert (await opened.get("/")).status_code == 303


async def test_a_session_lasts_eight_hours(page: Page) -> None:
    """And not a moment longer."""
    async with signed_in(page) as opened:
        page.clock.pass_by(timedelta(hours=8) - timedelta(seconds=1))
        assert (await opened.get("/")).status_code == 200
        page.clock.pass_by(timedelta(seconds=1))
        assert (await opened.get("/")).status_code == 303


async def test_after_signing_out_a_copy_of_the_cookie_opens_nothing(page: Page) -> None:
    """The session is over on the server, not only in the browser."""
    async with signed_in(page) as opened:
        copy = dict(opened.client.cookies)
        answer = await opened.send("/", "/inbox/sign-out", {})
        assert (answer.status_code, answer.headers["location"]) == (303, "/inbox/sign-in")
        assert (await opened.get("/")).status_code == 303
    async with browser(page) as thief:
        thief.client.cookies.update(copy)
        assert (await thief.get("/")).status_code == 303


def _forged(page: Page, how: str) -> str:
    session = new_session(TENANT, page.key().key_id, page.clock.now)
    sealed = page.seals.seal_session(session)
    body, _, mac = sealed.partition(".")
    match how:
        case "other key":
            return Seals(b"another key, which is long enough").seal_session(session)
        case "other purpose":
            return page.seals.seal("notice", {"tenant": TENANT, "key": session.key_id, "id": "x"}, session.ends_at)
        case "changed":
            return body[:-2] + ("AA" if body[-2:] != "AA" else "BB") + "." + mac
        case "no mac":
            return body + "."
        case "not ascii":
            return body + ".ü"
        case _:
            return "x"


@pytest.mark.parametrize("how", ["other key", "other purpose", "changed", "no mac", "garbage"])
async def test_a_made_up_cookie_opens_nothing(page: Page, how: str) -> None:
    """Only what was sealed here for a session is one."""
    async with browser(page) as opened:
        opened.client.cookies.set("toolbus_session", _forged(page, how))
        assert (await opened.get("/")).status_code == 303


def test_what_is_not_even_a_seal_is_none(page: Page) -> None:
    """Bytes beyond ASCII and an object that is none are refused, not crashed over."""
    assert page.seals.open_session(_forged(page, "not ascii"), page.clock.now) is None
    assert page.seals.open("session", "", page.clock.now) is None


def test_a_short_key_seals_nothing() -> None:
    """A key that can be guessed is none."""
    with pytest.raises(ValueError, match="32 bytes"):
        Seals(b"short")


async def test_a_sign_in_form_of_another_browser_is_refused(page: Page) -> None:
    """Nobody is signed in to somebody else's key by a form that was not asked for."""
    token = page.key()
    async with browser(page) as attacker, browser(page) as victim:
        text = (await attacker.get("/inbox/sign-in")).text
        await victim.get("/inbox/sign-in")
        from_attacker = text.split('name="token" value="')[1].split('"')[0]
        answer = await victim.post("/inbox/sign-in", {"key": token.text(), "token": from_attacker})
        assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/inbox/list", "/inbox/events"])
async def test_a_script_is_told_that_the_session_is_over(page: Page, path: str) -> None:
    """Not sent to a form that it would put into the page."""
    async with browser(page) as opened:
        headers = {"hx-request": "true", "accept": "text/event-stream"}
        assert (await opened.client.get(path, headers=headers)).status_code == 401
