"""Debian's Chromium without a window, listening for whoever drives it, and a page that notes what is done to it."""

import asyncio
import re
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolbus_integrations.providers.drivers import driver

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",  # containers run tests as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=800,600",
)
PAGE = """<!doctype html><html><title>Page</title><style>body{margin:0}</style>
<button style="position:absolute;left:100px;top:50px;width:80px;height:40px">Press</button>
<input style="position:absolute;left:100px;top:150px;width:200px;height:30px">
<a href="/other" style="position:absolute;left:100px;top:250px;width:80px;height:40px;display:block">Away</a>
<script>
window.noted = [];
for (const kind of ["click", "auxclick", "contextmenu", "dblclick", "mousedown", "mouseup"])
    document.addEventListener(
        kind, e => noted.push(`${kind} ${e.target.tagName} ${e.clientX},${e.clientY} ${e.button}`));
document.addEventListener("keydown", e => noted.push(`key ${e.ctrlKey ? "ctrl " : ""}${e.key}`));
</script></html>"""
OTHER = "<!doctype html><title>Other</title><p>Elsewhere"


@dataclass
class Chromium:
    """The browser: its process, and the address of its socket."""

    process: Process
    url: str

    @property
    def http_url(self) -> str:
        """Where it tells that address."""
        return self.url.replace("ws://", "http://").partition("/devtools")[0]

    async def look(self, expression: str) -> Any:
        """What a script in the first page finds."""
        async with driver() as playwright:
            browser = await playwright.chromium.connect_over_cdp(self.url)
            found = await browser.contexts[0].pages[0].evaluate(expression)
            await browser.close()
            return found

    async def wait_for(self, condition: str) -> None:
        """The condition holds in the first page."""
        async with driver() as playwright:
            browser = await playwright.chromium.connect_over_cdp(self.url)
            await browser.contexts[0].pages[0].wait_for_function(condition)
            await browser.close()


@asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[Chromium]:
    """It listens."""
    process = await asyncio.create_subprocess_exec(
        str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank", stdout=PIPE, stderr=PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(40):
            url = await _listening(process.stderr)
        draining = asyncio.create_task(process.stderr.read())
        try:
            yield Chromium(process, url)
        finally:
            draining.cancel()
            await asyncio.wait([draining])
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
        shutil.rmtree(profile, ignore_errors=True)


async def _listening(said: asyncio.StreamReader) -> str:
    """The address, once it is told."""
    while line := (await said.readline()).decode():
        if found := re.search(r"DevTools listening on (ws://\S+)", line):
            return found[1]
    raise AssertionError("Chromium does not start here")
