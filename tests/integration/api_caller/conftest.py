"""The network client of the executor."""

from collections.abc import AsyncIterator

import pytest

from toolbus_api_caller.adapters.clock import SystemClock
from toolbus_api_caller.adapters.http_client import HttpClient


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client of its own for each test."""
    made = HttpClient(SystemClock(), keepalive_s=4.0)
    yield made
    await made.aclose()
