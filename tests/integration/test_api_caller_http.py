"""Real sockets: every method with every part is byte-correct, nothing is sent twice, answers stay in bounds."""

import asyncio
import base64
import gzip
import json
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx
import pytest

from tests.integration.raw_target import OK, Answering, RawTarget, Seen, raw_target, reset, response, saying
from tests.unit.api_caller.making import READ, REPEATABLE, UNSAFE, item
from toolbus_api_caller.adapters.clock import SystemClock
from toolbus_api_caller.adapters.http_client import LIBRARY_ERRORS, HttpClient
from toolbus_api_caller.adapters.watched_request import Exchange
from toolbus_api_caller.core.outcome import Failure, Outcome, judge_failure
from toolbus_api_caller.core.request import METHODS, build_request
from toolbus_api_caller.core.response import HttpAnswer, judge_answer, wanted_of
from toolbus_api_caller.core.start import Permit
from toolbus_contracts.tools import Terms

PAUSE_S = 0.5  # for what must come to an end by itself; long enough to be sent on a busy machine
ALL = sorted(METHODS)
MOST = sorted(METHODS - {"CONNECT"})  # CONNECT names a host and port only


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client of its own for each test."""
    made = HttpClient(SystemClock(), keepalive_s=4.0)
    yield made
    await made.aclose()


async def call(
    client: HttpClient,
    target: RawTarget,
    method: str,
    arguments: dict[str, Any] | None = None,
    *,
    terms: Terms = READ,
    permit: Permit = Permit(),  # noqa: B008 - a value without state
    **section: Any,
) -> Outcome:
    """One attempt at the target, judged."""
    more = {name: section.pop(name) for name in ("definition",) if name in section}
    url = target.url + section.pop("path", "/" if method == "CONNECT" else "/v1/x")
    work = item({"method": method, "url": url, **section}, arguments, terms=terms, **more)
    request = build_request(work, user_agent="toolbus/test")
    found = await client.send(request, permit)
    if isinstance(found, Failure):
        return judge_failure(found, terms)
    return judge_answer(found, wanted_of(work, request))


def ok(outcome: Outcome) -> dict[str, Any]:
    """The output of a success."""
    assert outcome.error is None, outcome.error
    assert outcome.output is not None
    return outcome.output


def code(outcome: Outcome) -> str:
    """The code of a failure."""
    assert outcome.error is not None
    return outcome.error.code


# ── every method with every part ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ALL)
async def test_a_bare_request(client: HttpClient, method: str) -> None:
    """The request line, the defaults, and nothing that a library would add."""
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, method))
    (seen,) = target.seen
    place = f"127.0.0.1:{target.port}"
    assert seen.line == f"{method} {place if method == 'CONNECT' else '/v1/x'} HTTP/1.1"
    expected = {"Host": place, "user-agent": "toolbus/test", "accept": "*/*", "accept-encoding": "gzip, deflate"}
    found = {name.lower(): value for name, value in seen.headers}
    if method not in {"GET", "HEAD", "OPTIONS", "TRACE"}:
        expected["Content-Length"] = "0"  # aiohttp says so for DELETE and CONNECT too
    assert found == {name.lower(): value for name, value in expected.items()}


@pytest.mark.parametrize("method", MOST)
async def test_params_are_byte_correct(client: HttpClient, method: str) -> None:
    """The query goes out exactly as we wrote it: no library encodes it again."""
    params = {"a": "x y+z/~'%2F", "b": [1, True], "ü": None, "e": ""}
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, method, {"params": params}, path="/a%2Fb/%7Ec?fix=1+2"))
    assert target.seen[0].line == (f"{method} /a%2Fb/%7Ec?fix=1+2&a=x%20y%2Bz%2F~%27%252F&b=1&b=true&e= HTTP/1.1")


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(
    ("arguments", "kind", "body"),
    [
        ({"json": {"a": "ü", "b": [None, 1.5]}}, "application/json", '{"a":"ü","b":[null,1.5]}'.encode()),
        ({"data": {"a": "x y", "b": [1, 2]}}, "application/x-www-form-urlencoded", b"a=x+y&b=1&b=2"),
        ({"content": base64.b64encode(bytes(range(256))).decode()}, None, bytes(range(256))),
    ],
)
async def test_bodies_are_byte_correct(
    client: HttpClient, method: str, *, arguments: dict[str, Any], kind: str | None, body: bytes
) -> None:
    """JSON, form and raw content arrive as they are, with their length."""
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, method, arguments))
    seen = target.seen[0]
    assert (seen.body, seen.header("content-type"), seen.header("content-length")) == (body, kind, str(len(body)))


@pytest.mark.parametrize("method", ALL)
async def test_files_are_byte_correct(client: HttpClient, method: str) -> None:
    """Files arrive as multipart whose boundary the header names."""
    files = {"f": {"filename": "a.bin", "content": "AP8N", "content_type": "image/png"}}
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, method, {"files": files, "data": {"n": "1"}}))
    seen = target.seen[0]
    kind, _, boundary = (seen.header("content-type") or "").partition("; boundary=")
    assert kind == "multipart/form-data"
    assert (
        seen.body
        == (
            f'--{boundary}\r\nContent-Disposition: form-data; name="n"\r\n\r\n1\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n'
            "Content-Type: image/png\r\n\r\n"
        ).encode()
        + b"\x00\xff\r"
        + f"\r\n--{boundary}--\r\n".encode()
    )


@pytest.mark.parametrize("method", ALL)
async def test_headers_cookies_and_key(client: HttpClient, method: str) -> None:
    """Headers and cookies arrive once each, and the idempotency key with what is no read."""
    arguments = {"headers": {"X-One": "1, 2", "Accept": "text/csv"}, "cookies": {"a": "1", "b": "x y"}}
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, method, arguments, terms=REPEATABLE, overridable=["headers"]))
    seen = target.seen[0]
    found = {name: seen.header(name) for name in ("x-one", "accept", "cookie", "idempotency-key")}
    assert found == {
        "x-one": "1, 2",
        "accept": "text/csv",
        "cookie": "a=1; b=x y",
        "idempotency-key": "call_00000000000000000000000000000001",
    }


@pytest.mark.parametrize("method", ALL)
async def test_timeouts(client: HttpClient, method: str) -> None:
    """The timeout of a call ends it: safe ones failed, others are not known."""
    async with raw_target(hanging) as target:
        both = (call(client, target, method, {"timeout": PAUSE_S}, terms=terms) for terms in (READ, UNSAFE))
        safe, unsafe = await asyncio.gather(*both)
    assert (safe.result, code(safe), unsafe.result, len(target.seen)) == ("failed", "timeout", "unknown", 2)


@pytest.mark.parametrize("method", ALL)
async def test_schemas(client: HttpClient, method: str) -> None:
    """The answer is checked against the schema of the definition; an answer to HEAD has no body to fit."""
    async with raw_target(saying(OK)) as target:
        fits = await call(client, target, method, schema={"type": "object"})
        fails = await call(client, target, method, schema={"type": "array"})
    assert (fits.result, code(fails)) == ("failed" if method == "HEAD" else "succeeded", "response_invalid")


@pytest.mark.parametrize("method", MOST)
async def test_redirects(client: HttpClient, method: str) -> None:
    """Followed when asked for, with the body where the status keeps it; otherwise the status is the outcome."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        is_first = "/v1/x" in seen.line
        further = response(b"", "Location: /next?a=%2F", status="307 Temporary Redirect")
        return await saying(further if is_first else OK)(seen, writer)

    async with raw_target(answering) as target:
        ok(await call(client, target, method, {"json": {"a": 1}, "follow_redirects": True}))
        assert [seen.line for seen in target.seen] == [f"{method} /v1/x HTTP/1.1", f"{method} /next?a=%2F HTTP/1.1"]
        assert target.seen[1].body == b'{"a":1}'
        assert code(await call(client, target, method)) == "http_status"
    assert len(target.seen) == 3


