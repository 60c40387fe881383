"""What servers say of their tools: page by page, when one is defined, and again before each call."""

from pathlib import Path

import pytest

from tests.integration.integrations.mcp.rig import TENANT, Process, Rig, rigged
from toolbus_contracts.errors import NotFound, Refused, Unavailable


async def test_all_pages_are_read(tmp_path: Path) -> None:
    """A hundred tools, seven on a page; hints are told, and none is a contract."""
    server = Process(tmp_path / "journal", {"TOOLS": "100", "PAGE": "7"})
    server.start()
    try:
        async with rigged() as rig:
            rig.put(transport="http", url=server.url)
            said = await rig.describing.listed(TENANT, "thing")
            assert len({tool.name for tool in said.tools}) == len(said.tools) == 108
            assert (said.server, said.version, said.protocol) == ("thing", "1", "2026-07-28")
            assert said.tools[0].hints.read_only is True
            surface = await rig.surface("extra_99")
            assert (surface.contract, surface.description) == (None, "extra_99 it")
    finally:
        server.kill()


async def test_pages_without_end_are_given_up(tmp_path: Path) -> None:
    """A cursor that comes back is no list."""
    server = Process(tmp_path / "journal", {"PAGE": "0"})
    server.start()
    try:
        async with rigged() as rig:
            rig.put(transport="http", url=server.url)
            with pytest.raises(Unavailable, match="without end"):
                await rig.describing.listed(TENANT, "thing")
    finally:
        server.kill()


async def test_a_tool_that_is_not_as_it_was_defined_is_not_called(mortal: Process, mortal_rig: Rig) -> None:
    """What changed is named, nothing runs; a pin on names, or none, lets it pass."""
    surface = await mortal_rig.surface("echo")
    assert (await mortal_rig.call("echo", {"text": "x"}, surface=surface)).result == "succeeded"
    mortal.kill()
    mortal.start(EDITION="2")
    found = await mortal_rig.call("echo", {"text": "x"}, surface=surface)
    if found.result == "not_sent":  # the session was the former server's
        found = await mortal_rig.call("echo", {"text": "x"}, surface=surface)
    assert found.error is not None
    assert (found.result, found.error.code, found.error.effect_happened) == ("failed", "definition_changed", "no")
    assert "loud is new" in found.error.message
    for pin in ("names", "off"):
        mortal_rig.put(transport="http", url=mortal.url, pin=pin)
        assert (await mortal_rig.call("echo", {"text": "x"}, surface=surface)).result == "succeeded"
    assert mortal.ran() == ["echo"] * 3


async def test_what_is_not_there(rig: Rig) -> None:
    """No such server, no such tool: told with the path, when it is defined and when it is called."""
    with pytest.raises(Refused) as caught:
        await rig.surface("nothing")
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", "/mcp/tool")
    rig.kept.servers.clear()
    with pytest.raises(Refused) as caught:
        await rig.surface("echo")
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", "/mcp/server")
    with pytest.raises(NotFound):
        await rig.call("echo", {"text": "x"})
    with pytest.raises(NotFound):
        await rig.describing.listed(TENANT, "thing")


async def test_a_server_that_is_away_cannot_be_described_now(tmp_path: Path) -> None:
    """Whoever defines a tool of it is told to come back."""
    server = Process(tmp_path / "journal")
    async with rigged() as rig:
        rig.put(transport="http", url=server.url)
        with pytest.raises(Unavailable) as caught:
            await rig.surface("echo")
        assert caught.value.retry_after_s > 0
