"""Mailgun: what is posted, for which domain, and what is made of what the vendor says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.mailgun import Mailgun
from tests.fakes.vendor import KEY
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.mailgun import provider

MAIL = {"to": "bob@example.org", "from": "Ann <ann@example.com>", "subject": "Hello", "body": "How are you?"}


@pytest.fixture
def vendor(httpserver: HTTPServer) -> Iterator[Mailgun]:
    """The vendor, with nothing in its queue."""
    found = Mailgun(httpserver)
    yield found
    found.release.set()


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _send(vendor: Mailgun, call: OwnCall, **changes: object) -> dict[str, Any]:
    return await perform(provider, "send_email", MAIL | changes, call, setup=vendor.setup)


@pytest.mark.parametrize(
    ("sender", "domain"),
    [("ann@example.com", "email.example.com"), ("Ann <ann@email.example.com>", "email.example.com")],
)
async def test_domain_of_the_sender(vendor: Mailgun, call: OwnCall, sender: str, domain: str) -> None:
    """Mail leaves from the sender's domain under `email.`."""
    sent = await _send(vendor, call, **{"from": sender})
    assert sent == {"success": True, "error": None, "id": f"<20261130120000.1@{domain}>"}
    assert vendor.messages[0][0] == domain


async def test_domain_as_told(vendor: Mailgun, call: OwnCall) -> None:
    """A domain in the setup goes before the rule."""
    setup = {**vendor.setup, "domain": "mg.example.net"}
    assert (await perform(provider, "send_email", MAIL, call, setup=setup))["success"]
    assert vendor.messages[0][0] == "mg.example.net"


async def test_what_is_posted(vendor: Mailgun, call: OwnCall) -> None:
    """Every recipient in its field, text and HTML apart, the answers' address as a header."""
    await _send(
        vendor,
        call,
        to="bob@example.org, Jo <jo@example.org>",
        cc="zoe@example.org",
        bcc=["eve@example.net"],
        html="<p>Hi</p>",
        reply_to="desk@example.com",
    )
    assert vendor.messages[0][1] == {
        "from": ['"Ann" <ann@example.com>'],
        "to": ["bob@example.org", '"Jo" <jo@example.org>'],
        "cc": ["zoe@example.org"],
        "bcc": ["eve@example.net"],
        "subject": ["Hello"],
        "text": ["How are you?"],
        "html": ["<p>Hi</p>"],
        "h:Reply-To": ["desk@example.com"],
    }


async def test_plain_refusal(vendor: Mailgun, call: OwnCall) -> None:
    """A wrong key is answered with one word and no JSON: it is told all the same, without the key."""
    with pytest.raises(ToolFailed, match=r"Mailgun: Forbidden \(HTTP 401\)") as failed:
        await perform(provider, "send_email", MAIL, call, setup={**vendor.setup, "api_key": "a-wrong-key"})
    assert not failed.value.retryable
    assert KEY not in failed.value.message


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (429, True), (500, False), (503, True)])
async def test_refusals(vendor: Mailgun, call: OwnCall, status: int, retryable: bool) -> None:
    """A refusal is told in the vendor's words, after one request; Retry-After is kept."""
    vendor.fail(status, retry_after="7")
    with pytest.raises(ToolFailed, match=rf"Mailgun: {Mailgun.words} \(HTTP {status}\)") as failed:
        await _send(vendor, call)
    assert (failed.value.retryable, failed.value.retry_after_s, len(vendor.requests)) == (retryable, 7.0, 1)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"surprise": 1}', b'{"id": ""}', b"<html>hello</html>"])
async def test_something_else(vendor: Mailgun, call: OwnCall, body: bytes) -> None:
    """200 with something else inside is no success."""
    vendor.say(body)
    with pytest.raises(ToolFailed, match="cannot be read") as failed:
        await _send(vendor, call)
    assert failed.value.code == "response_invalid"


async def test_too_large_and_too_slow(vendor: Mailgun, call: OwnCall) -> None:
    """An answer has a bound in size, and in time; after that it is open whether the message was queued."""
    vendor.say(b" " * 5000)
    call.max_output_bytes = 4096
    with pytest.raises(ToolFailed) as failed:
        await _send(vendor, call)
    assert failed.value.code == "response_too_large"
    vendor.hang()
    with pytest.raises(TimeoutError):
        await perform(provider, "send_email", MAIL, call, setup=vendor.setup, timeout_s=0.2)
    assert call.is_sent


async def test_guarded(vendor: Mailgun, call: OwnCall) -> None:
    """A base url that the guard refuses is not asked."""
    setup = {**vendor.setup, "base_url": f"http://{DENIED}"}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "send_email", MAIL, call, setup=setup)
    assert (failed.value.code, call.is_sent) == ("egress_denied", False)


def test_never_repeated_blindly() -> None:
    """Mail reaches people: nobody may repeat it unasked."""
    contract = provider.usual.contract
    assert (contract.effect, contract.idempotency, provider.usual.retry_on) == ("external", "none", ())
