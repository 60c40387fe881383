"""Mail against a real SMTP server: TLS both ways, who gets it, and what a lost answer means."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.integrations.providers.authority import Authority
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from tests.unit.integrations.providers.mail_server import PASSWORD, USER, Post, mail_server
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.email import provider

MAIL = {"to": "bob@example.org", "from": "ann@example.com", "subject": "Hello", "body": "How are you?"}


@pytest.fixture(scope="module")
def authority() -> Authority:
    """Signed the server's certificate."""
    return Authority()


@pytest.fixture
async def post(authority: Authority, tmp_path: Path) -> AsyncIterator[Post]:
    """A server that asks for STARTTLS and a password."""
    async with mail_server(starttls=authority.context("localhost", tmp_path)) as running:
        yield running


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


def _setup(post: Post, authority: Authority, **changes: object) -> dict[str, object]:
    settled = {"host": "localhost", "port": post.port, "user": USER, "password": PASSWORD}
    return settled | {"ca_certificates": authority.pem} | changes


async def _send(post: Post, authority: Authority, call: OwnCall, **changes: object) -> dict[str, Any]:
    return await perform(provider, "send", MAIL | changes, call, setup=_setup(post, authority))


async def test_starttls(post: Post, authority: Authority, call: OwnCall) -> None:
    """Mail is sent under a password after STARTTLS, the published arguments being enough."""
    sent = await _send(post, authority, call, cc=None)
    assert sent["success"] is True
    assert post.signed_in == [USER]
    assert (post.envelopes[0].mail_from, post.envelopes[0].rcpt_tos) == ("ann@example.com", ["bob@example.org"])
    assert post.message()["Subject"] == "Hello"
    assert post.message().get_content().strip() == "How are you?"
    assert post.message()["Message-ID"] == sent["message_id"] == f"<{call.call_id}@example.com>"
    assert post.message()["Date"].datetime == call.now
    assert post.greeted[-1] == "[127.0.0.1]"
    assert call.is_sent


async def test_tls_from_the_first_byte(authority: Authority, call: OwnCall, tmp_path: Path) -> None:
    """Mail is sent over TLS from the first byte, under a password."""
    async with mail_server(tls=authority.context("localhost", tmp_path)) as post:
        sent = await perform(provider, "send", MAIL, call, setup=_setup(post, authority, tls="tls"))
        assert (sent["recipients"], post.signed_in) == (["bob@example.org"], [USER])


async def test_recipients_and_parts(post: Post, authority: Authority, call: OwnCall) -> None:
    """Several recipients in each field get it once; those in bcc are not named; text and HTML travel side by side."""
    sent = await _send(
        post,
        authority,
        call,
        to='Bob <bob@example.org>, "Smith, Jo" <jo@example.org>',
        cc=["Zoë <zoe@example.org>", "bob@example.org"],
        bcc="eve@example.net",
        reply_to="desk@example.com",
        html="<p>How are <b>you</b>?</p>",
        subject="Grüße",
    )
    assert sent["recipients"] == ["bob@example.org", "jo@example.org", "zoe@example.org", "eve@example.net"]
    assert post.envelopes[0].rcpt_tos == sent["recipients"]
    message = post.message()
    assert [str(one) for one in message["To"].addresses] == ["Bob <bob@example.org>", '"Smith, Jo" <jo@example.org>']
    assert message["Cc"].addresses[0].display_name == "Zoë"
    assert (message["Reply-To"], message["Subject"], message["Bcc"]) == ("desk@example.com", "Grüße", None)
    assert b"eve@" not in post.content()
    text, html = message.iter_parts()
    assert (text.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
    assert post.content().isascii()


@pytest.mark.parametrize(("field", "kind"), [("body", "text/plain"), ("text", "text/plain"), ("html", "text/html")])
async def test_nothing_is_guessed(post: Post, authority: Authority, call: OwnCall, *, field: str, kind: str) -> None:
    """What looks like HTML is HTML only where it is given as such."""
    await _send(post, authority, call, **{"body": None, field: "<b>5 < 6</b>\n.\nQUIT"})
    assert post.message().get_content_type() == kind
    assert post.message().get_content().splitlines() == ["<b>5 < 6</b>", ".", "QUIT"]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Hello\r\nBcc: eve@example.net"},
        {"subject": "Hello\nX: y"},
        {"to": "bob@example.org\r\nBcc: eve@example.net"},
        {"to": "bob@example.org>\r\nRCPT TO:<eve@example.net"},
        {"from": "Ann\r\nX: y <ann@example.com>"},
        {"from": "ann@example.com, bob@example.org"},
        {"from": ["ann@example.com"]},
        {"to": []},
        {"to": None},
        {"to": "nobody"},
        {"to": "bob@example.org, "},
        {"to": "jürgen@example.org"},
        {"to": 5},
        {"to": [f"p{n}@example.org" for n in range(101)]},
        {"body": None},
        {"text": "twice"},
        {"attachments": []},
    ],
    ids=json.dumps,
)
async def test_what_makes_no_message(call: OwnCall, changes: dict[str, object]) -> None:
    """Lines smuggled into headers, addresses that are none, and contradictions are refused before anything is said."""
    setup = {"host": "localhost", "port": 1}
    with pytest.raises(ValidationError):
        await perform(provider, "send", MAIL | changes, call, setup=setup)
    assert not call.examined


