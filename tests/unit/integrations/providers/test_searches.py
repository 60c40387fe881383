"""What the searches find: Brave, Algolia, the weather, Wikipedia, Spider."""

import base64
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.fakes import spider as spider_fake
from tests.fakes.algolia import BOOKS, Algolia
from tests.fakes.brave import PAGES, Brave
from tests.fakes.mediawiki import ARTICLES, MediaWiki
from tests.fakes.openweathermap import OpenWeatherMap
from tests.fakes.vendor import KEY
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import algolia, brave, spider, weather, wikipedia


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """A call with a folder of its own."""
    return OwnCall(tmp_path)


async def test_brave_finds_three_pages_unless_told(httpserver: HTTPServer, call: OwnCall) -> None:
    """Title, link and snippet of each page; `count` for more."""
    fake = Brave(httpserver)
    found = await perform(brave.provider, "search", {"query": "hello world"}, call, setup=fake.setup)
    assert [(page["title"], page["link"], page["snippet"]) for page in found["result"]] == PAGES[:3]
    more = await perform(brave.provider, "search", {"query": "hello world", "count": 4}, call, setup=fake.setup)
    assert len(more["result"]) == 4


async def test_brave_finds_nothing(httpserver: HTTPServer, call: OwnCall) -> None:
    """No page is an answer too."""
    fake = Brave(httpserver)
    assert await perform(brave.provider, "search", {"query": "nothing"}, call, setup=fake.setup) == {"result": []}


async def test_algolia_finds_with_what_hits_come_with(httpserver: HTTPServer, call: OwnCall) -> None:
    """Hits as they are in the index, and what was asked; a slash in the name of an index stays in the name."""
    fake = Algolia(httpserver)
    arguments = {"index_name": "books/2026", "query": "le guin"}
    found = await perform(algolia.provider, "search", arguments, call, setup=fake.setup)
    assert found["hits"] == BOOKS[:2]
    assert found["metadata"] == {"query": "le guin", "nbHits": 2, "page": 0, "nbPages": 1, "processingTimeMS": 3}
    assert fake.sent() == {"query": "le guin", "hitsPerPage": 10}
    few = {**arguments, "attributes_to_retrieve": ["author"], "hits_per_page": 1}
    found = await perform(algolia.provider, "search", few, call, setup=fake.setup)
    assert found["hits"] == [{"objectID": "1", "author": "Ursula K. Le Guin"}]
    assert found["metadata"]["nbPages"] == 2


async def test_algolia_is_found_by_the_id_of_the_application(call: OwnCall) -> None:
    """Without `base_url` the id makes the host: one that would make another host of it is refused."""
    setup = {"algolia_application_id": "evil.test/", "algolia_api_key": KEY}
    with pytest.raises(ToolFailed, match="only have letters and digits"):
        await perform(algolia.provider, "search", {"index_name": "books", "query": ""}, call, setup=setup)
    assert not call.is_sent
    settled = algolia.Setup(algolia_application_id="4GSKQXLV5N", algolia_api_key=KEY)
    assert algolia._base_url(settled) == "https://4gskqxlv5n-dsn.algolia.net"


async def test_the_weather_is_told_in_metric_units(httpserver: HTTPServer, call: OwnCall) -> None:
    """A line for each thing that was measured."""
    fake = OpenWeatherMap(httpserver)
    told = await perform(weather.provider, "get", {"location": "Zocca,IT"}, call, setup=fake.setup)
    assert told["result"].splitlines() == [
        "Weather in Zocca, IT now: moderate rain",
        "Temperature: 25.33 °C (lowest 23.89 °C, highest 26.91 °C)",
        "Feels like: 25.59 °C",
        "Humidity: 64 %",
        "Pressure: 1015 hPa",
        "Wind: 0.62 m/s from 349°, gusts 1.18 m/s",
        "Clouds: 100 %",
        "Rain in the last 1h: 3.16 mm",
    ]


