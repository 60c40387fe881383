"""Where a browser is, in trouble: whatever goes wrong before it does anything, it is known that nothing was done."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.fakes.vendor import FakeVendor, as_json
from tests.unit.integrations.providers.calling import OwnCall, perform
from tests.unit.integrations.providers.chromium import CHROMIUM, chromium
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import remote_browser

CLICK = {"action": "left_click", "coordinate": [1, 1]}
SOON_MS = 500


class Place(FakeVendor):
    """What answers under http in place of a browser: a proxy of it."""

    def _setup(self) -> dict[str, Any]:
        return {"connect_url": self.url}

    def _answer(self, request: Request) -> Response:
        return as_json({"webSocketDebuggerUrl": f"ws://{request.host}/devtools/browser/1"})

    def _refusal(self, status: int) -> Response:
        return as_json({"message": self.words}, status)


@pytest.fixture
def place(httpserver: HTTPServer) -> Iterator[Place]:
    """It answers."""
    found = Place(httpserver)
    yield found
    found.release.set()


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _failure(setup: dict[str, Any], call: OwnCall) -> ToolFailed:
    """How a click fails that never came to be."""
    with pytest.raises(ToolFailed) as raised:
        await perform(remote_browser.provider, "perform_action", CLICK, call, setup=setup)
    assert raised.value.has_effect is False
    return raised.value


@pytest.mark.parametrize("status", [429, 503])
async def test_too_often(place: Place, call: OwnCall, status: int) -> None:
    """Retry-After is kept."""
    place.fail(status, retry_after="7")
    failed = await _failure(place.setup, call)
    assert failed.message == f"the browser: {Place.words} (HTTP {status})"
    assert (failed.retryable, failed.retry_after_s, len(place.requests)) == (True, 7.0, 1)


@pytest.mark.parametrize("status", [500, 502])
async def test_broken(place: Place, call: OwnCall, status: int) -> None:
    """Nothing was done: it may be tried again."""
    place.fail(status)
    failed = await _failure(place.setup, call)
    assert (failed.code, failed.retryable, len(place.requests)) == ("http_status", True, 1)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_refused(place: Place, call: OwnCall, status: int) -> None:
    """To try again would not help."""
    place.fail(status)
    failed = await _failure(place.setup, call)
    assert (failed.code, failed.retryable, len(place.requests)) == ("http_status", False, 1)


async def test_something_else(place: Place, call: OwnCall) -> None:
    """No address of a browser."""
    place.say(b"<html>")
    assert (await _failure(place.setup, call)).code == "response_invalid"


async def test_too_large(place: Place, call: OwnCall) -> None:
    """An answer has a bound."""
    place.say(b" " * 5000)
    call.max_output_bytes = 4096
    assert (await _failure(place.setup, call)).code == "response_too_large"


async def test_too_slow(place: Place, call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for until the deadline of the call, behind which nobody would know."""
    monkeypatch.setattr(remote_browser, "CONNECT_MS", SOON_MS)
    place.hang()
    failed = await _failure(place.setup, call)
    assert (failed.code, failed.retryable) == ("connection_failed", True)
    assert failed.message.endswith("no answer in time")


async def test_socket_that_is_silent(call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that takes a connection and says nothing."""
    monkeypatch.setattr(remote_browser, "CONNECT_MS", SOON_MS)
    async with _silent() as port:
        failed = await _failure({"connect_url": f"ws://127.0.0.1:{port}/"}, call)
    assert (failed.code, failed.retryable, call.is_sent) == ("connection_failed", True, False)
    assert "no browser answers" in failed.message


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM} (Debian's package chromium)")
@pytest.mark.timeout(180)
async def test_picture_that_is_too_large(tmp_path: Path, call: OwnCall) -> None:
    """To look at a page changes nothing, also when the picture is more than the call may have."""
    call.max_output_bytes = 500
    async with chromium(tmp_path / "profile") as browser:
        with pytest.raises(ToolFailed) as failed:
            await perform(
                remote_browser.provider,
                "perform_action",
                {"action": "screenshot"},
                call,
                setup={"connect_url": browser.url, "width": 640, "height": 480},
            )
    assert (failed.value.code, failed.value.has_effect) == ("response_too_large", False)
    assert not call.is_sent


@asynccontextmanager
async def _silent() -> AsyncIterator[int]:
    """The port of a server that takes connections and never answers."""

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