async def test_endless_redirects_end(client: HttpClient) -> None:
    """After ten of them the status is the outcome."""
    async with raw_target(saying(response(b"", "Location: /v1/x", status="302 Found"))) as target:
        assert code(await call(client, target, "GET", follow_redirects=True)) == "http_status"
    assert len(target.seen) == 11


async def test_cookies_are_not_kept(client: HttpClient) -> None:
    """What one answer sets is sent with no other call, nor after a redirect."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        is_first = "/v1/x" in seen.line
        head = ("Set-Cookie: sid=1", "Set-Cookie: b=2", "Location: /next")
        writer.write(response(b"", *head, status="302 Found") if is_first else response(b"", *head[:2]))
        return True

    async with raw_target(answering) as target:
        output = ok(await call(client, target, "GET", follow_redirects=True))
        ok(await call(client, target, "GET", path="/other"))
    assert [seen.header("cookie") for seen in target.seen] == [None] * 3
    assert output["headers"]["set-cookie"] == "sid=1\nb=2"


async def test_a_tunnel_is_not_used_again(client: HttpClient) -> None:
    """The connection that a CONNECT opened carries no other request."""
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, "CONNECT"))
        ok(await call(client, target, "GET"))
        ok(await call(client, target, "GET"))
    assert target.connections == 2


# ── nothing is sent twice ───────────────────────────────────────────────────────────────────────


async def hanging(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Never answer."""
    await asyncio.Event().wait()
    return False


