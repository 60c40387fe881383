"""Real sockets: no call gets past the guard, by name, redirect, kept connection or a name that moves."""

import asyncio
import gzip
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import pytest

from tests.integration.api_caller.calling import PAUSE_S, code, guard, ok
from tests.integration.api_caller.raw_target import OK, Answering, RawTarget, Seen, raw_target, response, saying
from tests.unit.api_caller.making import READ, UNSAFE, item, judged
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import wanted_of
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.outcomes import Failure, Outcome, judge_failure, refused
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.tools import Terms
from toolbus_runtime.egress import LOOKUP_TTL_S
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run

MAX_MEMORY = 100 * 1024 * 1024
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass
class Dns:
    """Every name has the next of these answers, and the last one stays."""

    answers: list[tuple[str, ...]] = field(default_factory=lambda: [("127.0.0.1",)])
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str) -> tuple[str, ...]:
        """The next answer."""
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@asynccontextmanager
async def client_with(allowed: str, dns: Dns | None = None) -> AsyncIterator[HttpClient]:
    """A client under this list, with a DNS of our own."""
    made = HttpClient(SystemClock(), keepalive_s=4.0, guard=guard(allowed, dns or Dns()))
    try:
        yield made
    finally:
        await made.aclose()


async def send(client: HttpClient, url: str, *, method: str = "GET", terms: Terms = READ, **more: Any) -> Outcome:
    """One attempt at a url, judged as the service judges it."""
    definition = more.pop("definition", {})
    work = item({"method": method, "url": url, **more}, terms=terms, definition=definition)
    try:
        request = build_request(work, user_agent="toolbus/test")
        client.examine(request)
    except Refused as error:
        return refused(error)
    found = await client.send(request, Permit(), Run())
    return judge_failure(found, terms) if isinstance(found, Failure) else judged(found, wanted_of(work, request))


def denied(outcome: Outcome, *words: str) -> None:
    """The guard stopped it: said so once and for all, with these words."""
    assert outcome.error is not None, outcome
    assert (outcome.result, outcome.error.code, outcome.error.retryable) == ("failed", "egress_denied", False)
    assert all(word in outcome.error.message for word in words), outcome.error.message


def leading_to(url: str, status: str = "302 Found") -> Answering:
    """A redirect, with a body that must not matter."""
    return saying(response(b"elsewhere", f"Location: {url}", status=status))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST.", "[::ffff:127.0.0.1]", "127.1", "2130706433"])
async def test_this_machine_is_not_reached(host: str) -> None:
    """Nothing is connected, and DNS is not asked."""
    async with raw_target(saying(OK)) as target, client_with("", dns := Dns()) as client:
        outcome = await send(client, f"http://{host}:{target.port}/", method="POST", terms=UNSAFE)
    denied(outcome, "is not reached")
    assert outcome.error is not None
    assert (target.connections, dns.asked, outcome.error.effect_happened) == (0, [], "no")


@pytest.mark.parametrize("host", ["１２７。０。０。１", "①②⑦.⓪.⓪.①", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "127.0.0.1%2f", "a@127.0.0.1"])  # noqa: RUF001 - lookalikes
async def test_other_spellings_are_read_once(host: str) -> None:
    """Whatever a library would make of them, we make it first and check that."""
    async with raw_target(saying(OK)) as target, client_with("", dns := Dns()) as client:
        outcome = await send(client, f"http://{host}:{target.port}/")
    assert code(outcome) in {"egress_denied", "request_invalid"}
    assert (target.connections, dns.asked) == (0, [])


async def test_a_name_that_leads_inside_is_not_connected() -> None:
    """Also when only one of its addresses does."""
    dns = Dns([("8.8.8.8", "127.0.0.1")])
    async with raw_target(saying(OK)) as target, client_with("", dns) as client:
        denied(await send(client, f"http://public.test:{target.port}/"), f"public.test:{target.port}", "loopback")
    assert (target.connections, dns.asked) == (0, ["public.test"])