async def test_password_goes_with_a_user(call: OwnCall) -> None:
    """A user without a password is a mistake."""
    with pytest.raises(ValidationError, match="both user and password"):
        await perform(provider, "send", MAIL, call, setup={"host": "localhost", "port": 1, "user": USER})


async def test_wrong_password(post: Post, authority: Authority, call: OwnCall) -> None:
    """A wrong password is told in the server's words, is not tried again, and nothing was sent."""
    with pytest.raises(ToolFailed, match=r"535 5\.7\.8") as failed:
        await perform(provider, "send", MAIL, call, setup=_setup(post, authority, password="guessed"))
    assert (failed.value.retryable, call.is_sent, post.envelopes) == (False, False, [])


@pytest.mark.parametrize(("reply", "retryable"), [("550 5.1.1 no such user", False), ("451 4.7.1 greylisted", True)])
async def test_one_recipient_refused(
    post: Post, authority: Authority, call: OwnCall, *, reply: str, retryable: bool
) -> None:
    """Where one recipient is refused nobody gets it, and the refusal names them; greylisting passes."""
    post.refuses["eve@example.net"] = reply
    with pytest.raises(ToolFailed, match=rf"nothing was sent.*eve@example\.net: {reply[:3]}") as failed:
        await _send(post, authority, call, cc="eve@example.net")
    assert (failed.value.retryable, call.is_sent, post.envelopes) == (retryable, False, [])


async def test_sender_refused(post: Post, authority: Authority, call: OwnCall) -> None:
    """A sender whom the server does not take is told in its words."""
    post.refuses_sender = "553 5.7.1 not yours"
    with pytest.raises(ToolFailed, match="553"):
        await _send(post, authority, call)
    assert not call.is_sent


@pytest.mark.parametrize(("reply", "retryable"), [("554 5.6.0 spam", False), ("452 4.3.1 disk full", True)])
async def test_message_refused(post: Post, authority: Authority, call: OwnCall, *, reply: str, retryable: bool) -> None:
    """A server that does not take the message over says so: that is an answer, passing or final."""
    post.answers = reply
    with pytest.raises(ToolFailed, match=reply[:3]) as failed:
        await _send(post, authority, call)
    assert (failed.value.retryable, failed.value.has_effect) == (retryable, False)


async def test_lost_answer(post: Post, authority: Authority, call: OwnCall) -> None:
    """A connection that breaks after the message is no answer, and the message may have been taken."""
    post.breaks = True
    with pytest.raises(ConnectionError):
        await _send(post, authority, call)
    assert call.is_sent
    assert len(post.envelopes) == 1


