"""Methods of several requests when trouble begins behind the first: each says what it is, and what has happened."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.arxiv import Arxiv
from tests.fakes.browserbase import Browserbase
from tests.fakes.mediawiki import MediaWiki
from tests.fakes.vendor import KEY, FakeVendor
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import Provider, ToolFailed
from toolbus_integrations.providers import arxiv, browserbase, wikipedia

BOUND = 64 * 1024


@dataclass(frozen=True)
class Later:
    """A method, whose first `spared` requests are answered well; `name` is of the one that is not."""

    name: str
    provider: Provider
    method: str
    arguments: dict[str, Any]
    fake: Callable[[HTTPServer], FakeVendor]
    spared: int


EXTENSION: dict[str, Any] = {"repositoryName": "ann/blocker"}
ARCHIVE = Later(
    "archive", browserbase.provider, "install_extension_from_github", EXTENSION, Browserbase, 1
)  # behind a redirect
UPLOAD = Later("upload", browserbase.provider, "install_extension_from_github", EXTENSION, Browserbase, 2)
ARTICLE = Later("article", wikipedia.provider, "search", {"query": "ada"}, MediaWiki, 1)
SECOND = Later("second article", wikipedia.provider, "search", {"query": "ada"}, MediaWiki, 2)
PAPER = Later("paper", arxiv.provider, "search", {"query": "all", "download_pdf": True}, Arxiv, 1)
ALL = (ARTICLE, SECOND, PAPER, ARCHIVE, UPLOAD)
every = pytest.mark.parametrize("asked", ALL, ids=lambda one: one.name)


@pytest.fixture
def fake(httpserver: HTTPServer, asked: Later) -> Iterator[FakeVendor]:
    """The vendor's server, which spares the first requests."""
    found = asked.fake(httpserver)
    found.spared = asked.spared
    yield found
    found.release.set()


async def failure(asked: Later, fake: FakeVendor, call: OwnCall) -> ToolFailed:
    """How the call fails, behind exactly one request that went wrong."""
    with pytest.raises(ToolFailed) as raised:
        await perform(asked.provider, asked.method, asked.arguments, call, setup=fake.setup)
    assert len(fake.requests) == asked.spared + 1
    assert KEY not in raised.value.message
    return raised.value


@every
async def test_whoever_asks_too_often_comes_back(asked: Later, fake: FakeVendor, tmp_path: Path) -> None:
    """Retry-After is kept, whichever request it answers."""
    fake.fail(429, retry_after="7")
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert (failed.retryable, failed.retry_after_s) == (True, 7.0)
    assert "(HTTP 429)" in failed.message


@every
async def test_whoever_may_not_is_told_so(asked: Later, fake: FakeVendor, tmp_path: Path) -> None:
    """In the words of the vendor; to try again would not help."""
    fake.fail(401)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert fake.words in failed.message
    assert not failed.retryable
    assert failed.response is not None
    assert failed.response.status_code == 401


@every
async def test_a_vendor_that_is_broken(asked: Later, fake: FakeVendor, tmp_path: Path) -> None:
    """What only reads may be tried again; before the upload nothing has happened, and behind it nobody knows."""
    fake.fail(500)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert fake.words in failed.message
    is_wanted_again = failed.retryable or 500 in asked.provider.methods[asked.method].retry_on
    assert is_wanted_again == (asked is not UPLOAD)
    assert failed.has_effect is (False if asked is ARCHIVE else None)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"surprise": 1}', b"<html>hello</html>"])
@pytest.mark.parametrize("asked", [ARTICLE, SECOND, ARCHIVE, UPLOAD], ids=lambda one: one.name)
async def test_something_else(asked: Later, fake: FakeVendor, body: bytes, tmp_path: Path) -> None:
    """200 with something else inside is no success; papers have no format of ours."""
    fake.say(body)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert failed.code == "response_invalid"
    assert failed.has_effect is (False if asked is ARCHIVE else None)


@every
async def test_more_than_the_bound(asked: Later, fake: FakeVendor, tmp_path: Path) -> None:
    """Each answer has it."""
    fake.say(b" " * (BOUND + 1))
    failed = await failure(asked, fake, OwnCall(tmp_path, max_output_bytes=BOUND))
    assert failed.code == "response_too_large"


@every
async def test_a_vendor_that_does_not_answer(asked: Later, fake: FakeVendor, tmp_path: Path) -> None:
    """The deadline of the call ends it, whichever answer it waits for."""
    fake.hang()
    with pytest.raises(TimeoutError):
        await perform(asked.provider, asked.method, asked.arguments, OwnCall(tmp_path), setup=fake.setup, timeout_s=0.5)
    assert len(fake.requests) == asked.spared + 1


@pytest.mark.parametrize("asked", [ARCHIVE], ids=lambda one: one.name)
async def test_an_archive_that_does_not_come(
    asked: Later, fake: FakeVendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was uploaded, and this is known: another attempt may be made."""
    monkeypatch.setattr(browserbase, "ARCHIVE_TIMEOUT_S", 0.3)
    fake.hang()
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert (failed.code, failed.retryable, failed.has_effect) == ("connection_failed", True, False)
    assert failed.message == "no archive of ann/blocker: no answer in time"