async def closing(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Close instead of answering."""
    return False


async def resetting(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Reset instead of answering."""
    reset(writer)
    return False


def after_one(broken: Answering) -> Answering:
    """Answer the first request of a connection, so that it is kept, and break at the second."""
    answered: set[asyncio.StreamWriter] = set()

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        if writer in answered:
            return await broken(seen, writer)
        answered.add(writer)
        return await saying(OK)(seen, writer)

    return answering


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("broken", [closing, resetting, hanging])
@pytest.mark.parametrize("is_kept", [False, True])
async def test_each_attempt_is_one_request(
    client: HttpClient, method: str, *, broken: Answering, is_kept: bool
) -> None:
    """On a fresh or a kept connection, a target that breaks gets the request once, and the outcome says it was sent."""
    async with raw_target(after_one(broken) if is_kept else broken) as target:
        if is_kept:
            ok(await call(client, target, "GET"))
        before = len(target.seen)
        tried = {UNSAFE: "unknown"} if is_kept else {UNSAFE: "unknown", READ: "failed"}  # one connection is kept
        found = await asyncio.gather(
            *(call(client, target, method, {"timeout": PAUSE_S}, terms=terms) for terms in tried)
        )
        told = "timeout" if broken is hanging else "connection_lost"
        assert [(outcome.result, code(outcome)) for outcome in found] == [(result, told) for result in tried.values()]
        assert len(target.seen) - before == target.connections == len(tried)


async def test_a_refused_connection_sent_nothing(client: HttpClient) -> None:
    """Nobody listens: failed without effect, whatever the terms."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        target = RawTarget(hanging, port=free.getsockname()[1])
        outcome = await call(client, target, "POST", terms=UNSAFE)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code, outcome.error.effect_happened) == ("failed", "connection_failed", "no")


async def test_a_name_that_does_not_exist(client: HttpClient) -> None:
    """DNS failed: nothing was sent."""
    request = build_request(item({"url": "http://nowhere.invalid/"}), user_agent="x")
    found = await client.send(request, Permit())
    assert isinstance(found, Failure)
    assert not found.is_sent


async def test_tls_that_fails_sent_nothing(client: HttpClient) -> None:
    """A server that speaks no TLS, or has a certificate nobody trusts, sees no request."""
    async with raw_target(hanging) as target:
        request = build_request(item({"url": f"https://127.0.0.1:{target.port}/", "timeout": 1}), user_agent="x")
        found = await client.send(request, Permit())
    assert isinstance(found, Failure)
    assert (found.is_sent, target.seen) == (False, [])


async def test_a_connection_that_never_comes_sent_nothing(client: HttpClient) -> None:
    """A handshake that does not end before the timeout is a failure without effect."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    with listener:
        # TLS to a socket that accepts and stays silent.
        request = build_request(
            item({"url": f"https://127.0.0.1:{listener.getsockname()[1]}/"}, {"timeout": 0.2}), user_agent="x"
        )
        found = await client.send(request, Permit())
    assert isinstance(found, Failure)
    assert (found.kind, found.is_sent) == ("timeout", False)


async def test_nothing_leaves_after_send_by(client: HttpClient) -> None:
    """A permission that ran out before the connection was ready sends nothing."""
    async with raw_target(saying(OK)) as target:
        past = Permit(send_by=SystemClock().steady_s() - 1)
        outcome = await call(client, target, "POST", terms=UNSAFE, permit=past)
        assert target.seen == []
    assert (outcome.result, code(outcome)) == ("failed", "connection_failed")


async def test_it_stops_at_stop_by(client: HttpClient) -> None:
    """A started call ends at `stop_by`, though its timeout would be longer."""
    async with raw_target(hanging) as target:
        until = Permit(stop_by=SystemClock().steady_s() + PAUSE_S)
        outcome = await call(client, target, "POST", terms=UNSAFE, permit=until)
    assert (outcome.result, code(outcome)) == ("unknown", "timeout")


async def test_aiohttp_has_the_switch_that_we_turn(client: HttpClient) -> None:
    """The private switch is there, is on by default, and is off in our session."""
    async with aiohttp.ClientSession() as session:
        assert session._retry_connection is True
    ours = client._session()
    assert ours._retry_connection is False
    await ours.close()


def test_a_second_hand_over_is_refused() -> None:
    """Were the switch gone, the request itself would refuse to be sent again."""
    exchange = Exchange(SystemClock(), None)
    exchange.hand_over()
    with pytest.raises(aiohttp.ClientConnectionError):
        exchange.hand_over()
    exchange.turn_to("http://h/")
    exchange.hand_over()


# ── answers ─────────────────────────────────────────────────────────────────────────────────────

JSON = "Content-Type: application/json"


@pytest.mark.parametrize("body", [b'{"a":"\\u0000"}', b"\x00", b"NaN", b'{"a":1e999}', b"[9007199254740993]"])
async def test_answers_that_cannot_be_stored(client: HttpClient, body: bytes) -> None:
    """NUL, NaN and integers that would change are kept as bytes."""
    async with raw_target(saying(response(body, JSON))) as target:
        output = ok(await call(client, target, "GET"))
    assert (output["json"], base64.b64decode(output["content"])) == (None, body)
    assert output["json_error"]


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
async def test_packed_answers(client: HttpClient, encoding: str, pack: Any) -> None:
    """Gzip and deflate are unpacked."""
    body = json.dumps({"a": ["x" * 1000]}).encode()
    async with raw_target(saying(response(pack(body), JSON, f"Content-Encoding: {encoding}"))) as target:
        output = ok(await call(client, target, "GET"))
    assert (output["json"], output["bytes"]) == ({"a": ["x" * 1000]}, len(body))


async def test_a_bomb_is_too_large(client: HttpClient) -> None:
    """A small answer that unpacks to far more is stopped at the bound."""
    bomb = gzip.compress(b"\x00" * 30_000_000)
    async with raw_target(saying(response(bomb, "Content-Encoding: gzip"))) as target:
        outcome = await call(client, target, "GET")
    assert code(outcome) == "response_too_large"


@pytest.mark.parametrize(("terms", "happened"), [(READ, "no"), (UNSAFE, "yes")])
async def test_endless_answers_are_stopped(client: HttpClient, terms: Terms, happened: str) -> None:
    """Reading stops at max_output_bytes; the target notices, and the connection is not used again."""
    noticed = asyncio.Event()

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                await writer.drain()
        except OSError:
            noticed.set()
            return False

    async with raw_target(answering) as target:
        outcome = await call(client, target, "POST", terms=terms, definition={"max_output_bytes": 100_000})
        async with asyncio.timeout(5):
            await noticed.wait()
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.effect_happened) == ("response_too_large", happened)


