"""What becomes of documents: LlamaParse, Unstructured."""

import base64
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.fakes.llama_parse import LlamaParse
from tests.fakes.unstructured import Unstructured
from tests.fakes.vendor import KEY
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import llama_parse, unstructured

FILE = base64.b64encode(b"A title\nSome text").decode()
CAT = "https://example.com/cat.jpg"


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """A call with a folder of its own."""
    return OwnCall(tmp_path)


async def parse(httpserver: HTTPServer, call: OwnCall, arguments: dict[str, Any], **setup: Any) -> LlamaParse:
    """The fake after LlamaParse was asked to parse."""
    fake = LlamaParse(httpserver)
    await perform(llama_parse.provider, "parse", arguments, call, setup={**fake.setup, **setup})
    return fake


async def test_a_document_is_uploaded_and_asked_after_until_it_is_done(httpserver: HTTPServer, call: OwnCall) -> None:
    """Markdown of each page; a page that failed says why."""
    fake = LlamaParse(httpserver)
    arguments = {"file": FILE, "filename": "report.pdf", "base64": True}
    parsed = await perform(llama_parse.provider, "parse", arguments, call, setup=fake.setup)
    first, second = parsed["documents"]
    assert first == {
        "text": "# A title\nSome text",
        "metadata": {"page_number": 1, "job_id": "job-1", "file_name": "report.pdf"},
    }
    assert (second["text"], second["metadata"]["error"]) == ("", "unreadable scan")
    assert fake.jobs == [
        {
            "tier": "cost_effective",
            "version": "latest",
            "name": "report.pdf",
            "content": "A title\nSome text",
        }
    ]
    assert fake.asked == {"1": 3}


async def test_urls_are_fetched_by_the_vendor(httpserver: HTTPServer, call: OwnCall) -> None:
    """One job each; the guard sees them first. The tier `fast` has no Markdown, and gives text."""
    fake = LlamaParse(httpserver)
    urls = ["https://example.com/a.pdf", "https://example.com/b.pdf"]
    arguments = {"file": urls, "params": {"tier": "fast"}}
    parsed = await perform(llama_parse.provider, "parse", arguments, call, setup=fake.setup)
    assert [document["text"] for document in parsed["documents"]] == urls
    assert set(urls) <= set(call.examined)
    with pytest.raises(ToolFailed, match="may not be reached"):
        await perform(llama_parse.provider, "parse", {"file": f"http://{DENIED}/"}, call, setup=fake.setup)
    assert len(fake.jobs) == 2


async def test_a_url_may_come_with_a_name(httpserver: HTTPServer, call: OwnCall) -> None:
    """Which its pages are told under; the vendor fetches it under its own."""
    fake = LlamaParse(httpserver)
    arguments = {"file": CAT, "filename": "A cat"}
    parsed = await perform(llama_parse.provider, "parse", arguments, call, setup=fake.setup)
    assert {document["metadata"]["file_name"] for document in parsed["documents"]} == {"A cat"}
    assert fake.jobs == [{"tier": "cost_effective", "version": "latest", "source_url": CAT}]


async def test_options_of_the_call_go_over_those_of_the_setup(httpserver: HTTPServer, call: OwnCall) -> None:
    """Key by key, at the top."""
    arguments = {"file": FILE, "base64": True, "params": {"tier": "agentic"}}
    fake = await parse(httpserver, call, arguments, params={"tier": "fast", "page_ranges": {"max_pages": 2}})
    assert fake.jobs[0]["tier"] == "agentic"
    assert fake.jobs[0]["page_ranges"] == {"max_pages": 2}


@pytest.mark.parametrize(("fate", "words"), [("FAILED", "the file is broken"), ("CANCELLED", "cancelled")])
async def test_a_job_that_fails_fails(httpserver: HTTPServer, call: OwnCall, fate: str, words: str) -> None:
    """In the words of the vendor where there are any."""
    fake = LlamaParse(httpserver)
    fake.fate = fate
    with pytest.raises(ToolFailed, match=f"LlamaParse: {words}"):
        await perform(llama_parse.provider, "parse", {"file": FILE, "base64": True}, call, setup=fake.setup)


async def test_a_job_that_is_done_without_a_result_fails(httpserver: HTTPServer, call: OwnCall) -> None:
    """Nothing is not taken for no pages."""
    fake = LlamaParse(httpserver)
    fake.has_result = False
    with pytest.raises(ToolFailed, match="cannot be read: markdown: missing") as raised:
        await perform(llama_parse.provider, "parse", {"file": FILE, "base64": True}, call, setup=fake.setup)
    assert raised.value.code == "response_invalid"


