"""
Every vendor of a provider, with keys of its own: one round as it should be, and two in which it gives them away.

`honest`: the vendor knows the key. `garbled`: whatever it is asked, it answers 200 with the keys in every form; they
stand in stored setup. `refused`: it answers 422 so, after somebody agreed to the call.
"""

import base64
import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from werkzeug import Request

from tests.e2e.canaries import giveaway
from tests.e2e.published.outside import served
from tests.fakes.algolia import Algolia
from tests.fakes.arxiv import Arxiv
from tests.fakes.brave import Brave
from tests.fakes.browserbase import Browserbase
from tests.fakes.cloudinary import Cloudinary
from tests.fakes.google_sheets import SPREADSHEET, Sheets
from tests.fakes.llama_parse import LlamaParse
from tests.fakes.mailgun import Mailgun
from tests.fakes.mediawiki import MediaWiki
from tests.fakes.openweathermap import OpenWeatherMap
from tests.fakes.spider import Spider
from tests.fakes.unstructured import Unstructured
from tests.fakes.vendor import FakeVendor
from tests.secret_forms import forms_found

FILE = {"file": base64.b64encode(b"A title\nSome text").decode()}
MAIL = {"from": "Ann <ann@example.com>", "to": "bob@example.org", "subject": "Hello", "body": "How are you?"}
OPEN = frozenset({"base_url"})  # no key: such a vendor knows everybody, and is itself what nobody may hear of
SIGNING = frozenset({"cloudinary_api_secret", "service_account_json"})  # they sign, and are never sent
PATIENCE_S = 90  # processes of all providers start at once
APPROVAL = {"requester_may_approve": True}


@dataclass(frozen=True)
class Known:
    """A vendor, what its provider is asked for, and which keys of its setup are secret."""

    fake: type[FakeVendor]
    method: str
    arguments: Mapping[str, Any]
    keys: tuple[str, ...]


KNOWN: Mapping[str, Known] = {
    "algolia": Known(Algolia, "search", {"index_name": "books/2026", "query": "le guin"}, ("algolia_api_key",)),
    "arxiv": Known(Arxiv, "search", {"query": "all:electron"}, ("base_url",)),
    "brave": Known(Brave, "search", {"query": "hello world"}, ("brave_api_key",)),
    "browserbase": Known(Browserbase, "create_session", {}, ("api_key",)),
    "cloudinary": Known(
        Cloudinary,
        "media_upload",
        {"file": "http://127.0.0.1:9/cat.jpg"},
        ("cloudinary_api_key", "cloudinary_api_secret"),
    ),
    "google_sheets": Known(
        Sheets, "read_values", {"spreadsheet_id": SPREADSHEET, "range": "Sheet1!A1:B2"}, ("service_account_json",)
    ),
    "llama_parse": Known(LlamaParse, "parse", {**FILE, "base64": True}, ("llamaparse_api_key",)),
    "mailgun": Known(Mailgun, "send_email", MAIL, ("api_key",)),
    "spider": Known(Spider, "crawl", {"url": "http://127.0.0.1:9/"}, ("spider_api_key",)),
    "unstructured": Known(Unstructured, "parse", FILE, ("unstructured_api_key",)),
    "weather": Known(OpenWeatherMap, "get", {"location": "Zocca,IT"}, ("openweathermap_api_key",)),
    "wikipedia": Known(MediaWiki, "search", {"query": "ada"}, ("base_url",)),
}


@dataclass(frozen=True)
class Sending:
    """
    A tool and a call of it that sends secrets, which are given by name.

    `stored` is its setup for the whole tenant; `is_approved`: somebody has to agree. `status` is what the call comes
    to, `None` where either will do; `tells`: what comes back names at least one of the secrets.
    """

    definition: Mapping[str, Any]
    arguments: Mapping[str, Any]
    values: Mapping[str, str]
    stored: Mapping[str, Any] = field(default_factory=dict)
    is_approved: bool = False
    status: str | None = "succeeded"
    tells: bool = False

    @property
    def name(self) -> str:
        """Of the tool."""
        return str(self.definition["name"])


