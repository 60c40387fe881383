"""
The vendors' own clients against the servers that our providers are tested with: both must read the same.

`make vendors` sets them up in `.venv-vendors` and runs this.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.algolia import Algolia
from tests.fakes.arxiv import Arxiv
from tests.fakes.brave import Brave
from tests.fakes.cloudinary import Cloudinary
from tests.fakes.llama_parse import LlamaParse
from tests.fakes.mediawiki import MediaWiki
from tests.fakes.openweathermap import OpenWeatherMap
from tests.fakes.spider import Spider
from tests.fakes.unstructured import Unstructured
from tests.fakes.vendor import KEY, FakeVendor
from tests.integration.vendors import their_clients
from tests.source import ROOT
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus_integrations.providers import (
    algolia,
    arxiv,
    brave,
    cloudinary,
    llama_parse,
    spider,
    unstructured,
    weather,
    wikipedia,
)

PYTHON = ROOT / ".venv-vendors" / "bin" / "python"
IS_SET_UP = any(PYTHON.parent.parent.glob(".installed-*"))
pytestmark = pytest.mark.skipif(not IS_SET_UP, reason="the vendors' clients are not set up: make vendors")


async def told(vendor: str, url: str, key: str = KEY) -> dict[str, Any]:
    """What the vendor's client read, or raised."""
    script = str(Path(their_clients.__file__))
    program = await asyncio.create_subprocess_exec(
        str(PYTHON), "-I", script, vendor, url, key, stdout=asyncio.subprocess.PIPE, stderr=sys.stderr
    )
    output, _ = await program.communicate()
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


async def read(vendor: str, fake: FakeVendor) -> Any:
    """What the vendor's client read."""
    found = await told(vendor, fake.url)
    assert "read" in found, found
    return found["read"]


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """A call with a folder of its own."""
    return OwnCall(tmp_path)


async def test_algolia(httpserver: HTTPServer, call: OwnCall) -> None:
    """Hits, pages and counts."""
    fake = Algolia(httpserver)
    arguments = {
        "index_name": "books/2026",
        "query": "le guin",
        "hits_per_page": 1,
        "attributes_to_retrieve": ["author"],
    }
    ours = await perform(algolia.provider, "search", arguments, call, setup=fake.setup)
    theirs = await read("algolia", fake)
    assert theirs["hits"] == ours["hits"]
    assert theirs["counts"] == [ours["metadata"][name] for name in ("nbHits", "page", "nbPages", "processingTimeMS")]
    assert fake.sent(0) == fake.sent(1)


async def test_arxiv(httpserver: HTTPServer, call: OwnCall) -> None:
    """Papers, field by field; the other client shows times in UTC and keeps the space around summaries."""
    fake = Arxiv(httpserver)
    ours = (await perform(arxiv.provider, "search", {"query": "all:electron"}, call, setup=fake.setup))["result"]
    theirs = await read("arxiv", fake)
    for paper in ours:
        del paper["pdf_downloaded"]
    for paper in (*ours, *theirs):
        paper["updated"] = datetime.fromisoformat(paper["updated"])
        paper["published"] = datetime.fromisoformat(paper["published"])
        paper["summary"] = paper["summary"].strip()
    assert theirs == ours


async def test_brave(httpserver: HTTPServer, call: OwnCall) -> None:
    """Pages."""
    fake = Brave(httpserver)
    ours = await perform(brave.provider, "search", {"query": "hello world", "count": 4}, call, setup=fake.setup)
    theirs = await read("brave", fake)
    assert [tuple(page) for page in theirs] == [tuple(page.values()) for page in ours["result"]]


async def test_cloudinary(httpserver: HTTPServer, call: OwnCall) -> None:
    """An upload, parameter by parameter, and the urls of every kind of step."""
    fake = Cloudinary(httpserver)
    theirs = await read("cloudinary", fake)
    params = {
        "resource_type": "auto",
        "tags": ["a", "b"],
        "context": {"alt": "a=b|c"},
        "transformation": [{"width": 100, "crop": "fill"}, {"effect": "sepia:50"}],
        "eager": [{"width": 50, "crop": "scale"}, {"height": 60, "crop": "scale"}],
        "overwrite": False,
        "invalidate": True,
    }
    arguments = {"file": "https://example.com/cat.jpg", "public_id": "cats/tom & jerry", "upload_params": params}
    ours = await perform(cloudinary.provider, "media_upload", arguments, call, setup=fake.setup)
    assert (theirs["url"], theirs["public_id"]) == (ours["url"], ours["public_id"])
    sent = [dict(request.form) for request in fake.requests]
    for form in sent:
        del form["timestamp"], form["signature"]
    assert sent[0] == sent[1]
    for steps, url in zip(their_clients.STEPS, theirs["urls"], strict=True):
        edit = {"public_id": "cats/tom", "transformation": steps}
        edited = await perform(cloudinary.provider, "media_edit", edit, call, setup=fake.setup)
        assert urlsplit(edited["transformed_url"]).path == urlsplit(url).path


