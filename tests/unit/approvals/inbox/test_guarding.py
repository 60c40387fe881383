"""What keeps other sites out: headers, the token of a form, and where a request comes from."""

import hashlib
import re
from pathlib import Path

import pytest

from tests.unit.approvals.inbox.browsing import SAME, browser, signed_in, token_in
from tests.unit.approvals.inbox.pretending import Page
from toolbus_approvals.inbox.guarding import POLICY
from toolbus_approvals.inbox.pages import HERE, static_files, static_url

INLINE = re.compile(r"<script(?![^>]*\bsrc=)|\son[a-z]+=|\bstyle=|<style|javascript:", re.IGNORECASE)
LIST = Path(HERE / "static" / "SHA256SUMS")


@pytest.mark.parametrize("path", ["/", "/inbox/list", "/inbox/waits/wait_" + "0" * 32, "/inbox/sign-in", "/static/x"])
async def test_every_answer_is_closed_to_other_sites(page: Page, path: str) -> None:
    """Errors and files too."""
    async with signed_in(page) as opened:
        answer = await opened.get(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    """As it was agreed, word by word."""
    assert POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


@pytest.mark.parametrize("path", sorted((HERE / "templates").iterdir()), ids=lambda path: path.name)
def test_no_template_has_script_or_style_inside(path: Path) -> None:
    """The policy would not run it."""
    assert not INLINE.search(path.read_text())


def test_vendored_files_are_the_published_ones() -> None:
    """Each file from elsewhere, and its licence, has the digest that stands in the list."""
    listed = {line.split()[1]: line.split()[0] for line in LIST.read_text().splitlines()}
    own = {"SHA256SUMS", "inbox.css", "inbox.js"}
    assert set(listed) == {path.name for path in (HERE / "static").iterdir()} - own
    for name, expected in listed.items():
        assert hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest() == expected, name


async def test_static_files_are_kept_by_their_digest(page: Page) -> None:
    """Under an address with its digest for ever, under a bare one not at all; licences are no such files."""
    async with browser(page) as opened:
        kept = await opened.get(static_url("inbox.js"))
        assert kept.headers["cache-control"].endswith("immutable")
        assert kept.headers["content-type"].startswith("text/javascript")
        assert (await opened.get("/static/inbox.js")).headers["cache-control"] == "no-cache"
        assert (await opened.get("/static/pico.LICENSE.md")).status_code == 404
        assert (await opened.get("/static/..%2ftemplates%2flist.html")).status_code == 404
    assert set(static_files()) == {"htmx-4.0.1.min.js", "pico-2.1.1.min.css", "inbox.css", "inbox.js"}


async def test_a_form_without_its_token_is_refused(page: Page) -> None:
    """Also with the token of another session of the same key."""
    wait = page.desk.add()
    key = page.key()
    async with signed_in(page, key) as first, signed_in(page, key) as second:
        others = token_in((await second.get("/")).text)
        for token in ("", "x", "ü", others):
            answer = await first.post(f"/inbox/waits/{wait.id}/approve", {"token": token, "digest": wait.digest})
            assert answer.status_code == 403
    assert not page.desk.said


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
async def test_what_another_site_sends_is_refused(page: Page, headers: dict[str, str]) -> None:
    """Even with the right token."""
    wait = page.desk.add()
    async with signed_in(page) as opened:
        token = token_in((await opened.get("/")).text)
        values = {"token": token, "digest": wait.digest}
        answer = await opened.client.post(f"/inbox/waits/{wait.id}/approve", data=values, headers=SAME | headers)
        assert answer.status_code == 403
        assert not page.desk.said
        same = await opened.client.post(
            f"/inbox/waits/{wait.id}/approve", data=values, headers={"origin": "http://127.0.0.1:8700"}
        )
        assert same.status_code == 303


async def test_only_forms_are_read(page: Page) -> None:
    """JSON, which a page of somebody else's may not send, is not taken for a form either."""
    async with signed_in(page) as opened:
        answer = await opened.client.post("/inbox/decide", json={"token": "x"}, headers=SAME)
        assert answer.status_code == 422
        answer = await opened.post("/inbox/decide", {f"f{at}": "" for at in range(1001)})
        assert answer.status_code == 422
        answer = await opened.post("/inbox/decide", {"note": "a\x00b"})
        assert answer.status_code == 422
        headers = SAME | {"content-type": "application/x-www-form-urlencoded"}
        for body in (b"note=%ff", b"note=\xff"):
            assert (await opened.client.post("/inbox/decide", content=body, headers=headers)).status_code == 422
        answer = await opened.client.post("/inbox/decide", content=b"a" * (4 * 1024 * 1024), headers=headers)
        assert answer.status_code == 413


async def test_a_post_without_a_session_leads_to_the_form(page: Page) -> None:
    """And does nothing."""
    wait = page.desk.add()
    async with browser(page) as opened:
        answer = await opened.post(f"/inbox/waits/{wait.id}/approve", {"digest": wait.digest})
    assert (answer.status_code, answer.headers["location"]) == (303, "/inbox/sign-in?next=/")
    assert not page.desk.said
