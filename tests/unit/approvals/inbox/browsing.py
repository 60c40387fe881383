"""A person's browser without scripts: it keeps cookies, and posts forms as a browser does."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape

import httpx

from tests.unit.approvals.inbox.pretending import Page
from toolbus_runtime.http.auth import Token

URL = "http://127.0.0.1:8700"
_TOKEN = re.compile(r'name="token" value="([^"]+)"')
_DIGEST = re.compile(r'name="digest" value="([^"]+)"')
SAME = {"sec-fetch-site": "same-origin", "origin": "null"}


class Browser:
    """What a person does at the page."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return await self.client.get(path)

    async def post(self, path: str, values: dict[str, str | list[str]], **headers: str) -> httpx.Response:
        """Send a form as it is."""
        return await self.client.post(path, data=values, headers=SAME | headers)

    async def send(self, page: str, path: str, values: dict[str, str | list[str]]) -> httpx.Response:
        """Open a page, and send a form of it with the token and digest that stand there."""
        text = (await self.get(page)).text
        hidden: dict[str, str | list[str]] = {"token": token_in(text)}
        if (found := _DIGEST.search(text)) is not None:
            hidden["digest"] = found[1]
        return await self.post(path, hidden | values)

    async def sign_in(self, token: Token, following: str = "/") -> httpx.Response:
        """Sign in."""
        return await self.send(
            f"/inbox/sign-in?next={following}", "/inbox/sign-in", {"key": token.text(), "next": following}
        )


def token_in(text: str) -> str:
    """The token of the forms on a page."""
    found = _TOKEN.search(text)
    assert found, text
    return unescape(found[1])


@asynccontextmanager
async def browser(page: Page, url: str = URL) -> AsyncIterator[Browser]:
    """A browser that nobody signed in with yet."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(page.app), base_url=url) as client:
        yield Browser(client)


@asynccontextmanager
async def signed_in(page: Page, token: Token | None = None) -> AsyncIterator[Browser]:
    """A browser of somebody who has signed in."""
    async with browser(page) as opened:
        answer = await opened.sign_in(token or page.key())
        assert answer.status_code == 303, answer.text
        yield opened
