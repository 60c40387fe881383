"""The provider `mcp` when a server refuses, is overrun, breaks, answers nonsense or too much, or dies, in both eras."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api_caller.raw_target import response
from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.raw_server import HUGE, RawServer, raw_server
from tests.integration.integrations.mcp.rig import Process
from tests.nats_fixtures import until
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.mcp import provider
from toolbus_integrations.providers.mcp_sessions import connections

TOKEN = "correct-horse-battery"
LONG = b"x" * 8000


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    """What a test left open is closed behind it."""
    yield
    await connections().aclose()


@pytest.fixture(params=ERAS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[RawServer]:
    """A server by hand, of one era."""
    async with raw_server(str(request.param)) as made:
        yield made


async def called(url: str, tool: str, call: OwnCall, **arguments: Any) -> dict[str, Any]:
    """What a tool answers to whoever bears the token."""
    given = {"tool_name": tool, **arguments}
    return await perform(provider, "call_tool", given, call, setup={"http_url": url, "bearer": TOKEN})


async def failure(server: RawServer, tool: str, call: OwnCall) -> ToolFailed:
    """How a call fails that was made once; the session goes on."""
    assert (await called(server.url, "echo", OwnCall(call.folder)))["text"] == "done"
    with pytest.raises(ToolFailed) as raised:
        await called(server.url, tool, call)
    assert TOKEN not in raised.value.message
    assert (call.is_sent, server.called[tool]) == (True, 1)
    assert (await called(server.url, "echo", OwnCall(call.folder)))["text"] == "done"
    assert server.begun == 1
    return raised.value


async def test_whoever_may_not_is_told_so(server: RawServer, tmp_path: Path) -> None:
    """401: the server did nothing, and would do nothing next time."""
    failed = await failure(server, "deny", OwnCall(tmp_path))
    assert (failed.code, failed.retryable, failed.has_effect) == ("http_status", False, False)
    assert failed.response is not None
    assert failed.response.status_code == 401


async def test_whoever_asks_too_often_comes_back(server: RawServer, tmp_path: Path) -> None:
    """429: after the time that the server says."""
    failed = await failure(server, "busy", OwnCall(tmp_path))
    assert (failed.code, failed.retryable, failed.has_effect) == ("http_status", True, False)
    assert failed.retry_after_s == 7
    assert failed.response is not None
    assert failed.response.status_code == 429


async def test_a_server_that_breaks(server: RawServer, tmp_path: Path) -> None:
    """500: what it did nobody knows; what it said is kept, so that a tool's `retry_on` can name the status."""
    failed = await failure(server, "break", OwnCall(tmp_path))
    assert (failed.code, failed.has_effect) == ("http_status", None)
    assert failed.response is not None
    assert (failed.response.status_code, failed.response.text) == (500, "<h1>sorry</h1>")


@pytest.mark.parametrize(("tool", "has_effect"), [("garbage", True), ("page", None), ("accept", None), ("away", None)])
async def test_a_server_that_answers_nonsense(
    server: RawServer, tmp_path: Path, tool: str, *, has_effect: bool | None
) -> None:
    """A success that cannot be read is one all the same, where it comes as an answer of the protocol."""
    failed = await failure(server, tool, OwnCall(tmp_path))
    assert (failed.code, failed.retryable, failed.has_effect) == ("response_invalid", False, has_effect)


async def test_a_server_that_answers_too_much(server: RawServer, tmp_path: Path) -> None:
    """The tool did what it did, and no more of its answer is taken than the call may have."""
    failed = await failure(server, "huge", OwnCall(tmp_path, max_output_bytes=HUGE // 2))
    assert (failed.code, failed.retryable, failed.has_effect) == ("response_too_large", False, True)
    assert len((await called(server.url, "huge", OwnCall(tmp_path)))["text"]) == HUGE


async def test_what_is_too_long_to_be_kept_whole_is_not_quoted(server: RawServer, tmp_path: Path) -> None:
    """It would end somewhere, and half of a secret there would not be known for one."""
    await called(server.url, "echo", OwnCall(tmp_path))
    server.refusal = response(LONG, "Content-Type: text/plain", status="400 Bad Request")
    with pytest.raises(ToolFailed) as failed:
        await called(server.url, "echo", OwnCall(tmp_path))
    assert failed.value.response is not None
    assert (failed.value.response.status_code, failed.value.response.content) == (400, b"")


@pytest.mark.parametrize("method", ["list_tools", "call_tool"])
@pytest.mark.parametrize(
    "refusal",
    [
        response(b"no", status="401 Unauthorized"),
        response(b"later", "Retry-After: 7", status="429 Too Many Requests"),
        response(b"<h1>sorry</h1>", status="500 Internal Server Error"),
        response(b"{no json", "Content-Type: application/json"),
    ],
    ids=["401", "429", "500", "nonsense"],
)
async def test_a_server_with_which_no_session_begins(
    server: RawServer, tmp_path: Path, refusal: bytes, method: str
) -> None:
    """Nothing of the call was sent, and this is known; for how long to pause is told."""
    server.refusal = refusal
    call = OwnCall(tmp_path)
    given = {"tool_name": "echo"} if method == "call_tool" else {}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, method, given, call, setup={"http_url": server.url, "bearer": TOKEN})
    assert (failed.value.code, failed.value.has_effect) == ("connection_failed", False)
    assert failed.value.retry_after_s is not None
    assert TOKEN not in failed.value.message
    assert (call.is_sent, server.called) == (False, {})


async def test_a_server_that_lists_nothing_any_more(server: RawServer, tmp_path: Path) -> None:
    """Over a session that stood: a list may be asked for again, and once the server is well it is there."""
    setup = {"http_url": server.url, "bearer": TOKEN}
    listed = await perform(provider, "list_tools", {}, OwnCall(tmp_path), setup=setup)
    server.refusal = response(b"<h1>sorry</h1>", status="500 Internal Server Error")
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "list_tools", {}, OwnCall(tmp_path), setup=setup)
    assert failed.value.retryable
    server.refusal = None
    await asyncio.sleep(failed.value.retry_after_s or 0)
    assert await perform(provider, "list_tools", {}, OwnCall(tmp_path), setup=setup) == listed


@pytest.mark.timeout(180)  # two processes begin one after the other
async def test_a_server_that_is_killed_in_the_middle_of_a_call(mortal: Process, tmp_path: Path) -> None:
    """Nobody knows what came of it; it is not sent again, and later calls find the new server."""
    calls = [OwnCall(tmp_path) for _ in range(2)]
    work = [asyncio.create_task(called(mortal.url, "wait", call, arguments={"s": 600})) for call in calls]
    await until(lambda: len(mortal.ran()) == len(work))
    mortal.kill()
    for found in await asyncio.gather(*work, return_exceptions=True):
        assert isinstance(found, ConnectionError), found
    assert all(call.is_sent for call in calls)
    mortal.start()
    assert (await called(mortal.url, "echo", OwnCall(tmp_path), arguments={"text": "x"}))["text"] == "x"
    assert mortal.ran() == ["wait", "wait", "echo"]