async def test_an_allowed_name_is_reached_by_its_name() -> None:
    """The connection goes to the checked address; Host keeps the name; one lookup, one connection."""
    async with raw_target(saying(OK)) as target, client_with("public.test", dns := Dns()) as client:
        for _ in range(3):
            ok(await send(client, f"http://public.test:{target.port}/"))
    assert [seen.header("host") for seen in target.seen] == [f"public.test:{target.port}"] * 3
    assert (target.connections, dns.asked) == (1, ["public.test"])


async def test_tls_names_the_name() -> None:
    """The server name in the handshake is the name of the url, not the address."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.put_nowait(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server, client_with("public.test") as client:
        outcome = await send(client, f"https://public.test:{server.sockets[0].getsockname()[1]}/")
        assert b"public.test" in await heard.get()
    assert code(outcome) == "connection_failed"


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "inside.test", "[::1]", "2130706433", "169.254.169.254"])
async def test_a_redirect_inside_is_cut(host: str, status: str) -> None:
    """The first hop is allowed, the second is not; what was sent is told honestly."""
    async with raw_target(saying(OK)) as inside, client_with("public.test") as client:
        place = f"http://{host}:{inside.port}/secret"
        async with raw_target(leading_to(place, status)) as first:
            url = f"http://public.test:{first.port}/"
            safe = await send(client, url, follow_redirects=True)
            unsafe = await send(client, url, method="POST", terms=UNSAFE, follow_redirects=True)
    for outcome in (safe, unsafe):
        denied(outcome, host.strip("[]") if host != "2130706433" else "IPv4")
    assert safe.error is not None
    assert unsafe.error is not None
    assert (safe.error.effect_happened, unsafe.error.effect_happened) == ("no", "unknown")
    assert (len(first.seen), inside.connections) == (2, 0)


@pytest.mark.parametrize(
    "place", ["file:///etc/passwd", "gopher://127.0.0.1/", "http://a@127.0.0.1/", "http://a b/", "https://%6c/"]
)
async def test_a_redirect_that_leads_nowhere_is_not_followed(place: str) -> None:
    """The status of the redirect, or the guard, is the outcome; nothing further is sent."""
    async with client_with("public.test") as client, raw_target(leading_to(place)) as first:
        outcome = await send(client, f"http://public.test:{first.port}/", follow_redirects=True)
    assert code(outcome) in {"http_status", "egress_denied"}
    assert len(first.seen) == 1


async def test_credentials_stay_with_their_origin() -> None:
    """A redirect to another port of the same name carries neither Authorization nor cookies nor own headers."""
    headers = {"X-Api-Key": "k", "Cookie": "s=1"}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_with("public.test"))
        second = await stack.enter_async_context(raw_target(saying(OK)))
        first = await stack.enter_async_context(raw_target(leading_to(f"http://public.test:{second.port}/")))
        url = f"http://user:secret@public.test:{first.port}/"
        ok(await send(client, url, follow_redirects=True, headers=headers))
    assert first.seen[0].header("authorization") is not None
    assert [second.seen[0].header(name) for name in ("authorization", "cookie", "x-api-key")] == [None] * 3


async def test_a_kept_connection_serves_no_other_name() -> None:
    """What leads to an address of this machine under an allowed name is not used for another one."""
    async with raw_target(saying(OK)) as target, client_with("public.test") as client:
        ok(await send(client, f"http://public.test:{target.port}/"))
        for host in ("127.0.0.1", "other.test", "public.test.evil.test"):
            denied(await send(client, f"http://{host}:{target.port}/"))
    assert (len(target.seen), target.connections) == (1, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address")
async def test_a_name_that_moves_between_check_and_connect_stays_where_it_was_checked() -> None:
    """One lookup, whose answer is connected to; the next answer, which leads inside, is refused."""
    dns = Dns([("127.0.0.2",), ("127.0.0.1",)])
    once = saying(response(b"{}", "Connection: close"), stays=False)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_with("127.0.0.2", dns))
        inside = await stack.enter_async_context(raw_target(once))
        outside = await stack.enter_async_context(raw_target(once, "127.0.0.2", inside.port))
        ok(await send(client, f"http://moving.test:{inside.port}/"))
        client._guard._steady_s = lambda: LOOKUP_TTL_S + time.monotonic()
        denied(await send(client, f"http://moving.test:{inside.port}/"), "loopback")
    assert (outside.connections, inside.connections, len(dns.asked)) == (1, 0, 2)


def endless(head: bytes, pieces: Iterator[bytes]) -> Answering:
    """An answer that never ends by itself."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        return False

    return answering


ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "headers": (HEAD, b"X-More: " + b"y" * 60_000 + b"\r\n"),
    "short headers": (HEAD, b"a: b\r\n" * 1000),
    "one header": (HEAD + b"X: ", b"y" * 65536),
    "a header's name": (HEAD, b"y" * 65536),
    "a folded header": (HEAD + b"X: y\r\n", b" y\r\n" * 1000),
    "the reason": (b"HTTP/1.1 200 ", b"y" * 65536),
    "no status line": (b"", b"y" * 65536),
    "early hints": (b"", (b"HTTP/1.1 103 Early Hints\r\nLink: " + b"y" * 1000 + b"\r\n\r\n") * 10),
    "a plain body": (HEAD + b"\r\n", b"y" * 65536),
    "a chunked body": (CHUNKED, b"10000\r\n" + b"y" * 65536 + b"\r\n"),
    "tiny chunks": (CHUNKED, b"1\r\ny\r\n" * 10_000),
    "a chunk's extension": (CHUNKED + b"1;x=", b"y" * 65536),
    "a chunk's length": (CHUNKED, b"0" * 65536),
    "trailers": (CHUNKED + b"1\r\ny\r\n0\r\n", b"X-More: " + b"y" * 60_000 + b"\r\n"),
    "short trailers": (CHUNKED + b"1\r\ny\r\n0\r\n", b"a: b\r\n" * 1000),
    "a bomb": (HEAD + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"\x00" * 10_000_000)),
    "empty members": (HEAD + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"") * 1000),
    "an error's body": (b"HTTP/1.1 500 No\r\n\r\n", b"y" * 65536),
}


