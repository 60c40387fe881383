"""A real browser on the page, whose desk is kept in memory."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, ViewportSize, sync_playwright

from tests.e2e.inbox.person import Person, Problems
from tests.unit.approvals.inbox.pretending import Page as Inbox
from toolbus_runtime.http.server import listen, serve

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",  # containers run tests as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",  # it would look for its makers' servers
    "--disable-component-update",
    "--disable-sync",
)
WIDE = ViewportSize(width=1280, height=900)


class Served:
    """The page on a port of its own, on a loop in a thread of its own."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="inbox")
        self._bound = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._bound.getsockname()[1]}"

    def _run(self) -> None:
        self.loop.run_until_complete(serve(self.inbox.app, self._bound, self._stop, grace_s=1))
        self.loop.close()

    def start(self) -> None:
        """Serve: connections are taken from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Everything has ended on return."""
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def do(self, work: Callable[[], object]) -> None:
        """Do something on the loop of the page, and wait for it."""

        async def done() -> None:
            work()

        asyncio.run_coroutine_threadsafe(done(), self.loop).result(10)


@pytest.fixture
def served() -> Iterator[Served]:
    """The page, served."""
    running = Served()
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium without a window; not for longer, since its loop lets no other one run in this thread."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM} (Debian's package chromium)")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        except Error as error:
            pytest.skip(f"Chromium does not start here: {error.message[:200]}")
        yield browser
        browser.close()


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def has_scripts(request: pytest.FixtureRequest) -> bool:
    """Whether the browser runs scripts."""
    return bool(request.param)


@pytest.fixture
def person(chromium: Browser, served: Served, has_scripts: bool) -> Iterator[Person]:
    """Somebody at the page, who has not signed in yet; at the end nothing may have gone wrong in the browser."""
    yield from _person(chromium, served, has_scripts=has_scripts)


@pytest.fixture
def scripted(chromium: Browser, served: Served) -> Iterator[Person]:
    """As `person`, in a browser that runs scripts."""
    yield from _person(chromium, served, has_scripts=True)


def _person(chromium: Browser, served: Served, *, has_scripts: bool) -> Iterator[Person]:
    context = chromium.new_context(
        base_url=served.url, java_script_enabled=has_scripts, viewport=WIDE, locale="en-GB", timezone_id="UTC"
    )
    context.set_default_timeout(10_000)
    page: Page = context.new_page()
    problems = Problems(page)
    yield Person(page, served.inbox)
    context.close()
    assert not problems.found