async def test_options_that_the_vendor_does_not_know_are_told(httpserver: HTTPServer, call: OwnCall) -> None:
    """422 with a list of faults: what they say stands in the message."""
    arguments = {"file": FILE, "base64": True, "params": {"tier": "best"}}
    with pytest.raises(ToolFailed, match=r"Input should be 'fast'.*\(HTTP 422\)"):
        await parse(httpserver, call, arguments)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"file": "not a url"}, "must be a url"),
        ({"file": "not base64!", "base64": True}, "must be base64"),
        ({"file": []}, "names no document"),
        ({"file": [FILE, FILE], "base64": True, "filename": "a.pdf"}, "for a single document"),
        ({"file": CAT, "params": {"source_url": CAT}}, "an argument of its own"),
        ({"file": CAT, "params": {"webhook_configurations": []}}, "not offered"),
    ],
)
async def test_what_cannot_be_meant_is_refused(call: OwnCall, arguments: dict[str, Any], reason: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ValidationError, match=reason):
        await perform(llama_parse.provider, "parse", arguments, call, setup={"llamaparse_api_key": KEY})
    assert not call.is_sent


async def test_a_document_is_taken_apart(httpserver: HTTPServer, call: OwnCall) -> None:
    """Elements as objects; strategies may be spelled as people do, lists go as lists."""
    fake = Unstructured(httpserver)
    arguments = {
        "file": FILE,
        "filename": "report.txt",
        "partition_params": {"strategy": "Hi-Res", "languages": ["eng", "deu"], "coordinates": True},
    }
    parsed = await perform(unstructured.provider, "parse", arguments, call, setup=fake.setup)
    assert (parsed["content_type"], parsed["status_code"], parsed["csv_elements"]) == ("application/json", 200, None)
    title, text = parsed["content"]
    assert (title["type"], title["text"], text["type"]) == ("Title", "A title", "NarrativeText")
    assert text["metadata"] == {"languages": ["eng", "deu"], "filename": "report.txt", "filetype": "text/plain"}
    form = fake.requests[-1].form
    assert (form["strategy"], form["coordinates"]) == ("hi_res", "true")


async def test_elements_come_as_csv_when_asked_for(httpserver: HTTPServer, call: OwnCall) -> None:
    """A document without a name is called document."""
    fake = Unstructured(httpserver)
    arguments = {"file": FILE, "partition_params": {"output_format": "text/csv", "encoding": None}}
    parsed = await perform(unstructured.provider, "parse", arguments, call, setup=fake.setup)
    assert (parsed["content_type"], parsed["content"]) == ("text/csv", None)
    assert parsed["csv_elements"].splitlines()[1] == "Title,A title,document"
    assert "encoding" not in fake.requests[-1].form


async def test_the_url_of_the_server_is_filled_in(httpserver: HTTPServer, call: OwnCall) -> None:
    """`url_params` for what stands in braces; one that is missing is told."""
    fake = Unstructured(httpserver)
    setup = {"unstructured_api_key": KEY, "server_url": "http://{place}:{port}/"}
    filled = {**setup, "url_params": {"place": "localhost", "port": str(httpserver.port)}}
    parsed = await perform(unstructured.provider, "parse", {"file": FILE}, call, setup=filled)
    assert len(parsed["content"]) == 2
    assert len(fake.requests) == 1
    hosted = unstructured.Setup(unstructured_api_key=KEY, server="platform-api")
    assert hosted.base_url == unstructured.Setup(unstructured_api_key=KEY).base_url == "https://api.unstructuredapp.io"
    with pytest.raises(ValidationError, match="exactly what stands in braces"):
        await perform(unstructured.provider, "parse", {"file": FILE}, call, setup=setup)


async def test_a_request_takes_no_longer_than_the_setup_allows(httpserver: HTTPServer, call: OwnCall) -> None:
    """`timeout_ms` ends it, and says so."""
    fake = Unstructured(httpserver)
    fake.hang()
    with pytest.raises(ToolFailed, match=r"within timeout_ms \(100 ms\)") as raised:
        await perform(unstructured.provider, "parse", {"file": FILE}, call, setup={**fake.setup, "timeout_ms": 100})
    fake.release.set()
    assert (raised.value.code, raised.value.retryable) == ("timeout", True)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"strategy": "best"}, "strategy is one of"),
        ({"split_pdf_page": True}, "not offered"),
        ({"files": "x"}, "an argument of its own"),
    ],
)
async def test_parameters_that_mean_nothing_here_are_refused(
    call: OwnCall, params: dict[str, Any], reason: str
) -> None:
    """And so is a document that is not base64."""
    arguments = {"file": FILE, "partition_params": params}
    with pytest.raises(ValidationError, match=reason):
        await perform(unstructured.provider, "parse", arguments, call, setup={"unstructured_api_key": KEY})
    with pytest.raises(ValidationError, match="not base64"):
        await perform(unstructured.provider, "parse", {"file": "%"}, call, setup={"unstructured_api_key": KEY})
