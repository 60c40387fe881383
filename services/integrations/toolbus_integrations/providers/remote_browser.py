"""
A browser somewhere else, driven over the Chrome DevTools Protocol: pointed, clicked, typed into and looked at.

Each call connects, does one thing, and leaves; the page stays as it is. Where the mouse stands is kept in the page,
because browsers do not tell: after a page went elsewhere by itself it is not known, and clicks need a coordinate.
The browser reaches what its own network lets it reach: `navigate` heeds the egress guard, links and redirects in
pages are the browser's.
"""

import base64
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, Field, StringConstraints, model_validator

from toolbus.provider import WRITE, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.browser_keys import chord
from toolbus_integrations.providers.drivers import driver
from toolbus_integrations.providers.relays import relay
from toolbus_integrations.providers.vendor import Closed, Vendor, beforehand

if TYPE_CHECKING:
    from playwright.async_api import Error, Page, Playwright

BROWSER: Final = Vendor("the browser", told_at=(("message",), ("error",)))
CURSOR: Final = 'Symbol.for("toolbus.cursor")'
SET_CURSOR: Final = (
    f"at => Object.defineProperty(window, {CURSOR}, {{value: at, configurable: true, enumerable: false}}) && null"
)
GET_CURSOR: Final = f"() => window[{CURSOR}] ?? null"
# An arrow whose tip is at the point; it is there for the picture only, and takes no events.
DRAW_CURSOR: Final = """([x, y]) => {
    const arrow = document.createElement("div");
    arrow.style.cssText = `all:initial;position:fixed;left:${x}px;top:${y}px;width:14px;height:20px;z-index:2147483647;`
        + "pointer-events:none;background:#e00;clip-path:polygon(0 0,0 100%,35% 75%,100% 75%)";
    document.documentElement.append(arrow);
    window[Symbol.for("toolbus.arrow")] = arrow;
}"""
HIDE_CURSOR: Final = '() => { window[Symbol.for("toolbus.arrow")]?.remove(); }'

Action = Literal[
    "key",
    "type",
    "mouse_move",
    "left_click",
    "left_click_drag",
    "right_click",
    "middle_click",
    "double_click",
    "screenshot",
    "cursor_position",
    "navigate",
    "refresh",
]
WITH_TEXT: Final = frozenset({"key", "type", "navigate"})
WITH_POINT: Final = frozenset({"mouse_move", "left_click_drag"})
MAY_HAVE_POINT: Final = WITH_POINT | {"left_click", "right_click", "middle_click", "double_click"}
DRAG_STEPS: Final = 5
CONNECT_MS: Final = 30_000
Point = tuple[int, int]
ConnectUrl = Annotated[str, StringConstraints(pattern=r"^(wss?|https?)://[^\s/?#@]+([/?][^\s#]*)?$")]


class Setup(Closed):
    """
    `connect_url` of the browser (`ws`, `wss`, `http` or `https`), unless calls name it.

    With `width` and `height` (pixels) the page gets this size, which is that of screenshots and coordinates too.
    """

    connect_url: ConnectUrl | None = None
    width: int | None = Field(default=None, ge=1, le=10_000)
    height: int | None = Field(default=None, ge=1, le=10_000)

    @model_validator(mode="after")
    def _has_a_size_or_none(self) -> Self:
        if (self.width is None) != (self.height is None):
            raise ValueError("give both width and height, or none of them")
        return self


provider = Provider(
    "remote_browser",
    info=Info(
        friendly_name="Remote browser",
        url="https://playwright.dev",
        docs="https://chromedevtools.github.io/devtools-protocol/",
    ),
    setup=Setup,
    extra="browser",
    needs=("playwright",),
)


class Doing(Closed):
    """
    One thing to do. `text`: the keys (`ctrl+a`), what to type, or where to go; `coordinate`: x and y in pixels.

    Clicks without `coordinate` hit where the mouse stands. A `connect_url` of the setup goes before that of the call.
    """

    action: Action
    text: str | None = None
    coordinate: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)] | None = None
    connect_url: ConnectUrl | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if (self.text is not None) != (self.action in WITH_TEXT):
            raise ValueError(f"{self.action} {'needs' if self.action in WITH_TEXT else 'takes no'} text")
        if self.coordinate is None and self.action in WITH_POINT:
            raise ValueError(f"{self.action} needs a coordinate")
        if self.coordinate is not None and self.action not in MAY_HAVE_POINT:
            raise ValueError(f"{self.action} takes no coordinate")
        return self


class _Version(BaseModel):
    webSocketDebuggerUrl: Annotated[str, StringConstraints(pattern=r"^wss?://[^\s/?#@]+([/?][^\s#]*)?$")]  # noqa: N815 - the protocol's


class Done(BaseModel):
    """What came of it. `base64_image`: the page, a PNG in a data URI. `error` is empty: what fails fails the call."""

    output: str | None = None
    error: str | None = None
    base64_image: str | None = None
    system: str | None = None


@provider.method(contract=WRITE, timeout_s=60)
async def perform_action(arguments: Doing, setup: Setup, call: Call) -> Done:
    """Do one thing in a browser: click, type, press keys, go to an address, take a screenshot."""
    if arguments.action == "navigate":
        await _check_target(arguments.text or "", call)
    url = setup.connect_url or arguments.connect_url
    if url is None:
        raise ToolFailed("which browser? give connect_url", code="request_invalid")
    endpoint = await _endpoint(url, call)
    async with driver() as playwright, AsyncExitStack() as stack:
        page = await _page(endpoint, setup, call, playwright, stack=stack)
        try:
            return await _do(arguments, page, call)
        except _errors() as error:
            browser = page.context.browser
            if page.is_closed() or browser is None or not browser.is_connected():
                raise ConnectionError(f"the browser is gone: {error.message}") from error
            is_refused = "Unknown key" in error.message
            raise ToolFailed(
                f"the browser: {error.message}",
                code="request_invalid" if is_refused else "provider_failed",
                has_effect=False if is_refused else None,
            ) from error


