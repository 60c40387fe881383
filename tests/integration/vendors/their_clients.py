"""
What the vendors' own clients make of a server: run in the environment of `make vendors`, given vendor, url and key.

Prints what the client read, as JSON, or the error that it raised. Nothing of a client is changed but the address.
"""

import asyncio
import io
import json
import logging
import sys
import zipfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

CLOUD, SECRET, APPLICATION = "demo", "the-secret-0815", "4GSKQXLV5N"
PROJECT, SPREADSHEET = "11111111-2222-4333-8444-555555555555", "1-the_spreadsheet"
SHEETS_SCOPE = "https://www.googleapis.com/auth/spreadsheets"
ROWS: list[list[Any]] = [["name", "age"], ["Ann", 41]]
STEPS: list[list[dict[str, Any]]] = [
    [{"width": 100, "height": 150, "crop": "fill", "gravity": "face"}],
    [{"width": 100, "crop": "fit"}, {"effect": "sepia:80"}, {"radius": "max"}],
    [{"angle": 20, "background": "#aabbcc", "color": "#123456", "opacity": 50}],
    [{"effect": ["brightness", 30], "quality": "auto:good", "fetch_format": "auto", "dpr": 2.0}],
    [{"radius": ["10", "20", "0", "30"], "border": "4px_solid_rgb:000000", "x": -5, "y": 7, "zoom": 0.7}],
    [{"overlay": "text:Arial_60:Hello", "flags": ["layer_apply", "relative"], "aspect_ratio": "16:9"}],
    [{"start_offset": 1.5, "end_offset": "50%", "duration": 3, "video_codec": "h264", "audio_codec": "aac"}],
    [{"keyframe_interval": 10, "fps": ["24", "30"], "bit_rate": "1m", "streaming_profile": "hd"}],
    [{"transformation": "small"}, {"page": 2, "density": 150, "default_image": "none.png", "color_space": "srgb"}],
    [{"overlay": {"font_family": "Arial", "font_size": 32, "text": "Ann, 50%/you?"}, "color": "white"}],
    [{"overlay": {"text": "Hi", "font_family": "Georgia", "font_size": 9, "stroke": "stroke", "line_spacing": 4}}],
    [{"underlay": {"url": "https://example.com/logo.png"}}],
    [{"overlay": {"public_id": "a/b", "resource_type": "video"}}],
    [{"raw_transformation": "w_100,l_fetch:aHR0"}, {"width": 0.5, "raw_transformation": "e_sepia"}],
]


def algolia(url: str, key: str) -> object:
    """`algoliasearch`, by its maker."""
    from algoliasearch.http.hosts import Host, HostsCollection
    from algoliasearch.search.client import SearchClientSync
    from algoliasearch.search.config import SearchConfig

    config, place = SearchConfig(APPLICATION, key), urlsplit(url)
    config.hosts = HostsCollection([Host(place.hostname, scheme=place.scheme, port=place.port)])
    client = SearchClientSync.create_with_config(config)
    wanted = {"query": "le guin", "hitsPerPage": 1, "attributesToRetrieve": ["author"]}
    found = client.search_single_index("books/2026", wanted)
    hits = [json.loads(hit.to_json()) for hit in found.hits]
    counts = (found.nb_hits, found.page, found.nb_pages, found.processing_time_ms)
    return {"hits": [{name: hit[name] for name in ("objectID", "author")} for hit in hits], "counts": counts}


def arxiv(url: str, _: str) -> object:
    """`arxiv`, by others."""
    import arxiv as client

    reading = client.Client(page_size=3, delay_seconds=0, num_retries=0)
    reading.query_url_format = f"{url}/api/query?{{}}"
    return [
        {
            "entry_id": paper.entry_id,
            "title": paper.title,
            "updated": paper.updated.isoformat(),
            "published": paper.published.isoformat(),
            "authors": [author.name for author in paper.authors],
            "summary": paper.summary,
            "comment": paper.comment,
            "journal_ref": paper.journal_ref,
            "doi": paper.doi,
            "primary_category": paper.primary_category,
            "categories": paper.categories,
            "links": [link.href for link in paper.links],
            "pdf_url": paper.pdf_url,
        }
        for paper in reading.results(client.Search("all:electron", max_results=3))
    ]


