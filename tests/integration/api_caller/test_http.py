"""Real sockets: every method with every part of a request is byte-correct."""

import asyncio
import base64
from typing import Any

import pytest

from tests.integration.api_caller.calling import ALL, MOST, PAUSE_S, call, code, hanging, ok
from tests.integration.api_caller.raw_target import OK, Seen, raw_target, response, saying
from tests.unit.api_caller.making import READ, REPEATABLE, UNSAFE
from toolbus_api_caller.adapters.http_client import HttpClient


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
    """The timeout of a call ends it, and what became of it is not known, whatever the terms."""
    async with raw_target(hanging) as target:
        both = (call(client, target, method, {"timeout": PAUSE_S}, terms=terms) for terms in (READ, UNSAFE))
        safe, unsafe = await asyncio.gather(*both)
    assert (safe.result, code(safe), unsafe.result, len(target.seen)) == ("unknown", "timeout", "unknown", 2)


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


@pytest.mark.parametrize(
    ("location", "line"),
    [(b"/caf\xc3\xa9", "GET /caf%C3%A9 HTTP/1.1"), (b"/caf\xe9", "GET /caf%C3%A9 HTTP/1.1")],
    ids=["UTF-8", "Latin-1"],
)
async def test_redirects_to_other_letters(client: HttpClient, location: bytes, line: str) -> None:
    """A location that is not plain ASCII leads to the same letters, however they were written."""
    further = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        return await saying(further if "/v1/x" in seen.line else OK)(seen, writer)

    async with raw_target(answering) as target:
        ok(await call(client, target, "GET", follow_redirects=True))
    assert target.seen[1].line == line


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
