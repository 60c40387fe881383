"""However a connection fails, it is told in the words of httpx, and whether something was sent is known."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest
from pydantic import BaseModel

from tests.integration.api_caller.raw_target import reset
from tests.ports import free_port
from tests.unit.integrations.hosting.calling import Raw, hosted
from tests.unit.integrations.providers.authority import Authority
from toolbus import WRITE, Call, Info, Provider, ToolFailed
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.judging import judge
from toolbus_integrations.host.exchange import Exchange
from toolbus_integrations.host.failures import LIBRARY_ERRORS, MEANT
from toolbus_integrations.host.messages import Ended, Interrupted, Perform
from toolbus_integrations.host.network import Network
from toolbus_integrations.host.running import Runner

HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf"
Writing = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Place(BaseModel):
    """Where to."""

    url: str
    header: str = "x"


class Nothing(BaseModel):
    """Nothing is told."""


provider = Provider("writing", info=Info(friendly_name="Writing"))


@provider.method(contract=WRITE)
async def write(arguments: Place, setup: None, call: Call) -> Nothing:
    """Change something somewhere."""
    await call.post(arguments.url, json={}, headers={"x-key": arguments.header})
    return Nothing()


@provider.method(contract=WRITE)
async def read_and_write(arguments: Place, setup: None, call: Call) -> Nothing:
    """Read something first."""
    await call.get(arguments.url)
    await call.post(arguments.header, json={})
    return Nothing()


async def ended(network: Network, folder: Path, method: str = "write", **arguments: Any) -> tuple[Ended, Exchange]:
    """What came of a call that changes something, and what is known of what it sent."""
    exchange = hosted(network, folder).exchange
    runner = Runner(provider, network, folder=folder, user_agent="toolbus/test")
    asked = Perform(
        id=1,
        method=method,
        setup={},
        arguments=arguments,
        tenant="acme",
        call_id="call_1",
        max_output_bytes=1000,
    )
    return await runner.run(asked, exchange), exchange


def judged(found: Ended, exchange: Exchange) -> tuple[str, str, bool]:
    """Result, code, and whether the same may work later, for a tool of which nothing is promised."""
    outcome = judge(found, Terms(), is_sent=exchange.is_sent)
    assert outcome.error is not None
    return outcome.result, outcome.error.code, outcome.error.retryable


@asynccontextmanager
async def serving(answering: Writing, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that does this with each connection."""
    server = await asyncio.start_server(answering, "127.0.0.1", 0, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take nothing, and close."""
    del reader
    writer.close()


async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the request, and reset the connection."""
    await reader.readuntil(b"\r\n\r\n")
    reset(writer)


def test_every_error_of_the_library_has_a_meaning() -> None:
    """Those below httpx, and the ones that httpx makes of them."""
    named = [getattr(httpcore, name) for name in httpcore.__all__]
    errors = {one for one in named if isinstance(one, type) and issubclass(one, Exception)}
    assert errors <= MEANT.keys()
    assert {kind for kind in MEANT if issubclass(kind, OSError)} == {ssl.SSLError}
    assert all(issubclass(meant, httpx.TransportError) for meant in MEANT.values())
    assert set(MEANT) < set(LIBRARY_ERRORS)


async def test_before_anything_was_sent_the_call_may_be_made_again(network: Network, tmp_path: Path) -> None:
    """No address, nobody there, no TLS, a certificate that nobody trusts, a connection that is closed at once."""
    context = Authority().context("127.0.0.1", tmp_path)
    async with serving(hang_up) as plain, serving(slam, context) as untrusted:
        for url in (
            "http://no-such-host.invalid/",
            f"http://127.0.0.1:{free_port()}/",
            f"https://127.0.0.1:{plain}/",
            f"https://127.0.0.1:{untrusted}/",
        ):
            found, exchange = await ended(network, tmp_path, url=url)
            assert isinstance(found, Interrupted), (url, found)
            assert found.message.startswith("ConnectError"), (url, found)
            assert not exchange.is_sent, url
            assert judged(found, exchange) == ("not_sent", "connection_failed", True)


async def test_what_fails_when_it_was_sent_is_in_doubt(network: Network, tmp_path: Path, raw: Raw) -> None:
    """No answer, a reset, one that broke off or is none: nobody knows, and it is not sent again."""
    async with serving(slam) as slammed:
        cases = {
            f"http://127.0.0.1:{slammed}/": "ReadError",
            await raw(b""): "RemoteProtocolError",
            await raw(HALF): "RemoteProtocolError",
            await raw(CHUNKED): "RemoteProtocolError",
            await raw(b"no http\r\n\r\n"): "RemoteProtocolError",
        }
        for url, words in cases.items():
            found, exchange = await ended(network, tmp_path, url=url)
            assert isinstance(found, Interrupted), found
            assert found.message.startswith(words), found
            assert exchange.is_sent
            assert judged(found, exchange) == ("unknown", "connection_lost", False)


async def test_a_change_that_did_not_begin_may_be_made_again(network: Network, tmp_path: Path, raw: Raw) -> None:
    """What only read had left when the connection broke; behind it, and in the change itself, there is a doubt."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    found, exchange = await ended(network, tmp_path, "read_and_write", url=await raw(HALF), header="http://x/")
    assert (exchange.is_sent, judged(found, exchange)) == (True, ("not_sent", "connection_failed", True))
    for url in (await raw(HALF), await raw(b"")):
        found, exchange = await ended(network, tmp_path, "read_and_write", url=await raw(whole), header=url)
        assert judged(found, exchange) == ("unknown", "connection_lost", False)


@pytest.mark.parametrize("arguments", [{"header": "a\nb"}, {"header": "\u201ckey\u201d"}, {"url": "http://[::1/"}])
async def test_a_request_that_cannot_be_written_is_refused(
    network: Network, tmp_path: Path, raw: Raw, arguments: dict[str, str]
) -> None:
    """Nothing was sent, trying again changes nothing, and what may be a key is not quoted."""
    found, exchange = await ended(network, tmp_path, **{"url": await raw(b""), **arguments})
    assert judged(found, exchange) == ("failed", "request_invalid", False)
    assert not exchange.is_sent
    assert "key" not in found.model_dump_json()


async def test_a_body_that_breaks_off_is_told_to_whoever_reads_it(network: Network, tmp_path: Path, raw: Raw) -> None:
    """Also to a vendor's own library, which knows the words of httpx alone."""
    hosted(network, tmp_path)
    async with httpx.AsyncClient(transport=network, trust_env=False) as client:
        with pytest.raises(httpx.RemoteProtocolError) as broke:
            await client.get(await raw(HALF))
    assert broke.value.request.method == "GET"


async def test_a_name_without_address_leaves_the_call_unsent(network: Network, tmp_path: Path) -> None:
    """Also where it is asked for before anything else."""
    call = hosted(network, tmp_path)
    with pytest.raises(ToolFailed) as failed:
        await call.examine("http://no-such-host.invalid/")
    assert (failed.value.code, failed.value.retryable) == ("connection_failed", True)