async def _check_target(url: str, call: Call) -> None:
    """The guard lets the browser be sent there; files, scripts and the browser's own pages are no targets."""
    if url == "about:blank":
        return
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ToolFailed("a browser is sent to http and https only", code="egress_denied")
    await call.examine(url)


async def _endpoint(url: str, call: Call) -> SplitResult:
    """The address of the browser's socket: as given, or as the browser tells it under http."""
    parts = urlsplit(url)
    if parts.scheme in {"ws", "wss"}:
        return parts
    asked = parts._replace(path=f"{parts.path.rstrip('/')}/json/version")
    async with beforehand(f"no browser answers at {parts.netloc}", within_s=CONNECT_MS / 1000):
        told = await BROWSER.answer(call.get(asked.geturl()))
        return urlsplit(BROWSER.read(told, _Version).webSocketDebuggerUrl)


async def _page(
    endpoint: SplitResult, setup: Setup, call: Call, playwright: "Playwright", *, stack: AsyncExitStack
) -> "Page":
    """
    The first page of the browser, in the size of the setup; the connection ends with the stack.

    Raises:
        ToolFailed: there is no browser there, or none may be reached; nothing was done.
    """
    await call.examine(endpoint._replace(scheme="https" if endpoint.scheme == "wss" else "http").geturl())
    try:
        door = await stack.enter_async_context(relay(call, endpoint))
        browser = await playwright.chromium.connect_over_cdp(door, timeout=CONNECT_MS)
        stack.push_async_callback(browser.close)  # ours of it: the browser and its pages stay
        context = browser.contexts[0] if browser.contexts else await browser.new_context()
        page = context.pages[0] if context.pages else await context.new_page()
        if setup.width is not None and setup.height is not None:
            await page.set_viewport_size({"width": setup.width, "height": setup.height})
    except (_errors(), OSError) as error:
        message = f"no browser answers at {endpoint.netloc}: {error}"
        raise ToolFailed(message, code="connection_failed", retryable=True, has_effect=False) from error
    return page


async def _do(doing: Doing, page: "Page", call: Call) -> Done:
    """
    It is done.

    Raises:
        ToolFailed: where the mouse stands is not known, and it matters, or the picture is too large; nothing was done.
    """
    at = await _cursor(page)
    if doing.action == "screenshot":
        return Done(base64_image=_as_uri(await _picture(page, at), call))
    point = _point(doing, at)
    if doing.action == "cursor_position":
        return Done(output=f"X={point[0]},Y={point[1]}")
    call.mark_sent()
    told = await _act(doing, page, at=at or (0, 0), point=point)
    if at is not None or doing.action in MAY_HAVE_POINT:
        with suppress(_errors()):  # a click may have led elsewhere: the new page does not know
            await page.evaluate(SET_CURSOR, list(point))
    return Done(output=told)


def _point(doing: Doing, at: Point | None) -> Point:
    """Where the mouse will stand."""
    needs_start = doing.action in {"left_click_drag", "cursor_position"}
    if at is None and (needs_start or (doing.action in MAY_HAVE_POINT and doing.coordinate is None)):
        message = "where the mouse stands is not known here: move it, or give a coordinate"
        raise ToolFailed(message, code="request_invalid", has_effect=False)
    if doing.coordinate is not None:
        return doing.coordinate[0], doing.coordinate[1]
    return at or (0, 0)


async def _act(doing: Doing, page: "Page", *, at: Point, point: Point) -> str:
    """What was done, in words."""
    text = doing.text or ""
    match doing.action:
        case "key":
            await page.keyboard.press(chord(text))
        case "type":
            await page.keyboard.type(text)
        case "mouse_move":
            await page.mouse.move(*point)
        case "left_click":
            await page.mouse.click(*point)
        case "right_click":
            await page.mouse.click(*point, button="right")
        case "middle_click":
            await page.mouse.click(*point, button="middle")
        case "double_click":
            await page.mouse.dblclick(*point)
        case "left_click_drag":
            await page.mouse.move(*at)
            await page.mouse.down()
            await page.mouse.move(*point, steps=DRAG_STEPS)
            await page.mouse.up()
        case "navigate":
            await page.goto(text)
            return f"at {page.url}"
        case "refresh":
            await page.reload()
            return f"at {page.url}"
        case _:
            raise AssertionError(doing.action)
    where = f" at {point[0]},{point[1]}" if doing.action in MAY_HAVE_POINT else ""
    return f"{doing.action.replace('_', ' ')}{where}: done"


async def _picture(page: "Page", at: Point | None) -> bytes:
    """The page as a PNG, with the mouse where it is known to stand."""
    if at is None:
        return await page.screenshot()
    await page.evaluate(DRAW_CURSOR, list(at))
    try:
        return await page.screenshot()
    finally:
        with suppress(_errors()):
            await page.evaluate(HIDE_CURSOR)


def _as_uri(picture: bytes, call: Call) -> str:
    uri = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    if len(uri) > call.max_output_bytes:
        message = f"the picture has {len(uri)} bytes; at most {call.max_output_bytes} are taken"
        raise ToolFailed(message, code="response_too_large", has_effect=False)
    return uri


async def _cursor(page: "Page") -> Point | None:
    """Where the mouse stands, as far as the page knows. Pages can lie about it, to their own harm."""
    match await page.evaluate(GET_CURSOR):
        case [int(x), int(y)]:
            return x, y
    return None


def _errors() -> type["Error"]:
    from playwright.async_api import Error

    return Error
