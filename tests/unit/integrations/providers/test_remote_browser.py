"""A real Chromium, driven over its debugging protocol, one call at a time."""

import asyncio
import base64
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from tests.unit.integrations.providers.chromium import CHROMIUM, OTHER, PAGE, Chromium, chromium
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.browser_keys import chord
from toolbus_integrations.providers.drivers import driver
from toolbus_integrations.providers.remote_browser import Action, provider

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM} (Debian's package chromium)"),
    pytest.mark.timeout(180),
]
SIZE = {"width": 640, "height": 480}


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Chromium]:
    """A browser with an empty page; the driver stays from call to call, to save time."""
    async with chromium(tmp_path / "profile") as running, driver():
        yield running


@pytest.fixture
def site(httpserver: HTTPServer) -> str:
    """A page that notes what is done to it, and one that it leads to."""
    httpserver.expect_request("/").respond_with_data(PAGE, content_type="text/html")
    httpserver.expect_request("/other").respond_with_data(OTHER, content_type="text/html")
    return httpserver.url_for("/")


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _do(browser: Chromium, call: OwnCall, action: str, **arguments: object) -> dict[str, Any]:
    setup = {"connect_url": browser.url, **SIZE}
    return await perform(provider, "perform_action", {"action": action, **arguments}, call, setup=setup)


async def test_clicked_and_looked_at(browser: Chromium, site: str, call: OwnCall) -> None:
    """A page is opened, a button clicked, and what a screenshot shows has the size of the setup."""
    told = await _do(browser, call, "navigate", text=site)
    assert told["output"] == f"at {site}"
    assert call.is_sent
    await _do(browser, call, "left_click", coordinate=[120, 60])
    assert await browser.look("noted") == [
        "mousedown BUTTON 120,60 0",
        "mouseup BUTTON 120,60 0",
        "click BUTTON 120,60 0",
    ]
    call.is_sent = False
    shown = await _do(browser, call, "screenshot")
    head, _, content = shown["base64_image"].partition(",")
    picture = base64.b64decode(content)
    assert (head, picture[:8]) == ("data:image/png;base64", b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", picture[16:24]) == (640, 480)
    assert not call.is_sent
    # The mouse is in the picture, and in the page no more.
    await _do(browser, call, "mouse_move", coordinate=[400, 300])
    assert (await _do(browser, call, "screenshot"))["base64_image"] != shown["base64_image"]
    assert await browser.look("document.querySelectorAll('div').length") == 0


async def test_mouse_and_keys(browser: Chromium, site: str, call: OwnCall) -> None:
    """Every button, dragging, typing and chords; the mouse stands where the last call left it."""
    await _do(browser, call, "navigate", text=site)
    await _do(browser, call, "mouse_move", coordinate=[150, 160])
    assert (await _do(browser, call, "cursor_position"))["output"] == "X=150,Y=160"
    await _do(browser, call, "left_click")
    await _do(browser, call, "type", text="Hello, wörld+1")
    await _do(browser, call, "key", text="ctrl+a")
    await _do(browser, call, "key", text="BackSpace")
    assert await browser.look("document.querySelector('input').value") == ""
    await _do(browser, call, "type", text="ab")
    assert await browser.look("document.querySelector('input').value") == "ab"
    noted = await browser.look("noted")
    assert "key ctrl a" in noted
    assert "click INPUT 150,160 0" in noted
    await browser.look("noted.length = 0")
    await _do(browser, call, "right_click", coordinate=[120, 60])
    await _do(browser, call, "middle_click")
    await _do(browser, call, "double_click")
    noted = await browser.look("noted")
    for event in ("contextmenu BUTTON 120,60 2", "auxclick BUTTON 120,60 1", "dblclick BUTTON 120,60 0"):
        assert event in noted
    await browser.look("noted.length = 0")
    await _do(browser, call, "left_click_drag", coordinate=[300, 300])
    assert (await browser.look("noted"))[:2] == ["mousedown BUTTON 120,60 0", "mouseup HTML 300,300 0"]
    assert (await _do(browser, call, "cursor_position"))["output"] == "X=300,Y=300"


async def test_mouse_after_the_page_went_elsewhere(browser: Chromium, site: str, call: OwnCall) -> None:
    """Where we sent the page the mouse is known; where the page went by itself it is not, and nothing is clicked."""
    await _do(browser, call, "navigate", text=site)
    with pytest.raises(ToolFailed, match="not known"):
        await _do(browser, call, "left_click")
    await _do(browser, call, "mouse_move", coordinate=[120, 60])
    assert (await _do(browser, call, "refresh"))["output"] == f"at {site}"
    assert (await _do(browser, call, "cursor_position"))["output"] == "X=120,Y=60"
    await _do(browser, call, "left_click", coordinate=[120, 260])
    await browser.wait_for("document.title == 'Other'")
    await browser.look('delete window[Symbol.for("toolbus.cursor")]')
    with pytest.raises(ToolFailed, match="not known") as failed:
        await _do(browser, call, "left_click")
    assert (failed.value.code, failed.value.has_effect) == ("request_invalid", False)


@pytest.mark.parametrize(
    "url", [f"http://{DENIED}/", "file:///etc/passwd", "javascript:alert(1)", "chrome://version", "/etc/passwd"]
)
async def test_where_it_may_not_go(call: OwnCall, url: str) -> None:
    """Targets that the guard refuses, files and scripts are refused before a browser is looked for."""
    setup = {"connect_url": "ws://127.0.0.1:1/"}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "perform_action", {"action": "navigate", "text": url}, call, setup=setup)
    assert (failed.value.code, call.is_sent) == ("egress_denied", False)