async def test_weather_that_was_not_measured_is_not_made_up(httpserver: HTTPServer, call: OwnCall) -> None:
    """No wind, clouds or rain were told of."""
    fake = OpenWeatherMap(httpserver)
    told = await perform(weather.provider, "get", {"location": "Nowhere"}, call, setup=fake.setup)
    assert told["result"].startswith("Weather in Nowhere now: moderate rain\n")
    assert not any(word in told["result"] for word in ("Wind", "Clouds", "Pressure", "Rain", "Snow"))


async def test_a_place_that_is_not_known_is_said_so(httpserver: HTTPServer, call: OwnCall) -> None:
    """404 of the vendor, in its words."""
    fake = OpenWeatherMap(httpserver)
    with pytest.raises(ToolFailed, match=r"OpenWeatherMap: city not found \(HTTP 404\)"):
        await perform(weather.provider, "get", {"location": "Atlantis"}, call, setup=fake.setup)


async def test_wikipedia_gives_articles_as_text(httpserver: HTTPServer, call: OwnCall) -> None:
    """Two articles unless told, whole, with what stands before the first heading."""
    fake = MediaWiki(httpserver)
    found = await perform(wikipedia.provider, "search", {"query": "ada"}, call, setup=fake.setup)
    first, second = found["documents"]
    assert first["page_content"] == ARTICLES[5391][1]
    assert first["metadata"] == {
        "title": "Ada Lovelace",
        "summary": "Ada was a mathematician.",
        "source": f"{fake.url}/wiki/Ada_Lovelace",
        "page_id": 5391,
        "is_cut": False,
    }
    assert second["metadata"]["title"] == "Ada (programming language)"
    assert all("Toolbus" in request.headers["user-agent"] for request in fake.requests)


async def test_a_long_article_is_cut_and_says_so(httpserver: HTTPServer, call: OwnCall) -> None:
    """4,000 characters, unless told otherwise."""
    fake = MediaWiki(httpserver)
    arguments = {"query": "engine", "load_max_docs": 1}
    (document,) = (await perform(wikipedia.provider, "search", arguments, call, setup=fake.setup))["documents"]
    assert (len(document["page_content"]), document["metadata"]["is_cut"]) == (4000, True)
    arguments["doc_content_chars_max"] = 20
    (document,) = (await perform(wikipedia.provider, "search", arguments, call, setup=fake.setup))["documents"]
    assert document["page_content"] == "The engine that Ada "


async def test_wikipedia_finds_nothing(httpserver: HTTPServer, call: OwnCall) -> None:
    """No article is an answer too, of one request."""
    fake = MediaWiki(httpserver)
    assert await perform(wikipedia.provider, "search", {"query": "xyzzy"}, call, setup=fake.setup) == {"documents": []}
    assert len(fake.requests) == 1


async def test_an_article_that_is_not_told_of_fails(httpserver: HTTPServer, call: OwnCall) -> None:
    """It was found; that nothing is said of it is no article without a text."""
    fake = MediaWiki(httpserver)
    fake.is_silent = True
    with pytest.raises(ToolFailed, match="cannot be read: query: missing"):
        await perform(wikipedia.provider, "search", {"query": "ada"}, call, setup=fake.setup)


@pytest.mark.parametrize(
    ("code", "expected"), [("ratelimited", (True, 5.0)), ("maxlag", (True, None)), ("badvalue", (False, None))]
)
async def test_errors_that_come_with_200_are_errors(
    httpserver: HTTPServer, call: OwnCall, code: str, expected: tuple[bool, float | None]
) -> None:
    """MediaWiki tells errors in the body; some of them pass, with Retry-After or without."""
    fake = MediaWiki(httpserver)
    fake.fault = {"code": code, "info": "You did too much of it."}
    fake.retry_after = "5" if code == "ratelimited" else None
    with pytest.raises(ToolFailed, match=f"You did too much of it. .{code}.") as raised:
        await perform(wikipedia.provider, "search", {"query": "ada"}, call, setup=fake.setup)
    assert (raised.value.retryable, raised.value.retry_after_s) == expected


