"""Preprints, and the papers themselves."""

import base64
from pathlib import Path

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.fakes.arxiv import PDF, Arxiv
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import arxiv

BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>&lol1;</title></entry></feed>"""
OUTSIDE = b"""<?xml version="1.0"?>
<!DOCTYPE feed [<!ENTITY all SYSTEM "file:///etc/passwd">]>
<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>&all;</title></entry></feed>"""


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """A call with a folder of its own."""
    return OwnCall(tmp_path)


async def test_a_paper_is_told_with_all_that_is_known(httpserver: HTTPServer, call: OwnCall) -> None:
    """Whatever the feed holds; the line break in the title is none of the title's."""
    fake = Arxiv(httpserver)
    found = await perform(arxiv.provider, "search", {"query": "all:electron"}, call, setup=fake.setup)
    assert found["result"][0] == {
        "entry_id": "http://arxiv.org/abs/hep-ex/0307015v1",
        "title": "Multi-Electron Production at High Transverse Momenta in ep Collisions at HERA",
        "updated": "2003-07-07T13:46:39Z",
        "published": "2003-07-07T13:46:39-04:00",
        "authors": ["H1 Collaboration", "Zoë Müller"],
        "summary": "Multi-electron production is studied\nwith the H1 detector.",
        "comment": "23 pages, 8 figures",
        "journal_ref": "Eur.Phys.J. C31 (2003) 17-29",
        "doi": "10.1529/biophysj.104.047340",
        "primary_category": "hep-ex",
        "categories": ["hep-ex", "hep-ph"],
        "links": ["http://arxiv.org/abs/hep-ex/0307015v1", f"{fake.url}/moved/pdf/hep-ex/0307015v1"],
        "pdf_url": f"{fake.url}/moved/pdf/hep-ex/0307015v1",
        "pdf_downloaded": None,
    }
    second = found["result"][1]
    assert (second["title"], second["doi"]) == ("Nothing & Everything", None)


async def test_the_search_is_as_it_was_asked_for(httpserver: HTTPServer, call: OwnCall) -> None:
    """Ids, order and number reach the vendor under its own names."""
    fake = Arxiv(httpserver)
    arguments = {
        "query": "cat:hep-ex",
        "id_list": ["2301.00001v2", "2301.00002v1"],
        "max_results": 1,
        "sort_by": "submittedDate",
        "sort_order": "ascending",
    }
    found = await perform(arxiv.provider, "search", arguments, call, setup=fake.setup)
    assert [paper["title"] for paper in found["result"]] == ["A Paper Without a PDF"]
    assert dict(fake.requests[-1].args) == {
        "search_query": "cat:hep-ex",
        "id_list": "2301.00001v2,2301.00002v1",
        "start": "0",
        "max_results": "1",
        "sortBy": "submittedDate",
        "sortOrder": "ascending",
    }


async def test_papers_come_along_when_asked_for(httpserver: HTTPServer, call: OwnCall) -> None:
    """Base64, through the redirects of the vendor; a paper without a PDF stays without."""
    fake = Arxiv(httpserver)
    arguments = {"query": "all:electron", "download_pdf": True}
    found = await perform(arxiv.provider, "search", arguments, call, setup=fake.setup)
    downloaded = [paper["pdf_downloaded"] for paper in found["result"]]
    assert base64.b64decode(downloaded[0]["base64"]) == PDF
    assert downloaded[0]["mime_type"] == "application/pdf"
    assert downloaded[1]["title"] == "Nothing & Everything"
    assert downloaded[2] is None


async def test_papers_that_do_not_fit_into_one_answer_fail(httpserver: HTTPServer, tmp_path: Path) -> None:
    """Each of them is below the bound, all of them are not."""
    fake = Arxiv(httpserver)
    fake.pdf = b"%PDF" + bytes(4000)
    arguments = {"query": "all:electron", "download_pdf": True}
    with pytest.raises(ToolFailed, match="ask for fewer of them") as raised:
        await perform(arxiv.provider, "search", arguments, OwnCall(tmp_path, max_output_bytes=8000), setup=fake.setup)
    assert raised.value.code == "response_too_large"


async def test_an_error_that_comes_as_a_paper_is_an_error(httpserver: HTTPServer, call: OwnCall) -> None:
    """The answer is 200, with one entry that is called Error."""
    fake = Arxiv(httpserver)
    arguments = {"query": "", "id_list": ["abc"]}
    with pytest.raises(ToolFailed, match="arXiv: incorrect id format for abc"):
        await perform(arxiv.provider, "search", arguments, call, setup=fake.setup)


@pytest.mark.parametrize("feed", [BOMB, OUTSIDE])
async def test_a_feed_with_a_document_type_is_not_read(httpserver: HTTPServer, call: OwnCall, feed: bytes) -> None:
    """No entity is expanded, none is fetched."""
    fake = Arxiv(httpserver)
    fake.say(feed, "application/atom+xml")
    with pytest.raises(ToolFailed, match="a document type is not part of a feed") as raised:
        await perform(arxiv.provider, "search", {"query": "all"}, call, setup=fake.setup)
    assert raised.value.code == "response_invalid"


@pytest.mark.parametrize(
    ("feed", "reason"),
    [
        (b"<rss><channel/></rss>", "not an Atom feed"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom">' + b"<a>" * 1000 + b"</a>" * 1000 + b"</feed>", "too deeply"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>x</title></entry></feed>', "entry_id"),
        (b"hello", "syntax error"),
    ],
)
async def test_something_else_than_a_feed_is_not_read(
    httpserver: HTTPServer, call: OwnCall, feed: bytes, reason: str
) -> None:
    """Another document, one that is nested without end, a paper without what papers have."""
    fake = Arxiv(httpserver)
    fake.say(feed, "application/atom+xml")
    with pytest.raises(ToolFailed, match=reason):
        await perform(arxiv.provider, "search", {"query": "all"}, call, setup=fake.setup)


async def test_whoever_asks_too_often_is_told_so_in_plain_text(httpserver: HTTPServer, call: OwnCall) -> None:
    """No feed, no status: it passes after the pause that arXiv asks for."""
    fake = Arxiv(httpserver)
    fake.say(b"Rate exceeded.\n", "text/plain")
    with pytest.raises(ToolFailed, match="every three seconds") as raised:
        await perform(arxiv.provider, "search", {"query": "all"}, call, setup=fake.setup)
    assert (raised.value.retryable, raised.value.retry_after_s) == (True, 3.0)


async def test_more_than_one_answer_holds_is_not_offered(call: OwnCall) -> None:
    """2,000 papers are what arXiv gives at once."""
    with pytest.raises(ValidationError, match="less than or equal to 2000"):
        await perform(arxiv.provider, "search", {"query": "all", "max_results": 2001}, call)