async def test_failures_in_its_words(browser: Chromium, call: OwnCall) -> None:
    """A page that is not there and a key that is none are told as the browser tells them."""
    with pytest.raises(ToolFailed, match="ERR_"):
        await _do(browser, call, "navigate", text="http://127.0.0.1:1/")
    with pytest.raises(ToolFailed, match="Unknown key") as failed:
        await _do(browser, call, "key", text="Nokey")
    assert (failed.value.code, failed.value.has_effect) == ("request_invalid", False)


async def test_found_under_http(browser: Chromium, call: OwnCall) -> None:
    """A browser is found under http too, by the call's address where the setup has none; its own size stays."""
    arguments = {"action": "screenshot", "connect_url": browser.http_url}
    shown = await perform(provider, "perform_action", arguments, call, setup={})
    picture = base64.b64decode(shown["base64_image"].partition(",")[2])
    assert struct.unpack(">II", picture[16:20] + picture[20:24])[0] == 800


async def test_setup_goes_before_the_call(browser: Chromium, call: OwnCall) -> None:
    """A call cannot choose another browser than the setup's; calls at the same time do not disturb one another."""
    asking = (_do(browser, call, "screenshot", connect_url=f"ws://{DENIED}/") for _ in range(3))
    assert all(shown["base64_image"] for shown in await asyncio.gather(*asking))
    assert (await _do(browser, call, "navigate", text="about:blank"))["output"] == "at about:blank"


async def test_browser_that_dies(browser: Chromium, site: str, call: OwnCall) -> None:
    """A browser that is gone in the middle leaves open what it has done."""
    await _do(browser, call, "navigate", text=site)
    await _do(browser, call, "left_click", coordinate=[150, 160])
    typing = asyncio.create_task(_do(browser, call, "type", text="abc" * 20_000))
    await browser.wait_for("document.querySelector('input').value.length > 0")
    browser.process.kill()
    with pytest.raises(ConnectionError):
        await typing


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_guarded(call: OwnCall, scheme: str) -> None:
    """A browser on a host that the guard refuses is not connected to."""
    with pytest.raises(ToolFailed) as failed:
        await perform(
            provider, "perform_action", {"action": "screenshot"}, call, setup={"connect_url": f"{scheme}://{DENIED}/"}
        )
    assert failed.value.code == "egress_denied"