@pytest.mark.parametrize(("terms", "result"), [(READ, "failed"), (UNSAFE, "unknown")])
async def test_slow_answers_are_stopped(client: HttpClient, terms: Terms, result: str) -> None:
    """A body that drips is bounded by the total time, and what came is kept."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with raw_target(answering) as target:
        outcome = await call(client, target, "GET", {"timeout": PAUSE_S}, terms=terms)
    assert (outcome.result, code(outcome)) == (result, "timeout")
    assert outcome.error is not None
    assert outcome.error.response is not None
    assert outcome.error.response.body_excerpt.startswith("xx")


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: \x00\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_broken_answers(client: HttpClient, raw: bytes) -> None:
    """An answer that ends early or is no HTTP: sent, and no more is known."""
    async with raw_target(saying(raw, stays=False)) as target:
        outcome = await call(client, target, "POST", terms=UNSAFE)
    assert (outcome.result, code(outcome), len(target.seen)) == ("unknown", "connection_lost", 1)


@pytest.mark.parametrize("status", ["400 Bad Request", "503 Service Unavailable"])
async def test_statuses_of_failure(client: HttpClient, status: str) -> None:
    """The beginning of the answer is kept, and a body that breaks off does not matter."""
    raw = response(b"x" * 100_000, status=status)
    for answering in (saying(raw), saying(raw[:50_000], stays=False)):
        async with raw_target(answering) as target:
            outcome = await call(client, target, "POST", terms=UNSAFE)
        assert outcome.error is not None
        assert outcome.error.response is not None
        assert (outcome.error.code, outcome.error.retryable) == ("http_status", status.startswith("503"))
        assert len(outcome.error.response.body_excerpt) == 4096


async def test_large_requests_arrive_whole(client: HttpClient) -> None:
    """A body of several MiB goes out with its length, in pieces."""
    content = bytes(range(256)) * 16 * 1024
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, "PUT", {"content": base64.b64encode(content).decode()}))
    assert target.seen[0].body == content


async def test_an_answer_before_the_body_was_read(client: HttpClient) -> None:
    """A target that refuses early is heard, though it did not read the request."""

    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response(b"no", status="413 Content Too Large"))
        await writer.drain()
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(refusing, "127.0.0.1", 0)
    target = RawTarget(hanging, port=server.sockets[0].getsockname()[1])
    outcome = await call(
        client, target, "POST", {"content": base64.b64encode(b"x" * 100_000).decode(), "timeout": 5}, terms=UNSAFE
    )
    server.close()
    assert code(outcome) == "http_status"


async def test_connections_are_kept(client: HttpClient) -> None:
    """Many calls use one connection."""
    async with raw_target(saying(OK)) as target:
        for _ in range(5):
            ok(await call(client, target, "GET"))
        assert target.connections == 1


async def test_the_environment_is_not_read(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the environment is used."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, "GET"))


# ── the libraries' errors ───────────────────────────────────────────────────────────────────────


def errors_of(module: Any) -> list[type[Exception]]:
    """Every exception that a library names."""
    found = [getattr(module, name) for name in module.__all__]
    return [each for each in found if isinstance(each, type) and issubclass(each, Exception)]


@pytest.mark.parametrize("error", errors_of(httpx) + errors_of(aiohttp.client_exceptions))
def test_every_error_of_the_libraries_is_known(error: type[Exception]) -> None:
    """An exception that the libraries add and we do not translate fails here."""
    assert issubclass(error, LIBRARY_ERRORS)


def test_errors_of_the_system_are_known() -> None:
    """What reaches us unwrapped is known too."""
    for error in (TimeoutError, ConnectionResetError, BrokenPipeError, ssl.SSLError, socket.gaierror):
        assert issubclass(error, LIBRARY_ERRORS)


async def test_an_answer_is_an_answer(client: HttpClient) -> None:
    """The client gives status, headers in order and the body."""
    async with raw_target(saying(response(b"hi", "B: 1", "A: 2"))) as target:
        request = build_request(item({"url": target.url}), user_agent="x")
        found = await client.send(request, Permit())
    assert found == HttpAnswer(200, ((b"B", b"1"), (b"A", b"2"), (b"Content-Length", b"2")), b"hi")
