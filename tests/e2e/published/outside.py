"""The outside world of the published examples: vendors, a mail server, an MCP server, a browser, and a target."""

import base64
import re
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imageio_ffmpeg import get_ffmpeg_exe
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.fakes.algolia import Algolia
from tests.fakes.arxiv import Arxiv
from tests.fakes.brave import Brave
from tests.fakes.browserbase import Browserbase
from tests.fakes.cloudinary import Cloudinary
from tests.fakes.google_sheets import Sheets
from tests.fakes.llama_parse import LlamaParse
from tests.fakes.mediawiki import MediaWiki
from tests.fakes.openweathermap import OpenWeatherMap
from tests.fakes.spider import Spider
from tests.fakes.unstructured import Unstructured
from tests.fakes.vendor import FakeVendor, as_json
from tests.integration.integrations.mcp.wiki import Wiki, wiki
from tests.unit.integrations.providers.authority import Authority
from tests.unit.integrations.providers.chromium import CHROMIUM, chromium
from tests.unit.integrations.providers.mail_server import USER, Post, mail_server

ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+)")
VENDORS: Mapping[str, type[FakeVendor]] = {
    "algolia": Algolia,
    "arxiv": Arxiv,
    "brave": Brave,
    "browserbase": Browserbase,
    "cloudinary": Cloudinary,
    "google_sheets": Sheets,
    "llama_parse": LlamaParse,
    "spider": Spider,
    "unstructured": Unstructured,
    "weather": OpenWeatherMap,
    "wikipedia": MediaWiki,
}
# Where a vendor is, and who we are there: what an installation stores once. Keys come from the documents, by name.
PLACES = frozenset(
    {"base_url", "api_url", "github_url", "server_url", "delivery_url", "project_id", "cloudinary_cloud_name"}
)


class Target(FakeVendor):
    """Whatever is asked for: the first part of a path is the host that was meant, and the answer tells the path."""

    def _setup(self) -> dict[str, Any]:
        return {}

    def _answer(self, request: Request) -> Response:
        return as_json({"path": request.path})

    def _refusal(self, status: int) -> Response:
        return as_json({}, status)

    def moved(self, value: Any) -> Any:
        """The value with every url leading here."""
        match value:
            case str():
                return ORIGIN.sub(lambda found: f"{self.url}/{found[1]}", value)
            case list():
                return [self.moved(item) for item in value]
            case dict():
                return {key: self.moved(item) for key, item in value.items()}
            case _:
                return value


@dataclass(frozen=True)
class Outside:
    """Everything that the examples' tools reach. `files` is what stands for the files that examples only name."""

    target: Target
    vendors: Mapping[str, FakeVendor]
    post: Post
    authority: Authority
    wiki: Wiki
    browser_url: str
    files: Mapping[str, str]

    def stored(self, provider: str, setup: Mapping[str, Any]) -> dict[str, Any]:
        """What is stored for a tool of this provider with this setup: where it is reached."""
        match provider:
            case "email":
                place = {"host": "127.0.0.1", "port": self.post.port, "user": USER}
                return {**place, "ca_certificates": self.authority.pem}
            case "mcp":
                return {"http_url": self.wiki.url(setup["transport"])}
            case "browserbase" if "api_key" not in setup:
                return {**self._places(provider), "api_key": "secret://BROWSERBASE_API_KEY"}
            case name if name in self.vendors:
                return self._places(name)
            case _:
                return {}

    def _places(self, provider: str) -> dict[str, Any]:
        return {name: value for name, value in self.vendors[provider].setup.items() if name in PLACES}


@asynccontextmanager
async def outside(folder: Path) -> AsyncIterator[Outside]:
    """All of it runs."""
    authority = Authority()
    async with AsyncExitStack() as stack:
        target = Target(stack.enter_context(served()))
        post = await stack.enter_async_context(mail_server(starttls=authority.context("127.0.0.1", folder)))
        server = stack.enter_context(wiki(folder))
        browser_url = ""
        if CHROMIUM.exists():
            browser_url = (await stack.enter_async_context(chromium(folder / "profile"))).url
        files = {"film": film(folder), "document": base64.b64encode(b"A title\nSome text").decode()}
        yield Outside(target, vendors(stack), post, authority, server, browser_url, files)


def vendors(stack: AsyncExitStack) -> Mapping[str, FakeVendor]:
    """Every vendor, with what the examples look for."""
    made = {name: vendor(stack.enter_context(served())) for name, vendor in VENDORS.items()}
    algolia, sheets, weather, wiki = (made[name] for name in ("algolia", "google_sheets", "weather", "wikipedia"))
    assert isinstance(algolia, Algolia)
    algolia.index = "your_index_name"
    algolia.books = [{"objectID": "7", "attribute1": "about searchquery", "attribute2": 2, "attribute3": 3}]
    assert isinstance(sheets, Sheets)
    sheets.ids |= {"YOUR_SPREADSHEET_ID", "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"}
    assert isinstance(weather, OpenWeatherMap)
    weather.others = frozenset({"London"})
    assert isinstance(wiki, MediaWiki)
    wiki.articles = {4444: ("Julep", "A julep is a drink.")}
    return made


@contextmanager
def served() -> Iterator[HTTPServer]:
    """A server on a port of its own; a browser keeps a connection that it may never use."""
    server = HTTPServer(host="127.0.0.1", port=0, threaded=True)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def film(folder: Path) -> str:
    """A film of one second with a picture and a tone, base64."""
    picture = ("-f", "lavfi", "-i", "color=c=red:size=32x16:rate=5:duration=1")
    sound = ("-f", "lavfi", "-i", "sine=frequency=440:duration=1")
    made = folder / "film.mp4"
    kind = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-shortest", str(made))
    subprocess.run([get_ffmpeg_exe(), "-loglevel", "error", *picture, *sound, *kind], check=True)
    return base64.b64encode(made.read_bytes()).decode()
