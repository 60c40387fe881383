"""The provider `mcp`: connections are kept between calls, one a tenant and server, and no call is made twice."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.raw_server import RawServer, raw_server
from tests.integration.integrations.mcp.rig import Process
from tests.nats_fixtures import until
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.mcp import provider
from toolbus_integrations.providers.mcp_sessions import connections

HANG_S = 0.5


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


async def called(url: str, tool: str, call: OwnCall, *, headers: Any = None, **arguments: Any) -> dict[str, Any]:
    """What a tool answers."""
    given = {"tool_name": tool, **arguments}
    return await perform(provider, "call_tool", given, call, setup={"http_url": url, "http_headers": headers or {}})


async def test_calls_of_a_tenant_share_a_session(server: RawServer, tmp_path: Path) -> None:
    """One after another and side by side; other headers, and another tenant, have another."""
    own = [OwnCall(tmp_path) for _ in range(4)]
    assert (await called(server.url, "echo", own[0]))["text"] == "done"
    await asyncio.gather(*(called(server.url, "echo", call) for call in own[1:]))
    assert (server.begun, server.called["echo"]) == (1, 4)
    assert all(call.is_sent for call in own)
    await called(server.url, "echo", OwnCall(tmp_path), headers={"x-key": "other"})
    assert server.begun == 2
    await called(server.url, "echo", OwnCall(tmp_path, tenant="umbrella"))
    assert (server.begun, connections().open_count()) == (3, 3)


async def test_what_was_sent_and_not_answered_is_not_sent_again(server: RawServer, tmp_path: Path) -> None:
    """A reset, and half an answer: nobody knows; the session goes on."""
    for tool in ("reset", "half", "cut"):
        call = OwnCall(tmp_path)
        with pytest.raises(ConnectionError):
            await called(server.url, tool, call)
        assert (call.is_sent, server.called[tool]) == (True, 1)
    assert (await called(server.url, "echo", OwnCall(tmp_path)))["text"] == "done"


async def test_a_call_without_an_answer_ends_at_its_time(server: RawServer, tmp_path: Path) -> None:
    """It was sent; others on the same session are answered meanwhile."""
    call = OwnCall(tmp_path)
    hanging = asyncio.create_task(called(server.url, "hang", call, timeout_seconds=HANG_S))
    await until(lambda: server.called["hang"] == 1)
    assert (await called(server.url, "echo", OwnCall(tmp_path)))["text"] == "done"
    with pytest.raises(TimeoutError):
        await hanging
    assert (call.is_sent, server.called["hang"], server.begun) == (True, 1, 1)


async def test_a_server_that_is_away_was_sent_nothing(tmp_path: Path) -> None:
    """The call may be made again, later; a server that the guard refuses is not looked for."""
    call = OwnCall(tmp_path)
    with pytest.raises(ToolFailed) as away:
        await called("http://127.0.0.1:9/mcp", "echo", call)
    assert (away.value.code, away.value.retryable, away.value.has_effect) == ("connection_failed", True, False)
    assert away.value.retry_after_s is not None
    assert not call.is_sent
    with pytest.raises(ToolFailed) as refused:
        await called(f"https://{DENIED}/mcp", "echo", call)
    assert refused.value.code == "egress_denied"


@pytest.mark.timeout(180)  # three processes begin one after the other
async def test_a_server_that_was_started_again_is_spoken_to_anew(mortal: Process, tmp_path: Path) -> None:
    """It knows the session no more, and says so: each tool ran once all the same."""
    assert (await called(mortal.url, "echo", OwnCall(tmp_path), arguments={"text": "a"}))["text"] == "a"
    mortal.kill()
    mortal.start()
    assert (await called(mortal.url, "echo", OwnCall(tmp_path), arguments={"text": "b"}))["text"] == "b"
    assert mortal.ran() == ["echo", "echo"]
    mortal.kill()
    mortal.start()
    listed = await perform(provider, "list_tools", {}, OwnCall(tmp_path), setup={"http_url": mortal.url})
    assert "echo" in {tool["name"] for tool in listed["tools"]}


async def test_a_list_is_what_the_server_offers_now(mortal: Process, tmp_path: Path) -> None:
    """Though the session, and what was heard in it before, is kept."""
    for edition in ("1", "2"):
        mortal.kill()
        mortal.start(EDITION=edition)
        listed = await perform(provider, "list_tools", {}, OwnCall(tmp_path), setup={"http_url": mortal.url})
        (echo,) = [tool for tool in listed["tools"] if tool["name"] == "echo"]
        assert ("loud" in echo["input_schema"]["properties"]) == (edition == "2")


@pytest.mark.parametrize("tool", ["fail", "ask"])
async def test_what_is_no_success_has_failed(mortal: Process, tmp_path: Path, tool: str) -> None:
    """The tool's own error; and a server that wants to know more, which nobody is asked here."""
    with pytest.raises(ToolFailed) as failed:
        await called(mortal.url, tool, OwnCall(tmp_path))
    code, has_effect = {"fail": ("tool_error", None), "ask": ("input_required", False)}[tool]
    assert (failed.value.code, failed.value.has_effect) == (code, has_effect)