def brave(url: str, key: str) -> object:
    """`brave-search-python-client`, by others; its models are those of the vendor's documentation."""
    from brave_search_python_client import BraveSearch, WebSearchRequest

    client = BraveSearch(key)
    client._base_url = f"{url}/res/v1/"
    found = asyncio.run(client.web(WebSearchRequest(q="hello world", count=4)))
    return [(str(page.title), str(page.url), page.description) for page in found.web.results]


def browserbase(url: str, key: str) -> object:
    """`browserbase`, by its maker."""
    from browserbase import Browserbase

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("manifest.json", "{}")
    client = Browserbase(api_key=key, base_url=url, max_retries=0, _strict_response_validation=True)
    started = client.sessions.create(
        project_id=PROJECT,
        api_timeout=120,
        keep_alive=True,
        proxies=[{"type": "browserbase", "geolocation": {"country": "DE"}}],
        browser_settings={"viewport": {"width": 800, "height": 600}},
    )
    live = client.sessions.debug(started.id)
    client.sessions.update(started.id, project_id=PROJECT, status="REQUEST_RELEASE")
    extension = client.extensions.create(file=("blocker.zip", packed.getvalue()))
    return {
        "connect_url": started.connect_url,
        "live": live.model_dump(mode="json", by_alias=True),
        "session": client.sessions.retrieve(started.id).model_dump(mode="json", by_alias=True),
        "running": [one.id for one in client.sessions.list(status="RUNNING")],
        "extension": extension.id,
    }


def cloudinary(url: str, key: str) -> object:
    """`cloudinary`, by its maker."""
    import cloudinary as client
    from cloudinary import uploader
    from cloudinary.utils import cloudinary_url

    client.config(cloud_name=CLOUD, api_key=key, api_secret=SECRET, upload_prefix=url, secure=True)
    stored = uploader.upload(
        "https://example.com/cat.jpg",
        public_id="cats/tom & jerry",
        resource_type="auto",
        tags=["a", "b"],
        context={"alt": "a=b|c"},
        transformation=[{"width": 100, "crop": "fill"}, {"effect": "sepia:50"}],
        eager=[{"width": 50, "crop": "scale"}, {"height": 60, "crop": "scale"}],
        overwrite=False,
        invalidate=True,
    )
    urls = [cloudinary_url("cats/tom", transformation=steps)[0] for steps in STEPS]
    return {"url": stored["secure_url"], "public_id": stored["public_id"], "urls": urls}


def google_sheets(url: str, key: str) -> object:
    """`google-api-python-client` with `google-auth`, by Google; `key` is the key file."""
    from google.oauth2.service_account import Credentials
    from googleapiclient.discovery import build

    account = Credentials.from_service_account_info(json.loads(key), scopes=[SHEETS_SCOPE])
    sheets = build("sheets", "v4", credentials=account, client_options={"api_endpoint": url})
    values = sheets.spreadsheets().values()
    table = {"spreadsheetId": SPREADSHEET, "range": "Sheet1!A1:B2"}
    typed = {"valueInputOption": "USER_ENTERED", "includeValuesInResponse": True}
    block = {"range": "D1", "values": [["c", "d"]], "majorDimension": "COLUMNS"}
    return {
        "written": values.update(**table, valueInputOption="RAW", body={"values": ROWS}).execute(),
        "appended": values.append(
            **table, **typed, insertDataOption="INSERT_ROWS", body={"values": [["Zoë", "7"]]}
        ).execute(),
        "batch": values.batchUpdate(spreadsheetId=SPREADSHEET, body={**typed, "data": [block]}).execute(),
        "read": values.get(**table, majorDimension="COLUMNS", valueRenderOption="UNFORMATTED_VALUE").execute(),
        "many": values.batchGet(spreadsheetId=SPREADSHEET, ranges=["A1:B1", "D1:D2"]).execute(),
        "cleared": values.clear(**table).execute(),
    }