async def test_llama_parse(httpserver: HTTPServer, call: OwnCall) -> None:
    """An upload, a job, pages; one that failed among them."""
    fake = LlamaParse(httpserver)
    theirs = await read("llama_parse", fake)
    arguments = {"file": "QSB0aXRsZQpTb21lIHRleHQ=", "filename": "report.txt", "base64": True}
    ours = (await perform(llama_parse.provider, "parse", arguments, call, setup=fake.setup))["documents"]
    expected = [[page["metadata"]["page_number"], page["text"], page["metadata"].get("error")] for page in ours]
    assert [[number, text or "", error] for number, text, error in theirs] == expected
    assert fake.jobs[0] == fake.jobs[1]


async def test_openweathermap(httpserver: HTTPServer, call: OwnCall) -> None:
    """The same weather, though the other client asks for Kelvin and does the sum itself."""
    fake = OpenWeatherMap(httpserver)
    theirs = await read("openweathermap", fake)
    ours = (await perform(weather.provider, "get", {"location": "Zocca,IT"}, call, setup=fake.setup))["result"]
    temp, lowest, highest, felt = theirs["temperatures"]
    humidity, pressure, wind, clouds, rain = theirs["rest"]
    for words in (
        f"Weather in {theirs['place']} now: {theirs['sky']}\n",
        f"Temperature: {temp} °C (lowest {lowest} °C, highest {highest} °C)\nFeels like: {felt} °C\n",
        f"Humidity: {humidity} %\nPressure: {pressure} hPa\nWind: {wind} m/s",
        f"Clouds: {clouds} %\nRain in the last 1h: {rain} mm",
    ):
        assert words in ours


async def test_spider(httpserver: HTTPServer, call: OwnCall) -> None:
    """Pages of all four methods."""
    fake = Spider(httpserver)
    theirs = await read("spider", fake)
    site = {"url": "https://example.com/"}
    asked: dict[str, dict[str, Any]] = {
        "crawl": {**site, "params": {"limit": 2}},
        "links": site,
        "screenshot": site,
        "search": {"query": "cats", "params": {"search_limit": 1}},
    }
    for method, arguments in asked.items():
        ours = (await perform(spider.provider, method, arguments, call, setup=fake.setup))["result"]
        assert [_known(page, ours[0]) for page in theirs[method]] == [_given(page) for page in ours]
    assert [fake.sent(place) for place in range(4)] == [fake.sent(place) for place in range(4, 8)]


def _known(page: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in page.items() if name in ours and value is not None}


def _given(page: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in page.items() if value is not None}


async def test_unstructured(httpserver: HTTPServer, call: OwnCall) -> None:
    """Elements as objects and as CSV; lists go under the same name."""
    fake = Unstructured(httpserver)
    theirs = await read("unstructured", fake)
    params: dict[str, Any] = {"strategy": "hi_res", "languages": ["eng", "deu"]}
    arguments = {"file": "QSB0aXRsZQpTb21lIHRleHQ=", "filename": "report.txt", "partition_params": params}
    ours = await perform(unstructured.provider, "parse", arguments, call, setup=fake.setup)
    assert theirs["elements"] == ours["content"]
    params["output_format"] = "text/csv"
    ours = await perform(unstructured.provider, "parse", arguments, call, setup=fake.setup)
    assert theirs["csv"] == ours["csv_elements"]


async def test_wikipedia(httpserver: HTTPServer, call: OwnCall) -> None:
    """Articles, though the other client speaks the older version of the format."""
    fake = MediaWiki(httpserver)
    ours = (await perform(wikipedia.provider, "search", {"query": "ada"}, call, setup=fake.setup))["documents"]
    theirs = await read("wikipedia", fake)
    names = ("title", "source", "page_id")
    expected = [[one["page_content"], *(one["metadata"][name] for name in names)] for one in ours]
    assert [[text, title, url, number] for title, text, url, number in theirs] == expected


@pytest.mark.parametrize(
    ("vendor", "fake", "error"),
    [
        ("algolia", Algolia, "RequestException: {words}"),
        ("brave", Brave, "BraveSearchAPIError: Failed to get API response with Client error '401"),
        ("cloudinary", Cloudinary, "AuthorizationRequired: {words}"),
        ("llama_parse", LlamaParse, "AuthenticationError: Error code: 401 - {{'detail': '{words}'}}"),
        ("openweathermap", OpenWeatherMap, "UnauthorizedError: Invalid API Key provided"),
        ("unstructured", Unstructured, "SDKError: API error occurred: Status 401"),
    ],
)
async def test_a_wrong_key(
    httpserver: HTTPServer, vendor: str, fake: Callable[[HTTPServer], FakeVendor], error: str
) -> None:
    """The error of the fake is one that the vendor's client knows."""
    server = fake(httpserver)
    found = await told(vendor, server.url, "a-wrong-key")
    assert found["raised"].startswith(error.format(words=server.words)), found