async def test_led_elsewhere(httpserver: HTTPServer, call: OwnCall) -> None:
    """What answers under http cannot lead to a host that the guard refuses."""
    told = {"webSocketDebuggerUrl": f"ws://{DENIED}?devtools=1"}
    httpserver.expect_request("/at/json/version", query_string={"key": "1"}).respond_with_json(told)
    setup = {"connect_url": httpserver.url_for("/at/?key=1")}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "perform_action", {"action": "screenshot"}, call, setup=setup)
    assert failed.value.code == "egress_denied"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [(b"{}", 200, "response_invalid"), (b"<html>", 200, "response_invalid"), (b"no", 401, "http_status")],
)
async def test_no_browser_under_http(
    httpserver: HTTPServer, call: OwnCall, *, body: bytes, status: int, code: str
) -> None:
    """What answers as something else is no browser."""
    httpserver.expect_request("/json/version").respond_with_data(body, status)
    setup = {"connect_url": httpserver.url_for("")}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "perform_action", {"action": "screenshot"}, call, setup=setup)
    assert failed.value.code == code


@pytest.mark.parametrize("kind", ["nobody", "something else"])
async def test_no_browser(httpserver: HTTPServer, call: OwnCall, kind: str) -> None:
    """Where no browser listens nothing was done, and another attempt may find one."""
    port = httpserver.port if kind == "something else" else 1
    setup = {"connect_url": f"ws://127.0.0.1:{port}/devtools/browser/1"}
    click = {"action": "left_click", "coordinate": [1, 1]}
    with pytest.raises(ToolFailed, match="no browser answers") as failed:
        await perform(provider, "perform_action", click, call, setup=setup)
    assert (failed.value.code, failed.value.retryable, failed.value.has_effect) == ("connection_failed", True, False)
    assert not call.is_sent


async def test_one_driver_for_many() -> None:
    """Calls at the same time share one driver, and it ends with the last of them."""
    async with driver() as one:
        async with driver() as other:
            assert one is other
            running = [child for child in psutil.Process().children() if "playwright" in " ".join(child.cmdline())]
            assert len(running) == 1
        assert running[0].is_running()
    assert not running[0].is_running()


async def test_half_a_size(call: OwnCall) -> None:
    """A width without a height is a mistake."""
    with pytest.raises(ValidationError, match="both width and height"):
        await perform(provider, "perform_action", {"action": "screenshot"}, call, setup={"width": 5})


async def test_which_browser(call: OwnCall) -> None:
    """Without an address nothing is guessed."""
    with pytest.raises(ToolFailed, match="connect_url"):
        await perform(provider, "perform_action", {"action": "screenshot"}, call, setup={})


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "fly"},
        {"action": "type"},
        {"action": "key"},
        {"action": "navigate"},
        {"action": "mouse_move"},
        {"action": "left_click_drag"},
        {"action": "left_click", "coordinate": [1]},
        {"action": "left_click", "coordinate": [-1, 1]},
        {"action": "screenshot", "coordinate": [1, 1]},
        {"action": "screenshot", "text": "x"},
        {"action": "screenshot", "connect_url": "chrome"},
        {"action": "screenshot", "connect_url": "file:///tmp/x"},
    ],
    ids=str,
)
async def test_what_makes_no_sense(call: OwnCall, arguments: dict[str, object]) -> None:
    """Nothing is ignored and nothing is guessed."""
    with pytest.raises(ValidationError):
        await perform(provider, "perform_action", arguments, call, setup={})


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ctrl+a", "Control+a"),
        ("Return", "Enter"),
        ("Page_Down", "PageDown"),
        ("ctrl+shift+Tab", "Control+Shift+Tab"),
        ("ctrl++", "Control++"),
        ("+", "+"),
        ("F5", "F5"),
        ("space", "Space"),
    ],
)
def test_names_of_keys(text: str, keys: str) -> None:
    """Keys have the names that people know."""
    assert chord(text) == keys


def test_every_action_is_tested() -> None:
    """Each action stands in a test above."""
    told = Path(__file__).read_text()
    assert [action for action in get_args(Action) if f'"{action}"' not in told] == []
