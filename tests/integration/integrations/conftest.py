"""Fixtures of the tests of the integrations service."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.http.system import System
from tests.integration.integrations.shelf import Started, put_on_shelf


@pytest.fixture
async def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Started]:
    """Hosts that find the misbehaving providers too."""
    put_on_shelf(tmp_path, monkeypatch)
    made = Started()
    yield made
    await made.hosts.close()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, sqlite_template: bytes) -> Iterator[System]:
    """The system, with the misbehaving providers on its shelf."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "toolbus.db").write_bytes(sqlite_template)
    with pytest.MonkeyPatch.context() as monkeypatch:
        site = folder / "site"
        site.mkdir()
        put_on_shelf(site, monkeypatch)
        made = System(folder, f"sqlite:///{folder / 'toolbus.db'}")
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="module")
def http(system: System) -> httpx.Client:
    """The tenant's administrator."""
    return system.client(system.tokens["acme"])