async def test_spider_crawls_links_and_takes_pictures(httpserver: HTTPServer, call: OwnCall) -> None:
    """A page each, those that failed with why; parameters go along as they are."""
    fake = spider_fake.Spider(httpserver)
    arguments: dict[str, Any] = {"url": "https://example.com/", "params": {"limit": 2, "return_format": "markdown"}}
    crawled = await perform(spider.provider, "crawl", arguments, call, setup=fake.setup)
    first, second = crawled["result"]
    assert (first["url"], first["content"], first["status"]) == ("https://example.com/", "# A page", 200)
    assert (second["error"], second["status"]) == ("timed out", 524)
    assert first["costs"]["total_cost"] == 0.0003
    assert fake.sent() == {"url": "https://example.com/", "limit": 2, "return_format": "markdown"}
    linked = await perform(spider.provider, "links", {"url": "https://example.com/"}, call, setup=fake.setup)
    assert [page["url"] for page in linked["result"]] == ["https://example.com/", "https://example.com/broken"]
    shot = await perform(spider.provider, "screenshot", {"url": "https://example.com/"}, call, setup=fake.setup)
    assert base64.b64decode(shot["result"][0]["content"]) == spider_fake.PICTURE


async def test_spider_searches_the_web(httpserver: HTTPServer, call: OwnCall) -> None:
    """What was found has a title and a description; there is no page to examine."""
    fake = spider_fake.Spider(httpserver)
    arguments = {"query": "cats", "params": {"search_limit": 1}}
    found = await perform(spider.provider, "search", arguments, call, setup=fake.setup)
    (page,) = found["result"]
    assert (page["title"], page["url"]) == ("All about cats", "https://example.com/all")
    assert fake.sent() == {"search": "cats", "search_limit": 1}


async def test_spider_looks_for_a_page_too(httpserver: HTTPServer, call: OwnCall) -> None:
    """As published examples have it: the url is what is looked for, and nobody is sent there."""
    fake = spider_fake.Spider(httpserver)
    await perform(
        spider.provider, "search", {"url": "https://example.com/cats", "params": None}, call, setup=fake.setup
    )
    assert fake.sent() == {"search": "https://example.com/cats"}
    for arguments in ({}, {"query": "cats", "url": "https://example.com/"}):
        with pytest.raises(ValidationError, match="either query or url"):
            await perform(spider.provider, "search", arguments, call, setup=fake.setup)


@pytest.mark.parametrize("content_type", ["application/jsonl", "text/csv", "application/xml"])
async def test_spider_answers_in_the_type_that_is_asked_for(
    httpserver: HTTPServer, call: OwnCall, content_type: str
) -> None:
    """Lines of JSON are pages; CSV and XML come as one text."""
    fake = spider_fake.Spider(httpserver)
    arguments = {"url": "https://example.com/", "content_type": content_type}
    result = (await perform(spider.provider, "crawl", arguments, call, setup=fake.setup))["result"]
    if content_type == "application/jsonl":
        assert [page["status"] for page in result] == [200, 524]
    else:
        (page,) = result
        assert "https://example.com/broken" in page["content"]


async def test_spider_is_not_sent_where_we_may_not_go(httpserver: HTTPServer, call: OwnCall) -> None:
    """The guard sees the url before the vendor does."""
    fake = spider_fake.Spider(httpserver)
    with pytest.raises(ToolFailed, match="may not be reached") as raised:
        await perform(spider.provider, "crawl", {"url": f"http://{DENIED}/"}, call, setup=fake.setup)
    assert raised.value.code == "egress_denied"
    assert fake.requests == []


@pytest.mark.parametrize("name", ["webhooks", "data_connectors", "url", "search"])
async def test_spider_crawls_and_does_nothing_else(call: OwnCall, name: str) -> None:
    """Parameters that write, and those that would say something else than an argument does, are refused."""
    arguments = {"url": "https://example.com/", "params": {name: "x"}}
    with pytest.raises(ValidationError, match=name):
        await perform(spider.provider, "crawl", arguments, call, setup={"spider_api_key": KEY})
    assert not call.is_sent
