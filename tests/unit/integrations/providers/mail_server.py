"""A real SMTP server (aiosmtpd) on the loop of the test, which takes mail, or does not, as told."""

# ruff: noqa: N802, ARG002, PLR0917 - aiosmtpd names its hooks, and what they are given

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "ann", "her-password"


@dataclass
class Post:
    """What arrived, and how the server behaves: replies by recipient, and to the message as a whole."""

    port: int = 0
    envelopes: list[Envelope] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)
    greeted: list[str] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    refuses_sender: str | None = None
    answers: str = "250 taken"
    hangs: bool = False
    breaks: bool = False
    has_message: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def content(self) -> bytes:
        """The only message that arrived, as it arrived."""
        (envelope,) = self.envelopes
        assert isinstance(envelope.content, bytes)
        return envelope.content

    def message(self) -> EmailMessage:
        """The only message that arrived, read."""
        found = message_from_bytes(self.content(), policy=policy.default)
        assert isinstance(found, EmailMessage)
        return found

    def sign_in(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: object) -> AuthResult:
        """Only Ann has a password."""
        assert isinstance(given, LoginPassword)
        is_ann = (given.login.decode(), given.password.decode()) == (USER, PASSWORD)
        self.signed_in.append(given.login.decode())
        return AuthResult(success=is_ann, handled=is_ann, message=None if is_ann else "535 5.7.8 who are you")

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Note who greets."""
        self.greeted.append(hostname)
        session.host_name = hostname
        return responses

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Senders are taken as told."""
        envelope.mail_from = address
        return self.refuses_sender or "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Recipients are taken as told."""
        if address not in self.refuses:
            envelope.rcpt_tos.append(address)
        return self.refuses.get(address, "250 OK")

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """The message is here; what the sender hears of it is told."""
        self.envelopes.append(envelope)
        self.has_message.set()
        if self.hangs:
            await self.is_over.wait()
        if self.breaks:
            _break(server)
        return self.answers


@asynccontextmanager
async def mail_server(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, signs_in: bool = True
) -> AsyncIterator[Post]:
    """Listens on a port of its own."""
    post = Post()
    made: list[SMTP] = []

    def connection() -> SMTP:
        made.append(
            SMTP(
                post,
                hostname="localhost",
                tls_context=starttls,
                require_starttls=starttls is not None,
                auth_required=signs_in and tls is None,
                auth_require_tls=tls is None,
                authenticator=post.sign_in,
                loop=asyncio.get_running_loop(),
            )
        )
        return made[-1]

    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0, ssl=tls)
    post.port = server.sockets[0].getsockname()[1]
    try:
        yield post
    finally:
        post.is_over.set()
        server.close()
        for one in made:
            _break(one)


def _break(one: SMTP) -> None:
    if isinstance(one.transport, asyncio.WriteTransport):
        one.transport.abort()
