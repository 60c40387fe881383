"""Every method of every vendor when the vendor says no, is away, is slow, or answers something else than documented."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import Provider, ToolFailed
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

FILE = base64.b64encode(b"A document").decode()
SITE = "https://example.com/"


@dataclass(frozen=True)
class Asked:
    """A method that is called, and the fake it talks to."""

    provider: Provider
    method: str
    arguments: dict[str, Any]
    fake: Callable[[HTTPServer], FakeVendor]

    @property
    def id(self) -> str:
        """Provider and method."""
        return f"{self.provider.name}.{self.method}"

    @property
    def takes_anything(self) -> bool:
        """Pictures have no format of ours."""
        return self.method == "media_edit"


ALL = (
    Asked(algolia.provider, "search", {"index_name": "books/2026", "query": "le guin"}, Algolia),
    Asked(arxiv.provider, "search", {"query": "all:electron"}, Arxiv),
    Asked(brave.provider, "search", {"query": "hello world"}, Brave),
    Asked(cloudinary.provider, "media_upload", {"file": f"{SITE}cat.jpg"}, Cloudinary),
    Asked(
        cloudinary.provider,
        "media_edit",
        {"public_id": "cat", "transformation": [{"width": 100}], "return_base64": True},
        Cloudinary,
    ),
    Asked(llama_parse.provider, "parse", {"file": FILE, "base64": True}, LlamaParse),
    Asked(spider.provider, "crawl", {"url": SITE}, Spider),
    Asked(spider.provider, "links", {"url": SITE}, Spider),
    Asked(spider.provider, "screenshot", {"url": SITE}, Spider),
    Asked(spider.provider, "search", {"query": "cats"}, Spider),
    Asked(unstructured.provider, "parse", {"file": FILE}, Unstructured),
    Asked(weather.provider, "get", {"location": "Zocca,IT"}, OpenWeatherMap),
    Asked(wikipedia.provider, "search", {"query": "ada"}, MediaWiki),
)
READABLE = tuple(one for one in ALL if not one.takes_anything)
WITH_KEY = tuple(one for one in READABLE if one.fake not in {Arxiv, MediaWiki})


@pytest.fixture
def fake(httpserver: HTTPServer, asked: Asked) -> Iterator[FakeVendor]:
    """The vendor's server; whoever still waits for it is let go at the end."""
    found = asked.fake(httpserver)
    yield found
    found.release.set()


async def failure(asked: Asked, fake: FakeVendor, call: OwnCall, **changes: Any) -> ToolFailed:
    """How the call fails; the key is not part of what is told."""
    with pytest.raises(ToolFailed) as raised:
        await perform(asked.provider, asked.method, asked.arguments, call, setup={**fake.setup, **changes})
    assert KEY not in raised.value.message
    return raised.value


every = pytest.mark.parametrize("asked", ALL, ids=lambda one: one.id)


def test_no_method_is_left_out() -> None:
    """Each method of these providers is in the table above."""
    providers = {one.provider.name: one.provider for one in ALL}
    assert {one.id for one in ALL} == {f"{name}.{method}" for name, one in providers.items() for method in one.methods}


@pytest.mark.parametrize("asked", WITH_KEY, ids=lambda one: one.id)
async def test_a_wrong_key_is_told_in_the_words_of_the_vendor(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """The vendor, its words and the status; to try again would not help."""
    key = next(name for name in fake.setup if name.endswith("api_key"))
    failed = await failure(asked, fake, OwnCall(tmp_path), **{key: "a-wrong-key"})
    assert fake.words in failed.message
    assert "(HTTP 401)" in failed.message
    assert not failed.retryable
    assert failed.response is not None
    assert failed.response.status_code == 401


@every
async def test_whoever_may_not_is_told_so(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """Also by vendors that know everybody: in their words, once, and to try again would not help."""
    fake.fail(401)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert f"{fake.words} (HTTP 401)" in failed.message
    assert not failed.retryable
    assert failed.response is not None
    assert (failed.response.status_code, len(fake.requests)) == (401, 1)


@every
async def test_whoever_asks_too_often_comes_back_when_the_vendor_says(
    asked: Asked, fake: FakeVendor, tmp_path: Path
) -> None:
    """Retry-After is kept; the method itself asks once and no more."""
    fake.fail(429, retry_after="7")
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert (failed.retryable, failed.retry_after_s) == (True, 7.0)
    assert "(HTTP 429)" in failed.message
    assert len(fake.requests) == 1


@every
async def test_an_error_of_the_vendor_is_told_in_its_words(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """500: the words of the vendor, once; whether to ask again is for the tool's definition and its contract."""
    fake.fail(500)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert fake.words in failed.message
    assert not failed.retryable
    assert failed.response is not None
    assert failed.response.status_code == 500
    assert len(fake.requests) == 1
    wanted = asked.provider.methods[asked.method]
    assert (500 in wanted.retry_on) == (wanted.contract.effect == "read")


@every
async def test_what_a_vendor_says_cannot_write_on_a_terminal(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """Control characters are taken out, and so is what nobody would read to the end."""
    fake.say(f"no\x1b[2J\x00\r\nway {'x' * 2000}".encode(), "text/plain", 400)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert failed.message.isprintable()
    assert "no [2J way xxx" in failed.message
    assert len(failed.message) < 600


@every
async def test_an_error_page_of_a_proxy_is_not_repeated(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """Markup says nothing to anybody: what the status means is told."""
    fake.say(b"<html><body><h1>502 Bad Gateway</h1></body></html>", "text/html", 502)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert failed.message.endswith(": Bad Gateway (HTTP 502)")


@pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"surprise": 1}', b"<html>hello</html>", b"\xff\xfe\x00"])
@pytest.mark.parametrize("asked", READABLE, ids=lambda one: one.id)
async def test_an_answer_that_is_not_what_is_documented_fails(
    asked: Asked, fake: FakeVendor, body: bytes, tmp_path: Path
) -> None:
    """200 with something else inside is no success, and is not taken for an empty one."""
    fake.say(body)
    failed = await failure(asked, fake, OwnCall(tmp_path))
    assert failed.code == "response_invalid"
    assert "cannot be read" in failed.message
    assert failed.response is not None


@every
async def test_an_answer_above_the_bound_fails(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """However large the answer, no more of it is taken than the call may have."""
    fake.say(b" " * 5000)
    failed = await failure(asked, fake, OwnCall(tmp_path, max_output_bytes=4096))
    assert failed.code == "response_too_large"


@every
async def test_a_vendor_that_does_not_answer_holds_up_nobody(asked: Asked, fake: FakeVendor, tmp_path: Path) -> None:
    """A method waits without blocking: its deadline ends it."""
    fake.hang()
    with pytest.raises(TimeoutError):
        await perform(asked.provider, asked.method, asked.arguments, OwnCall(tmp_path), setup=fake.setup, timeout_s=0.3)


@every
def test_nothing_that_is_given_is_ignored(asked: Asked) -> None:
    """An argument or a setup of an unknown name is refused."""
    found = asked.provider.methods[asked.method]
    assert asked.provider.setup is not None
    for model in (found.arguments, asked.provider.setup):
        assert model.model_json_schema()["additionalProperties"] is False


@every
def test_keys_are_not_shown(asked: Asked) -> None:
    """Keys are marked as such in the schema, and left out where a setup is printed."""
    setup = asked.provider.setup
    assert setup is not None
    for name, told in setup.model_json_schema()["properties"].items():
        if "key" in name or "secret" in name:
            assert (told["format"], told["writeOnly"]) == ("password", True)
            assert not setup.model_fields[name].repr
