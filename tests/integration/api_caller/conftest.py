"""The network client of the executor."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.api_caller.calling import guard
from toolbus_api_caller.adapters.clock import SystemClock
from toolbus_api_caller.adapters.http_client import HttpClient


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client of its own for each test."""
    made = HttpClient(SystemClock(), keepalive_s=4.0, guard=guard())
    yield made
    await made.aclose()
