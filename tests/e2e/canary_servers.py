"""MCP servers, a mail server, a browser and receivers of webhooks that are given secrets, and tell what they got."""

import base64
import json
import secrets
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from tests.e2e.canaries import giveaway
from tests.e2e.canary_vendors import APPROVAL, MAIL, PATIENCE_S, Sending, token
from tests.e2e.published.outside import Target, served
from tests.integration.approvals.webhook_rig import Receiver, receiving
from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.raw_server import RawServer, raw_server
from tests.integration.integrations.mcp.rig import PROGRAM
from tests.integration.integrations.mcp.wiki import Wiki, wiki
from tests.unit.integrations.providers import mail_server as mails
from tests.unit.integrations.providers.authority import Authority
from tests.unit.integrations.providers.chromium import CHROMIUM, chromium
from tests.unit.integrations.providers.mail_server import USER, Post, mail_server

# It says its token to whoever reads standard error, and then serves.
CHATTY = (
    "import os, runpy, sys; print('my token is', os.environ['TOKEN'], file=sys.stderr, flush=True);"
    " del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
)
STDIO = [sys.executable, "-c", CHATTY, PROGRAM, "stdio"]
READ = {"effect": "read", "idempotency": "native"}


@dataclass
class Servers:
    """All of them, running."""

    raw: Mapping[str, RawServer]
    wiki: Wiki
    post: Post
    authority: Authority
    target: Target
    receiver: Receiver
    browser_url: str
    webhook_secret: str

    def mcp_settings(self) -> Iterator[tuple[str, dict[str, Any], dict[str, str]]]:
        """Servers to be put: name, settings, and the secrets that these name."""
        for era, server in zip(("modern", "former"), self.raw.values(), strict=True):
            values = {f"{era}_bearer": secrets.token_urlsafe(24), f"{era}_header": token()}
            headers = {"x-key": f"secret://{era}_header"}
            yield (
                era,
                {"transport": "http", "url": server.url, "headers": headers, "bearer": f"secret://{era}_bearer"},
                values,
            )
        env = {"TOKEN": "secret://stdio_token"}
        yield (
            "stdio",
            {"transport": "stdio", "command": STDIO[0], "args": STDIO[1:], "env": env},
            {"stdio_token": token()},
        )

    def sendings(self) -> Iterator[Sending]:
        """Calls of everything here that is no tool of a server that was put."""
        for era, server in zip(("modern", "former"), self.raw.values(), strict=True):
            yield _over_mcp(f"provider_{era}", server.url, "http", {"tool_name": "tell", "arguments": {}}, tells=True)
        for transport in ("http", "sse"):
            arguments = {"tool_name": "read_wiki_structure", "arguments": {"repoName": "a/b"}}
            yield _over_mcp(f"provider_{transport}", self.wiki.url(transport), transport, arguments)
        yield self._mail("mail")
        if self.browser_url:
            yield _browser("browser", self.browser_url, self.target.url, status="succeeded")
        nowhere = f"{self.target.url}/{secrets.token_hex(12)}"
        self.target.say(giveaway([nowhere]))
        yield _browser("no_browser", nowhere, self.target.url, status="failed")

    def refused_mail(self) -> Sending:
        """One more mail, which the server answers with the password."""
        self.post.answers = f"554 {mails.PASSWORD} {base64.b64encode(mails.PASSWORD.encode()).decode()}"
        return self._mail("refused_mail", status="failed", tells=True)

    def are_signed_in(self, values: Mapping[str, str]) -> bool:
        """Whether the servers that tell nothing had their secrets."""
        bearers = [values[f"provider_{transport}_bearer"] for transport in ("http", "sse")]
        return bool(self.post.envelopes) and all(self.wiki.told(authorization=f"Bearer {one}") for one in bearers)

    def heard(self) -> list[tuple[str, bytes]]:
        """What the receiver of webhooks was sent."""
        return [("webhook", repr(seen.headers).encode() + seen.body) for seen in self.receiver.seen]

    def _mail(self, name: str, *, status: str = "succeeded", tells: bool = False) -> Sending:
        setup = {"host": "127.0.0.1", "port": self.post.port, "user": USER, "ca_certificates": self.authority.pem}
        section = {
            "provider": "email",
            "method": "send",
            "setup": {**setup, "password": "secret://mail_password"},
        }
        definition = {"name": name, "integration": section, "timeout_s": PATIENCE_S, "retry": {"attempts": 1}}
        return Sending(definition, MAIL, {"mail_password": mails.PASSWORD}, status=status, tells=tells)


