"""Servers that break, refuse and answer nonsense: each call is made once, and the session of the others goes on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.raw_server import RawServer, raw_server
from tests.integration.integrations.mcp.rig import Rig, rigged
from tests.nats_fixtures import until
from toolbus_contracts.executing.outcomes import Outcome

TOKEN = "correct-horse-battery"


@pytest.fixture(params=ERAS)
async def raw(request: pytest.FixtureRequest) -> AsyncIterator[RawServer]:
    """A server by hand that speaks one era."""
    async with raw_server(str(request.param)) as server:
        yield server


@pytest.fixture
async def rig(raw: RawServer) -> AsyncIterator[Rig]:
    """The effect, with that server put as `thing`; it wants a token."""
    async with rigged(secrets={"token": TOKEN}) as made:
        made.put(transport="http", url=raw.url, bearer="secret://token", headers={"X-Team": "blue"})
        yield made


def told(outcome: Outcome) -> tuple[str, str, str]:
    """Result, code and effect of what did not succeed."""
    assert outcome.error is not None
    return outcome.result, outcome.error.code, outcome.error.effect_happened


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [
        ("reset", ("unknown", "connection_lost", "unknown")),
        ("half", ("unknown", "connection_lost", "unknown")),
        ("cut", ("unknown", "connection_lost", "unknown")),
        ("packed", ("unknown", "connection_lost", "unknown")),
        ("deny", ("failed", "http_status", "no")),
        ("busy", ("failed", "http_status", "no")),
        ("break", ("failed", "http_status", "unknown")),
        ("garbage", ("failed", "response_invalid", "yes")),
        ("page", ("failed", "response_invalid", "unknown")),
        ("accept", ("failed", "response_invalid", "unknown")),
        ("mistaken", ("failed", "mcp_error", "no")),
        ("away", ("failed", "response_invalid", "unknown")),
        ("misfit", ("failed", "response_invalid", "yes")),
    ],
)
async def test_one_request_and_what_it_came_to(
    raw: RawServer, rig: Rig, tool: str, wanted: tuple[str, str, str]
) -> None:
    """Never a second request; a call that waits meanwhile, and the session, are not touched."""
    assert (await rig.call("echo")).result == "succeeded"
    waiting = asyncio.create_task(rig.call("hang"))
    await until(lambda: raw.called["hang"] == 1)
    found = await rig.call(tool)
    assert told(found) == wanted
    assert (await rig.call("echo")).result == "succeeded"
    raw.released.set()
    assert (await waiting).result == "succeeded"
    assert raw.called == {tool: 1, "echo": 2, "hang": 1}
    assert raw.begun == 1


async def test_retry_after_is_heeded(rig: Rig) -> None:
    """As the server says, in seconds."""
    found = await rig.call("busy")
    assert found.retry_after_s == 7
    assert found.error is not None
    assert found.error.retryable
    assert found.error.response is not None
    assert found.error.response.status_code == 429


async def test_content_that_does_not_fit_its_schema_is_told_without_the_token(raw: RawServer, rig: Rig) -> None:
    """The tool did what it did, once; what it gave stands among the details."""
    found = await rig.call("misfit")
    assert found.error is not None
    assert TOKEN not in str(found)
    assert [detail.path for detail in found.error.details] == ["/structured/id", "/structured"]
    assert found.error.details[1].message == '{"id":"Bearer [secret:token]"}'
    assert (raw.called["misfit"], found.error.retryable) == (1, False)


async def test_the_token_goes_out_and_does_not_come_back(raw: RawServer, rig: Rig) -> None:
    """It is in every request; a server that echoes it is quoted without it."""
    found = await rig.call("tell")
    assert found.output is not None
    assert TOKEN not in str(found.output)
    assert "Bearer [secret:token]" in found.output["text"]
    assert {headers["authorization"] for headers in raw.headers} == {f"Bearer {TOKEN}"}
    assert {headers["x-team"] for headers in raw.headers} == {"blue"}
    assert {headers["accept-encoding"] for headers in raw.headers} == {"identity"}


async def test_a_connection_that_hangs_is_closed_when_nobody_waits(raw: RawServer, rig: Rig) -> None:
    """Given up at its deadline, a call keeps no connection; the session goes on."""
    assert told(await rig.call("hang", timeout_s=0.3)) == ("unknown", "timeout", "unknown")
    seen = [one for one in raw.target.seen if b'"hang"' in one.body and b"tools/call" in one.body]
    assert len(seen) == 1
    await until(seen[0].has_left)
    assert (await rig.call("echo")).result == "succeeded"
    assert raw.begun == 1
