"""Mailgun: what is posted, for which domain, and what is made of what the vendor says."""

from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from tests.unit.integrations.providers.faults import FAULTS, Fault, check_fault
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.mailgun import provider

MAIL = {"to": "bob@example.org", "from": "Ann <ann@example.com>", "subject": "Hello", "body": "How are you?"}
# Source: the vendor's documentation of messages, "Send an email": the answer to a message that was queued.
QUEUED = {"id": "<20261130120000.1.ABC@email.example.com>", "message": "Queued. Thank you."}


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _send(server: HTTPServer, call: OwnCall, **changes: object) -> dict[str, Any]:
    setup = {"api_key": "key-1", "base_url": server.url_for("/")}
    return await perform(provider, "send_email", MAIL | changes, call, setup=setup)


@pytest.mark.parametrize(
    ("sender", "domain"),
    [
        ("ann@example.com", "email.example.com"),
        ("Ann <ann@email.example.com>", "email.example.com"),
    ],
)
async def test_domain_of_the_sender(httpserver: HTTPServer, call: OwnCall, sender: str, domain: str) -> None:
    """Mail leaves from the sender's domain under `email.`, and is signed for with the key."""
    httpserver.expect_oneshot_request(f"/v3/{domain}/messages", "POST").respond_with_json(QUEUED)
    sent = await _send(httpserver, call, **{"from": sender})
    assert sent == {"success": True, "error": None, "id": QUEUED["id"]}
    request = httpserver.log[0][0]
    assert request.authorization is not None
    assert (request.authorization.username, request.authorization.password) == ("api", "key-1")


async def test_domain_as_told(httpserver: HTTPServer, call: OwnCall) -> None:
    """A domain in the setup goes before the rule."""
    httpserver.expect_oneshot_request("/v3/mg.example.net/messages", "POST").respond_with_json(QUEUED)
    setup = {"api_key": "key-1", "base_url": httpserver.url_for("/"), "domain": "mg.example.net"}
    assert (await perform(provider, "send_email", MAIL, call, setup=setup))["success"]


async def test_what_is_posted(httpserver: HTTPServer, call: OwnCall) -> None:
    """Every recipient in its field, text and HTML apart, the answers' address as a header."""
    got: list[dict[str, list[str]]] = []

    def take(request: Request) -> Response:
        got.append(request.form.to_dict(flat=False))
        return Response('{"id": "<1@x>"}', content_type="application/json")

    httpserver.expect_request("/v3/email.example.com/messages", "POST").respond_with_handler(take)
    await _send(
        httpserver,
        call,
        to="bob@example.org, Jo <jo@example.org>",
        cc="zoe@example.org",
        bcc=["eve@example.net"],
        html="<p>Hi</p>",
        reply_to="desk@example.com",
    )
    assert got == [
        {
            "from": ['"Ann" <ann@example.com>'],
            "to": ["bob@example.org", '"Jo" <jo@example.org>'],
            "cc": ["zoe@example.org"],
            "bcc": ["eve@example.net"],
            "subject": ["Hello"],
            "text": ["How are you?"],
            "html": ["<p>Hi</p>"],
            "h:Reply-To": ["desk@example.com"],
        }
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_faults(httpserver: HTTPServer, call: OwnCall, fault: Fault) -> None:
    """Whatever the vendor does instead of taking the message is told for what it is."""

    async def send(timeout_s: float | None) -> object:
        setup = {"api_key": "key-1", "base_url": httpserver.url_for("/")}
        return await perform(provider, "send_email", MAIL, call, setup=setup, timeout_s=timeout_s)

    await check_fault(fault, httpserver, call, perform=send, told=lambda words: {"message": words})


async def test_plain_refusal(httpserver: HTTPServer, call: OwnCall) -> None:
    """A wrong key is answered with one word and no JSON: it is told all the same."""
    httpserver.expect_request("/v3/email.example.com/messages").respond_with_data("Forbidden", status=401)
    with pytest.raises(ToolFailed, match=r"Mailgun: Forbidden \(HTTP 401\)"):
        await _send(httpserver, call)


async def test_guarded(call: OwnCall) -> None:
    """A base url that the guard refuses is not asked."""
    setup = {"api_key": "key-1", "base_url": f"http://{DENIED}"}
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "send_email", MAIL, call, setup=setup)
    assert (failed.value.code, call.is_sent) == ("egress_denied", False)


def test_never_repeated_blindly() -> None:
    """Mail reaches people: nobody may repeat it unasked."""
    contract = provider.usual.contract
    assert (contract.effect, contract.idempotency) == ("external", "none")
