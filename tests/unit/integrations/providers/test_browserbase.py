"""Browserbase: sessions from start to end, and extensions that come from repositories."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.fakes.browserbase import EXTENSION, PROJECT, Browserbase, zipped
from tests.fakes.vendor import KEY
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.archives import MAX_BYTES, MAX_FILES, without_top_folder
from toolbus_integrations.providers.browserbase import provider

ALL: dict[str, dict[str, Any]] = {
    "list_sessions": {},
    "create_session": {},
    "get_session": {"id": "session-1"},
    "complete_session": {"id": "session-1"},
    "get_live_urls": {"id": "session-1"},
    "install_extension_from_github": {"repositoryName": "ann/blocker"},
}
JSON = [name for name in ALL if name != "install_extension_from_github"]


@pytest.fixture
def vendor(httpserver: HTTPServer) -> Iterator[Browserbase]:
    """The vendor, without sessions."""
    found = Browserbase(httpserver)
    yield found
    found.release.set()


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _do(vendor: Browserbase, call: OwnCall, method: str, **arguments: object) -> dict[str, Any]:
    return await perform(provider, method, arguments, call, setup=vendor.setup)


def test_every_method_is_tested() -> None:
    """Those of the table are those of the provider; what starts something is not repeated blindly."""
    assert set(provider.methods) == set(ALL)
    contracts = {name: (found.contract.effect, found.contract.idempotency) for name, found in provider.methods.items()}
    assert contracts == {
        "list_sessions": ("read", "native"),
        "create_session": ("write", "none"),
        "get_session": ("read", "native"),
        "complete_session": ("write", "native"),
        "get_live_urls": ("read", "native"),
        "install_extension_from_github": ("write", "none"),
    }


async def test_life_of_a_session(vendor: Browserbase, call: OwnCall) -> None:
    """It is started, found, watched and ended."""
    started = await _do(vendor, call, "create_session")
    assert (started["id"], started["status"], started["projectId"]) == ("session-1", "RUNNING", PROJECT)
    assert started["connect_url"] == "wss://connect.usw2.browserbase.com/?signingKey=signed-session-1"
    assert (started["expiresAt"], started["avgCpuUsage"]) == ("2026-11-30T13:00:00.000Z", None)
    read = await _do(vendor, call, "get_session", id="session-1")
    assert read == {name: value for name, value in started.items() if name != "connect_url"}
    live = await _do(vendor, call, "get_live_urls", id="session-1")
    assert live["urls"]["pages"][0]["debuggerUrl"].endswith("session-1/page-1")
    assert await _do(vendor, call, "complete_session", id="session-1") == {"success": True}
    assert (await _do(vendor, call, "get_session", id="session-1"))["status"] == "COMPLETED"


async def test_listed_by_status(vendor: Browserbase, call: OwnCall) -> None:
    """All of them, or those of a status."""
    for _ in range(2):
        await _do(vendor, call, "create_session")
    await _do(vendor, call, "complete_session", id="session-1")
    assert [one["id"] for one in (await _do(vendor, call, "list_sessions"))["sessions"]] == ["session-1", "session-2"]
    running = await _do(vendor, call, "list_sessions", status="RUNNING")
    assert [one["id"] for one in running["sessions"]] == ["session-2"]


async def test_everything_wanted_is_asked_for(vendor: Browserbase, call: OwnCall) -> None:
    """Time, staying alive and proxies reach the vendor; the call's project goes before that of the setup."""
    proxies = [{"type": "browserbase", "geolocation": {"country": "DE"}}]
    wanted = {
        "projectId": "another",
        "extensionId": "extension-1",
        "browserSettings": {"viewport": {"width": 800, "height": 600}},
        "timeout": 120,
        "keepAlive": True,
        "proxies": proxies,
    }
    started = await _do(vendor, call, "create_session", **wanted)
    await _do(vendor, call, "create_session", proxies=True)
    other = await _do(vendor, call, "create_session", project_id="as-published")
    assert vendor.wanted[0] == wanted
    assert (started["keepAlive"], started["projectId"]) == (True, "another")
    usual = {"browserSettings": {}, "timeout": 3600, "keepAlive": False}
    assert vendor.wanted[1] == {"projectId": PROJECT, **usual, "proxies": True}
    assert vendor.wanted[2] == {"projectId": "as-published", **usual, "proxies": False}
    assert other["projectId"] == "as-published"


async def test_connected_to_elsewhere(vendor: Browserbase, call: OwnCall) -> None:
    """A `connect_url` of the setup replaces where to connect, and nothing of the rest."""
    setup = {**vendor.setup, "connect_url": "ws://127.0.0.1:9222"}
    started = await perform(provider, "create_session", {}, call, setup=setup)
    assert started["connect_url"] == "ws://127.0.0.1:9222/?signingKey=signed-session-1"


@pytest.mark.parametrize(("ref", "asked"), [(None, "HEAD"), ("v1.2", "refs/tags/v1.2")])
async def test_extension(vendor: Browserbase, call: OwnCall, ref: str | None, asked: str) -> None:
    """An extension is fetched past a redirect, repacked without its folder, and uploaded."""
    found = await _do(vendor, call, "install_extension_from_github", repositoryName="ann/blocker", ref=ref)
    assert found == {"id": "extension-1"}
    assert vendor.refs == [asked]
    assert vendor.uploads == [("ann-blocker.zip", EXTENSION)]
    assert all("x-bb-api-key" not in request.headers for request in vendor.requests[:2])


