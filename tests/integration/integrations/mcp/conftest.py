"""Fixtures: a server as a process, and the effect that calls it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integration.integrations.mcp.rig import Process, Rig, rigged

ERAS = ("2026-07-28", "initialize")  # without sessions, and with the handshake


@pytest.fixture(scope="module", params=ERAS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server over HTTP that speaks one era of the protocol, shared by the tests of a module."""
    process = Process(tmp_path_factory.mktemp("mcp") / "journal", {"ERA": str(request.param)})
    process.start()
    yield process
    process.kill()


@pytest.fixture(params=ERAS)
def mortal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    """A server of a test's own, which it may kill."""
    process = Process(tmp_path / "journal", {"ERA": str(request.param)})
    process.start()
    yield process
    process.kill()


@pytest.fixture
async def rig(server: Process) -> AsyncIterator[Rig]:
    """The effect, with the server put as `thing`, whose journal is empty."""
    server.journal.unlink(missing_ok=True)
    async with rigged() as made:
        made.put(transport="http", url=server.url)
        yield made


@pytest.fixture
async def mortal_rig(mortal: Process) -> AsyncIterator[Rig]:
    """The effect, with the mortal server put as `thing`."""
    async with rigged() as made:
        made.put(transport="http", url=mortal.url)
        yield made