def _over_mcp(name: str, url: str, transport: str, arguments: Mapping[str, Any], *, tells: bool = False) -> Sending:
    values = {f"{name}_bearer": secrets.token_urlsafe(24), f"{name}_header": token()}
    setup = {
        "transport": transport,
        "http_url": url,
        "bearer": f"secret://{name}_bearer",
        "http_headers": {"Cache-Control": f"secret://{name}_header"},
    }
    section = {"provider": "mcp", "method": "call_tool", "setup": setup}
    definition = {"name": name, "integration": section, "timeout_s": PATIENCE_S, "approval": APPROVAL}
    return Sending(definition, arguments, values, is_approved=True, tells=tells)


def _browser(name: str, url: str, page: str, *, status: str) -> Sending:
    section = {
        "provider": "remote_browser",
        "method": "perform_action",
        "setup": {"connect_url": f"secret://{name}_url"},
    }
    definition = {"name": name, "integration": section, "timeout_s": PATIENCE_S, "retry": {"attempts": 1}}
    return Sending(definition, {"action": "navigate", "text": page}, {f"{name}_url": url}, status=status)


def tools_of_servers() -> Iterator[tuple[str, str, str]]:
    """Tools that are put for the servers: their name, the server, and its tool, which gives away what it was given."""
    yield from ((f"{server}_{tool}", server, tool) for server in ("modern", "former") for tool in ("tell", "misfit"))
    yield "stdio_secret", "stdio", "secret"


async def put_webhooks(http: httpx.AsyncClient, servers: Servers) -> None:
    """Every call is told of to a receiver that gives away what it was sent, and so does one that is asked."""
    body = {"url": servers.receiver.url, "events": ["call.*"], "secret": servers.webhook_secret}
    answer = await http.put("/v1/webhooks/mine", json=body)
    assert answer.is_success, answer.text
    definition = {
        "name": "asked",
        "function": {"parameters": {"type": "object"}},
        "webhook": {"url": servers.receiver.url, "secret": "secret://mine"},
    }
    answer = await http.put("/v1/tools/asked", json=definition)
    assert answer.is_success, answer.text


@asynccontextmanager
async def all_servers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Servers]:
    """They listen, with what they note in this folder, and this installation may start the one that is a program."""
    monkeypatch.setenv("TOOLBUS_MCP_STDIO_ALLOW", json.dumps([{"argv": STDIO, "env": ["TOKEN"]}]))
    monkeypatch.setattr(mails, "PASSWORD", token())
    secret = f"whsec_{secrets.token_hex(24)}"
    authority = Authority()
    async with AsyncExitStack() as stack:
        kept = stack.enter_context(ExitStack())
        target = Target(kept.enter_context(served()))
        post = await stack.enter_async_context(mail_server(starttls=authority.context("127.0.0.1", folder)))
        raw = {era: await stack.enter_async_context(raw_server(era)) for era in ERAS}
        wiki_server = kept.enter_context(wiki(folder))
        body = giveaway([secret, secret.removeprefix("whsec_")])
        receiver = await stack.enter_async_context(receiving(lambda _: web.Response(status=400, body=body)))
        browser_url = ""
        if CHROMIUM.exists():
            browser_url = (await stack.enter_async_context(chromium(folder / "profile"))).url
        yield Servers(raw, wiki_server, post, authority, target, receiver, browser_url, secret)