def llama_parse(url: str, key: str) -> object:
    """`llama-cloud`, by its maker."""
    from llama_cloud import LlamaCloud

    client = LlamaCloud(api_key=key, base_url=url, max_retries=0)
    wanted = {"tier": "cost_effective", "version": "latest", "expand": ["markdown"], "polling_interval": 0.05}
    found = client.parsing.parse(upload_file=("report.txt", b"A title\nSome text"), **wanted)
    return [(page.page_number, getattr(page, "markdown", ""), getattr(page, "error", None)) for page in _pages(found)]


def _pages(found: Any) -> Any:
    return found.markdown.pages


def mailgun(url: str, key: str) -> object:
    """`mailgun`, by its maker."""
    from mailgun.client import Client

    message = {
        "from": '"Ann" <ann@example.com>',
        "to": ["bob@example.org", '"Jo" <jo@example.org>'],
        "cc": ["zoe@example.org"],
        "bcc": ["eve@example.net"],
        "subject": "Hello",
        "text": "How are you?",
        "html": "<p>Hi</p>",
        "h:Reply-To": "desk@example.com",
    }
    answer = Client(auth=("api", key), api_url=url).messages.create(data=message, domain="email.example.com")
    answer.raise_for_status()
    return answer.json()


def openweathermap(url: str, key: str) -> object:
    """`pyowm`, by others; it knows one address only, and is sent here as if to a proxy."""
    from pyowm import OWM
    from pyowm.utils.config import get_default_config

    config = get_default_config()
    config["connection"] |= {"use_ssl": False, "use_proxy": True, "max_retries": None}
    config["proxies"]["http"] = url
    seen = OWM(key, config).weather_manager().weather_at_place("Zocca,IT")
    air, now = seen.weather.temperature("celsius"), seen.weather
    return {
        "place": f"{seen.location.name}, {seen.location.country}",
        "sky": now.detailed_status,
        "temperatures": [air[name] for name in ("temp", "temp_min", "temp_max", "feels_like")],
        "rest": [now.humidity, now.pressure["press"], now.wnd["speed"], now.clouds, now.rain["1h"]],
    }


def spider(url: str, key: str) -> object:
    """`spider-client`, by its maker; it knows one address only, which is exchanged as a request leaves."""
    from spider import Spider

    client = Spider(key)
    post = client._session.post
    client._session.post = lambda target, **given: post(target.replace("https://api.spider.cloud", url), **given)
    site = "https://example.com/"
    return {
        "crawl": client.crawl_url(site, {"limit": 2}),
        "links": client.links(site),
        "screenshot": client.screenshot(site),
        "search": client.search("cats", {"search_limit": 1})["content"],
    }


def unstructured(url: str, key: str) -> object:
    """`unstructured-client`, by its maker."""
    from unstructured_client import UnstructuredClient

    files = {"content": b"A title\nSome text", "file_name": "report.txt"}
    wanted: dict[str, object] = {"files": files, "strategy": "hi_res", "languages": ["eng", "deu"]}
    with UnstructuredClient(api_key_auth=key, server_url=url) as client:
        as_objects = client.general.partition(request={"partition_parameters": wanted})
        wanted["output_format"] = "text/csv"
        as_csv = client.general.partition(request={"partition_parameters": wanted})
    return {"elements": as_objects.elements, "csv": as_csv.csv_elements}


def wikipedia(url: str, _: str) -> object:
    """`pymediawiki`, by others."""
    from mediawiki import MediaWiki

    wiki = MediaWiki(url=f"{url}/w/api.php", user_agent="a test")
    pages = [wiki.page(title, auto_suggest=False) for title in wiki.search("ada", results=2)]
    return [(page.title, page.content, page.url, int(page.pageid)) for page in pages]


CLIENTS: dict[str, Callable[[str, str], object]] = {
    one.__name__: one
    for one in (
        algolia,
        arxiv,
        brave,
        browserbase,
        cloudinary,
        google_sheets,
        llama_parse,
        mailgun,
        openweathermap,
        spider,
        unstructured,
        wikipedia,
    )
}


def main(vendor: str, url: str, key: str) -> None:
    """One line of JSON on standard output: `{"read": …}` or `{"raised": "<type>: <message>"}`."""
    logging.disable()
    try:
        told: dict[str, object] = {"read": CLIENTS[vendor](url, key)}
    except Exception as error:  # noqa: BLE001 each client has a tree of its own
        told = {"raised": f"{type(error).__name__}: {error}"}
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:4])
