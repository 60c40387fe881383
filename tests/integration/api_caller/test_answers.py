"""Real sockets: whatever comes back is bounded, storable and judged."""

import asyncio
import base64
import gzip
import json
import zlib
from typing import Any

import pytest

from tests.integration.api_caller.calling import PAUSE_S, call, code, hanging, ok
from tests.integration.api_caller.raw_target import OK, RawTarget, Seen, raw_target, response, saying
from tests.unit.api_caller.making import READ, UNSAFE, item
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import HttpAnswer
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.tools import Terms
from toolbus_runtime.executing.runs import Run

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


@pytest.mark.parametrize("terms", [READ, UNSAFE])
async def test_slow_answers_are_stopped(client: HttpClient, terms: Terms) -> None:
    """A body that drips is bounded by the total time, and what came is kept."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with raw_target(answering) as target:
        outcome = await call(client, target, "GET", {"timeout": PAUSE_S}, terms=terms)
    assert (outcome.result, code(outcome)) == ("unknown", "timeout")
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


async def test_an_answer_is_an_answer(client: HttpClient) -> None:
    """The client gives status, headers in order and the body."""
    async with raw_target(saying(response(b"hi", "B: 1", "A: 2"))) as target:
        request = build_request(item({"url": target.url}), user_agent="x")
        found = await client.send(request, Permit(), Run())
    assert found == HttpAnswer(200, ((b"B", b"1"), (b"A", b"2"), (b"Content-Length", b"2")), b"hi")
