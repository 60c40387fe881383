"""Servers that die and come back: what was sent is never sent again, and the next call finds the new server."""

import asyncio
from pathlib import Path

from tests.integration.integrations.mcp.rig import TENANT, Process, Rig, rigged
from tests.nats_fixtures import until
from toolbus_contracts.errors import Unavailable
from toolbus_integrations.mcp.connections import FIRST_DELAY_S


async def test_a_server_killed_in_the_middle_of_a_call(mortal: Process, mortal_rig: Rig) -> None:
    """The outcome is unknown, for each call that was on its way; the tool ran once, and after a restart calls go on."""
    work = [asyncio.create_task(mortal_rig.call("wait", {"s": 600})) for _ in range(3)]
    await until(lambda: len(mortal.ran()) == len(work))
    mortal.kill()
    for found in await asyncio.gather(*work):
        assert found.result == "unknown"
        assert found.error is not None
        assert (found.error.code, found.error.effect_happened) == ("connection_lost", "unknown")
    mortal.start()
    first = await mortal_rig.call("echo", {"text": "x"})
    if first.result == "not_sent":  # the session was the former server's: refused, and not carried out
        first = await mortal_rig.call("echo", {"text": "x"})
    assert first.result == "succeeded"
    assert mortal.ran() == ["wait", "wait", "wait", "echo"]


async def test_a_server_that_dies_of_the_request(mortal: Process, mortal_rig: Rig) -> None:
    """It was sent, and seen once: whether it happened, nobody can tell."""
    found = await mortal_rig.call("die")
    assert found.result == "unknown"
    assert found.error is not None
    assert found.error.code == "connection_lost"
    assert mortal.ran() == ["die"]


async def test_a_server_that_is_away_was_sent_nothing(mortal: Process, mortal_rig: Rig) -> None:
    """Over a session that stood, and over one that could not begin; for how long to pause is told."""
    assert (await mortal_rig.call("echo", {"text": "x"})).result == "succeeded"
    mortal.kill()
    found = await mortal_rig.call("echo", {"text": "x"})
    assert found.result == "not_sent"
    assert found.error is not None
    assert (found.error.code, found.error.retryable) == ("connection_failed", True)
    async with rigged() as other:
        other.put(transport="http", url=mortal.url)
        for _ in range(2):  # the second one within the pause: nothing is tried
            away = await other.call("echo", {"text": "x"})
            assert away.result == "not_sent"
            assert away.retry_after_s is not None
            assert 0 < away.retry_after_s <= FIRST_DELAY_S
    assert mortal.ran() == ["echo"]


async def test_sessions_that_one_server_forgot(tmp_path: Path) -> None:
    """With the handshake: the call that finds its session gone was not carried out, and the next one begins another."""
    server = Process(tmp_path / "journal", {"ERA": "initialize"})
    server.start()
    try:
        async with rigged() as rig:
            rig.put(transport="http", url=server.url)
            assert (await rig.call("echo", {"text": "x"})).result == "succeeded"
            server.kill()
            server.start()
            gone = await rig.call("echo", {"text": "x"})
            assert gone.result == "not_sent"
            assert gone.error is not None
            assert "session" in gone.error.message
            assert (await rig.call("echo", {"text": "x"})).result == "succeeded"
        assert server.ran() == ["echo", "echo"]
    finally:
        server.kill()


async def test_a_session_that_is_gone_is_noticed_by_the_list_of_tools(mortal: Process, mortal_rig: Rig) -> None:
    """Whoever asks for it is told to come back, at most once, and whoever comes next begins another session."""
    before = await mortal_rig.describing.listed(TENANT, "thing")
    mortal.kill()
    mortal.start()
    try:
        after = await mortal_rig.describing.listed(TENANT, "thing")
    except Unavailable:
        after = await mortal_rig.describing.listed(TENANT, "thing")
    assert after == before