async def test_slow_server(post: Post, authority: Authority, call: OwnCall) -> None:
    """Whoever stops waiting closes the connection; it is known that the message had left."""
    post.hangs = True
    sending = asyncio.create_task(_send(post, authority, call))
    await post.has_message.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert call.is_sent


async def test_nobody_listens(post: Post, authority: Authority, call: OwnCall) -> None:
    """Where nobody listens nothing was sent."""
    setup = _setup(post, authority, port=1)
    with pytest.raises(ConnectionRefusedError):
        await perform(provider, "send", MAIL, call, setup=setup)
    assert not call.is_sent


async def test_guard_refuses(post: Post, authority: Authority, call: OwnCall) -> None:
    """A server that the guard refuses is not connected to."""
    with pytest.raises(ToolFailed) as failed:
        await perform(provider, "send", MAIL, call, setup=_setup(post, authority, host=DENIED))
    assert failed.value.code == "egress_denied"


@pytest.mark.parametrize("way", ["starttls", "tls"])
@pytest.mark.parametrize("case", ["other authority", "other name"])
async def test_certificate_counts(authority: Authority, call: OwnCall, tmp_path: Path, *, way: str, case: str) -> None:
    """No password goes to a server whose certificate is another's, or of an authority that is not trusted."""
    context = authority.context("localhost" if case == "other authority" else "mail.example.com", tmp_path)
    trusted = Authority() if case == "other authority" else authority
    async with mail_server(
        starttls=context if way == "starttls" else None, tls=context if way == "tls" else None
    ) as post:
        with pytest.raises(ToolFailed, match="CERTIFICATE_VERIFY_FAILED") as failed:
            await perform(provider, "send", MAIL, call, setup=_setup(post, trusted, tls=way))
        assert (failed.value.code, post.signed_in, call.is_sent) == ("connection_failed", [], False)


async def test_unreadable_authorities(post: Post, authority: Authority, call: OwnCall) -> None:
    """Authorities that are none are a mistake in the setup."""
    with pytest.raises(ToolFailed, match="PEM"):
        await perform(provider, "send", MAIL, call, setup=_setup(post, authority, ca_certificates="none"))


async def test_no_way_down(authority: Authority, call: OwnCall) -> None:
    """A server that does not offer STARTTLS, or somebody between who hides it, gets neither password nor mail."""
    async with mail_server(signs_in=False) as post:
        with pytest.raises(ToolFailed, match="STARTTLS"):
            await perform(provider, "send", MAIL, call, setup=_setup(post, authority))
        assert (post.signed_in, post.envelopes) == ([], [])


async def test_without_tls_on_this_machine(authority: Authority, call: OwnCall) -> None:
    """A server on the same machine may be spoken to in the clear, without a password."""
    async with mail_server(signs_in=False) as post:
        setup = {"host": "localhost", "port": post.port, "tls": "none"}
        assert (await perform(provider, "send", MAIL, call, setup=setup))["success"]
        assert post.signed_in == []


async def test_without_tls_elsewhere(call: OwnCall) -> None:
    """Nowhere else."""
    setup = {"host": "192.0.2.1", "port": 25, "tls": "none"}
    with pytest.raises(ToolFailed, match="this machine only"):
        await perform(provider, "send", MAIL, call, setup=setup)


async def test_busy_server(call: OwnCall) -> None:
    """A server that greets with 421 has no time now: try later."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"421 4.3.2 too many connections\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        setup = {"host": "localhost", "port": server.sockets[0].getsockname()[1]}
        with pytest.raises(ToolFailed, match="421") as failed:
            await perform(provider, "send", MAIL, call, setup=setup)
    assert (failed.value.retryable, call.is_sent) == (True, False)


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"2" * 100_000])
async def test_no_mail_server(call: OwnCall, said: bytes) -> None:
    """What speaks something else is told from a mail server, and gets nothing."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        setup = {"host": "localhost", "port": server.sockets[0].getsockname()[1]}
        with pytest.raises((ToolFailed, ConnectionError)):
            await perform(provider, "send", MAIL, call, setup=setup)
    assert not call.is_sent