@pytest.mark.parametrize(
    "archive", [b"no archive", zipped({"top/readme.md": b"hello"}), zipped({"top/sub/manifest.json": b"{}"}), b""]
)
async def test_no_extension(vendor: Browserbase, call: OwnCall, archive: bytes) -> None:
    """What is no extension is not uploaded, and nothing has happened."""
    vendor.archive = archive
    with pytest.raises(ToolFailed, match="ann/blocker") as failed:
        await _do(vendor, call, "install_extension_from_github", repositoryName="ann/blocker")
    assert (failed.value.code, failed.value.has_effect, vendor.uploads) == ("response_invalid", False, [])


async def test_no_repository(vendor: Browserbase, call: OwnCall) -> None:
    """A repository that is not there is told as GitHub tells it."""
    with pytest.raises(ToolFailed, match=r"GitHub: Not Found \(HTTP 404\)"):
        await _do(vendor, call, "install_extension_from_github", repositoryName="ann/missing")


@pytest.mark.parametrize("name", ["ann", "ann/b/c", "../x", "ann/..%2f", "https://x.test/a", "ann/b?c"])
async def test_no_name_of_a_repository(vendor: Browserbase, call: OwnCall, name: str) -> None:
    """A name cannot lead elsewhere."""
    with pytest.raises(ValidationError):
        await _do(vendor, call, "install_extension_from_github", repositoryName=name)
    assert vendor.requests == []


async def test_guarded(vendor: Browserbase, call: OwnCall) -> None:
    """An archive on a host that the guard refuses is not fetched."""
    setup = {**vendor.setup, "github_url": f"https://{DENIED}"}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "install_extension_from_github", {"repositoryName": "a/b"}, call, setup=setup)
    assert (failed.value.code, vendor.requests) == ("egress_denied", [])


def test_bounds_of_archives() -> None:
    """Archives that say they hold too much are not unpacked."""
    many = zipped({f"top/{number}": b"" for number in range(MAX_FILES + 1)})
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("top/manifest.json", bytes(MAX_BYTES + 1))
    for found in (many, bomb.getvalue()):
        with pytest.raises(ValueError, match="more than"):
            without_top_folder(found, must_hold="manifest.json")


def test_broken_archives() -> None:
    """Content that does not fit its checksum is told."""
    whole = bytearray(zipped({"top/manifest.json": b"a manifest, more or less"}))
    whole[whole.index(b"more")] ^= 1
    with pytest.raises(ValueError, match="not a zip archive that can be read"):
        without_top_folder(bytes(whole), must_hold="manifest.json")


@pytest.mark.parametrize("method", ALL)
async def test_wrong_key(vendor: Browserbase, call: OwnCall, method: str) -> None:
    """A wrong key is told in the vendor's words, without the key."""
    with pytest.raises(ToolFailed, match=rf"Browserbase: {Browserbase.words} \(HTTP 401\)") as failed:
        await perform(provider, method, ALL[method], call, setup={**vendor.setup, "api_key": "a-wrong-key"})
    assert not failed.value.retryable
    assert KEY not in failed.value.message


@pytest.mark.parametrize("method", ALL)
async def test_troubles(vendor: Browserbase, call: OwnCall, method: str) -> None:
    """429 with its Retry-After, 500, too large, too slow: each told for what it is, after one request."""
    vendor.fail(429, retry_after="7")
    with pytest.raises(ToolFailed, match=Browserbase.words) as failed:
        await _do(vendor, call, method, **ALL[method])
    assert (failed.value.retryable, failed.value.retry_after_s, len(vendor.requests)) == (True, 7.0, 1)
    vendor.fail(500)
    with pytest.raises(ToolFailed, match=Browserbase.words) as failed:
        await _do(vendor, call, method, **ALL[method])
    is_before = method not in JSON  # the archive comes first: nothing was done yet
    assert (failed.value.retryable, failed.value.has_effect) == (is_before, False if is_before else None)
    found = provider.methods[method]
    assert (500 in found.retry_on) == (found.contract.idempotency == "native")
    vendor.say(b" " * 5000)
    call.max_output_bytes = 4096
    with pytest.raises(ToolFailed) as failed:
        await _do(vendor, call, method, **ALL[method])
    assert failed.value.code == "response_too_large"
    vendor.hang()
    with pytest.raises(TimeoutError):
        await perform(provider, method, ALL[method], call, setup=vendor.setup, timeout_s=0.2)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"surprise": 1}', b"<html>hello</html>"])
@pytest.mark.parametrize("method", JSON)
async def test_something_else(vendor: Browserbase, call: OwnCall, method: str, body: bytes) -> None:
    """200 with something else inside is no success."""
    vendor.say(body)
    with pytest.raises(ToolFailed, match="cannot be read") as failed:
        await _do(vendor, call, method, **ALL[method])
    assert failed.value.code == "response_invalid"