def token() -> str:
    """A key as it may stand in a header, which most encodings write in another way."""
    return f"k+{secrets.token_hex(6)}/{secrets.token_hex(6)}=&~"


class Vendors:
    """All of them, running."""

    def __init__(self, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fakes = {name: known.fake(stack.enter_context(served())) for name, known in KNOWN.items()}
        for fake in self.fakes.values():
            for constant in {"KEY", "SECRET"} & vars(_module(fake)).keys():
                monkeypatch.setattr(_module(fake), constant, token())

    def honest(self) -> Iterator[Sending]:
        """One call of each that has a key."""
        for provider, known in KNOWN.items():
            if not OPEN.issuperset(known.keys):
                values = {f"{provider}_{key}": self.fakes[provider].setup[key] for key in known.keys}
                yield _sending(provider, "honest", self.fakes[provider].setup, values)

    def unfaithful(self, way: str) -> Iterator[Sending]:
        """One call of each, which from now on gives every key away."""
        status = {"garbled": 200, "refused": 422}[way]
        for provider, known in KNOWN.items():
            fake = self.fakes[provider]
            values = {f"{provider}_{key}_{way}": _fresh(fake, key) for key in known.keys}
            fake.say(giveaway(values.values()), status=status)
            yield _sending(provider, way, fake.setup, values)

    def sent(self, sendings: list[Sending]) -> set[str]:
        """The names of those secrets that really came to a vendor."""
        came = b"\n".join(_whole(request) for fake in self.fakes.values() for request in fake.requests)
        return {name for one in sendings for name, value in one.values.items() if forms_found(came, value)}

    def traced(self) -> list[str]:
        """What the vendors were told of traces."""
        headers = [request.headers for fake in self.fakes.values() for request in fake.requests]
        return [found[name] for found in headers for name in ("traceparent", "tracestate") if name in found]

    def given_out(self) -> dict[str, str]:
        """Secrets that a vendor made of ours, and the lines inside of one that is packed."""
        sheets = self.fakes["google_sheets"]
        assert isinstance(sheets, Sheets)
        lines = sheets.key_file()["private_key"].splitlines()[1:-2]
        assert sheets.tokens
        return {
            **{f"token {number}": one for number, one in enumerate(sheets.tokens)},
            **{f"line {number} of a key": one for number, one in enumerate(lines)},
        }


def _module(fake: FakeVendor) -> Any:
    return sys.modules[type(fake).__module__]


def _fresh(fake: FakeVendor, key: str) -> str:
    """A value for this key of the setup."""
    if isinstance(fake, Sheets):
        packed = {**fake.key_file(), "private_key_id": secrets.token_hex(20)}
        return base64.b64encode(json.dumps(packed).encode()).decode()
    return f"{fake.url}/{secrets.token_hex(12)}" if key in OPEN else token()


def _sending(provider: str, way: str, setup: Mapping[str, Any], values: Mapping[str, str]) -> Sending:
    known, is_stored, is_approved = KNOWN[provider], way == "garbled", way == "refused"
    filled = {key: f"secret://{name}" for key, name in zip(known.keys, values, strict=True)}
    others = dict.fromkeys(known.keys, "secret://of_nobody") if is_stored else filled
    definition = {
        "name": f"{provider}_{way}",
        "integration": {"provider": provider, "method": known.method, "setup": {**setup, **others}},
        "timeout_s": PATIENCE_S,
        "retry": {"attempts": 1},
        **({"approval": APPROVAL} if is_approved else {}),
    }
    return Sending(
        definition,
        known.arguments,
        values,
        stored=filled if is_stored else {},
        is_approved=is_approved,
        status={"honest": "succeeded", "refused": "failed"}.get(way),
        tells=is_approved and not SIGNING.issuperset(known.keys),
    )


def _whole(request: Request) -> bytes:
    """The request with everything that it brought."""
    return f"{request.url}\n{request.headers}\n".encode() + request.get_data()
