"""Fixtures of the tests of the integrations service."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.integrations.shelf import Started, put_on_shelf


@pytest.fixture
async def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Started]:
    """Hosts that find the misbehaving providers too."""
    put_on_shelf(tmp_path, monkeypatch)
    made = Started()
    yield made
    await made.hosts.close()
