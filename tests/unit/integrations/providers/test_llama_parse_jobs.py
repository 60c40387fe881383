"""A document that LlamaParse has is not handed in again, whatever goes wrong while its job is asked after."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.llama_parse import LlamaParse
from tests.fakes.vendor import KEY
from tests.nats_fixtures import until
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import llama_parse

FILE = base64.b64encode(b"A title\nSome text").decode()
OTHER = base64.b64encode(b"Another title").decode()
FEW = 4


@pytest.fixture
def fake(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LlamaParse]:
    """The vendor, which takes a document and then is in trouble; pauses are short, and few."""
    monkeypatch.setattr(llama_parse, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(llama_parse, "LONGEST_PAUSE_S", 0.02)
    monkeypatch.setattr(llama_parse, "MAX_ASKED", FEW)
    found = LlamaParse(httpserver)
    found.spared = 1
    yield found
    found.release.set()


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def parse(fake: LlamaParse, call: OwnCall, *files: str, timeout_s: float = 30) -> list[dict[str, Any]]:
    """The pages of the documents."""
    arguments = {"file": list(files) or FILE, "base64": True}
    parsed = await perform(llama_parse.provider, "parse", arguments, call, setup=fake.setup, timeout_s=timeout_s)
    documents: list[dict[str, Any]] = parsed["documents"]
    return documents


async def failure(fake: LlamaParse, call: OwnCall, *files: str) -> ToolFailed:
    """How it fails."""
    with pytest.raises(ToolFailed) as raised:
        await parse(fake, call, *files)
    assert KEY not in raised.value.message
    return raised.value


def is_wanted_again(failed: ToolFailed) -> bool:
    """Whether the whole call is to be made again, as its host judges."""
    status = None if failed.response is None else failed.response.status_code
    return failed.retryable or status in llama_parse.provider.methods["parse"].retry_on


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_trouble_that_passes_is_waited_out(fake: LlamaParse, call: OwnCall, status: int) -> None:
    """The job is asked after again; the document stays where it is."""
    fake.failing = FEW - 1
    fake.fail(status)
    assert len(await parse(fake, call)) == 2
    assert len(fake.jobs) == 1
    assert fake.asked == {"1": 3}
    assert len(fake.requests) == 1 + FEW - 1 + 3


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_trouble_that_stays_ends_the_call_for_good(fake: LlamaParse, call: OwnCall, status: int) -> None:
    """Another attempt would hand the document in again: the job is named instead, with the vendor's words."""
    fake.fail(status)
    failed = await failure(fake, call)
    assert not is_wanted_again(failed)
    assert "job-1" in failed.message
    assert f"{fake.words} (HTTP {status})" in failed.message
    assert len(fake.requests) == 1 + FEW
    assert fake.jobs[0]["content"] == "A title\nSome text"


async def test_a_vendor_that_wants_to_be_left_alone_for_long(fake: LlamaParse, call: OwnCall) -> None:
    """It is not waited for, and not asked sooner."""
    fake.fail(429, retry_after="3600")
    failed = await failure(fake, call)
    assert not is_wanted_again(failed)
    assert len(fake.requests) == 2


@pytest.mark.parametrize("status", [401, 404])
async def test_a_refusal_is_taken_at_its_word(fake: LlamaParse, call: OwnCall, status: int) -> None:
    """It does not pass by asking again."""
    fake.fail(status)
    failed = await failure(fake, call)
    assert not is_wanted_again(failed)
    assert failed.response is not None
    assert failed.response.status_code == status
    assert len(fake.requests) == 2


@pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"surprise": 1}', b"<html>hello</html>"])
async def test_something_else(fake: LlamaParse, call: OwnCall, body: bytes) -> None:
    """200 with something else inside."""
    fake.say(body)
    failed = await failure(fake, call)
    assert failed.code == "response_invalid"
    assert not is_wanted_again(failed)
    assert len(fake.requests) == 2


async def test_too_large(fake: LlamaParse, call: OwnCall) -> None:
    """The result has the bound of the call."""
    fake.say(b" " * 5000)
    call.max_output_bytes = 4096
    failed = await failure(fake, call)
    assert (failed.code, is_wanted_again(failed)) == ("response_too_large", False)


async def test_no_answer(fake: LlamaParse, call: OwnCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question has a time of its own."""
    monkeypatch.setattr(llama_parse, "ANSWER_TIMEOUT_S", 0.1)
    fake.hang()
    failed = await failure(fake, call)
    assert (failed.code, is_wanted_again(failed)) == ("connection_lost", False)
    assert failed.message == "LlamaParse does not say what became of the job job-1: no answer in time"
    fake.release.set()  # it hears the questions one after the other, also those that nobody waits for any more
    await until(lambda: len(fake.requests) == 1 + FEW)
    assert len(fake.jobs) == 1


async def test_an_answer_that_breaks_off(fake: LlamaParse, call: OwnCall) -> None:
    """No answer is no reason either."""
    fake.break_off()
    failed = await failure(fake, call)
    assert (failed.code, is_wanted_again(failed)) == ("connection_lost", False)
    assert (len(fake.jobs), len(fake.requests)) == (1, 1 + FEW)


async def test_time_that_is_up(fake: LlamaParse, call: OwnCall) -> None:
    """The next attempt at the call goes on where this one was; another call has a document of its own."""
    fake.hang()
    with pytest.raises(TimeoutError):
        await parse(fake, call, timeout_s=0.5)
    fake.recover()
    fake.release.set()
    assert [page["metadata"]["job_id"] for page in await parse(fake, call)] == ["job-1", "job-1"]
    assert len(fake.jobs) == 1
    await parse(fake, OwnCall(call.folder))
    assert len(fake.jobs) == 2
    await parse(fake, call)  # it was over: what it had begun is forgotten
    assert len(fake.jobs) == 3


async def test_a_further_document_that_is_not_taken(fake: LlamaParse, call: OwnCall) -> None:
    """The attempt after that hands in the further one alone."""
    fake.spared = 4  # the first document, and its job until it is done
    fake.fail(503, retry_after="7")
    failed = await failure(fake, call, FILE, OTHER)
    assert (failed.retryable, failed.retry_after_s) == (True, 7.0)
    assert len(fake.jobs) == 1
    fake.recover()
    pages = await parse(fake, call, FILE, OTHER)
    assert [page["metadata"]["job_id"] for page in pages] == ["job-1", "job-1", "job-2", "job-2"]
    assert [job["content"] for job in fake.jobs] == ["A title\nSome text", "Another title"]


async def test_what_is_remembered_has_a_bound(
    fake: LlamaParse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that never succeed do not fill the memory."""
    monkeypatch.setattr(llama_parse, "MAX_BEGUN", 3)
    fake.spared = 0
    fake.fail(401)
    for _ in range(5):
        await failure(fake, OwnCall(tmp_path))
    assert len(llama_parse._begun) == 3


async def test_an_upload_that_fails_may_be_made_again(fake: LlamaParse, call: OwnCall) -> None:
    """There is no job yet."""
    fake.spared = 0
    fake.fail(500)
    assert is_wanted_again(await failure(fake, call))
    assert len(fake.requests) == 1