@pytest.mark.parametrize("what", ENDLESS)
async def test_endless_answers_end(what: str) -> None:
    """In a clear failure, in time, and in little memory."""
    head, piece = ENDLESS[what]
    async with raw_target(endless(head, repeat(piece))) as target, client_with("public.test") as client:
        tracemalloc.start()
        try:
            url, definition = f"http://public.test:{target.port}/", {"timeout_s": 5 * PAUSE_S}
            outcome = await send(client, url, method="POST", terms=UNSAFE, definition=definition)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert code(outcome) in {"response_too_large", "connection_lost", "timeout", "http_status"}
    assert peak < MAX_MEMORY


async def test_a_redirects_body_is_not_read() -> None:
    """However long it is, the next hop is asked."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        if seen.line.startswith("GET /next"):
            return await saying(OK)(seen, writer)
        head = b"HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\n"
        return await endless(head, repeat(b"y" * 65536))(seen, writer)

    async with raw_target(answering) as target, client_with("public.test") as client:
        ok(await send(client, f"http://public.test:{target.port}/", follow_redirects=True))
    assert len(target.seen) == 2


async def test_the_time_counts_from_the_lookup() -> None:
    """A name server that does not answer is bounded by the timeout of the call; nothing was sent."""

    class Silent(Dns):
        async def __call__(self, host: str) -> tuple[str, ...]:
            self.asked.append(host)
            await asyncio.Event().wait()
            return ()

    target: RawTarget
    async with raw_target(saying(OK)) as target, client_with("public.test", Silent()) as client:
        outcome = await send(client, f"http://public.test:{target.port}/", definition={"timeout_s": PAUSE_S})
    assert (code(outcome), target.connections) == ("connection_failed", 0)
