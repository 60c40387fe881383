"""
Mail over SMTP, always over TLS except to a server on the same machine.

The connection goes to an address that the egress guard has checked, under the name that the certificate must bear.
A message goes to all of its recipients or, when the server refuses one of them, to none. Nothing can have reached
anybody before the DATA command: only from there on is a lost answer in doubt.
"""

import asyncio
import socket
import ssl
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from toolbus.provider import SEND, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.mails import Mail, address
from toolbus_integrations.providers.vendor import Closed

if TYPE_CHECKING:
    from aiosmtplib import SMTP

TLS_PORT: Final = 465
# Base64 and quoted-printable pass every server, whether or not it takes eight bits.
POLICY: Final = SMTP_POLICY.clone(cte_type="7bit")


class Setup(Closed):
    """
    The server, and who sends there.

    `tls`: `tls` speaks TLS from the first byte (the default on port 465), `starttls` asks for it before anything else
    (the default elsewhere); `none` is refused unless the server is on this machine. `ca_certificates` (PEM) replaces
    the authorities of the system. Without `user` and `password` nobody signs in.
    """

    host: str = Field(min_length=1, pattern=r"^[^\s\x00-\x1f]+$")
    port: int = Field(ge=1, le=65535)
    user: str | None = None
    password: str | None = Field(
        default=None, min_length=1, repr=False, json_schema_extra={"format": "password", "writeOnly": True}
    )
    tls: Literal["starttls", "tls", "none"] | None = None
    ca_certificates: str | None = None

    @model_validator(mode="after")
    def _signs_in_wholly(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("give both user and password, or none of them")
        return self

    @property
    def way(self) -> Literal["starttls", "tls", "none"]:
        """How the connection is protected."""
        return self.tls or ("tls" if self.port == TLS_PORT else "starttls")


provider = Provider(
    "email",
    info=Info(friendly_name="Email (SMTP)", url="https://www.rfc-editor.org/rfc/rfc5321", icon="email"),
    setup=Setup,
    extra="integrations",
    needs=("aiosmtplib",),
)


class Sent(BaseModel):
    """The server took the message for every recipient. `message_id` is what replies refer to."""

    success: bool
    message_id: str
    recipients: list[str]


@provider.method(contract=SEND, timeout_s=60)
async def send(arguments: Mail, setup: Setup, call: Call) -> Sent:
    """Send an email through an SMTP server, to all of its recipients or to none."""
    from aiosmtplib import SMTPException, SMTPResponseException

    message = _message(arguments, call)
    try:
        await _deliver(arguments, setup, call, message)
    except (ConnectionError, TimeoutError) as error:
        if isinstance(error, SMTPResponseException):
            raise _said_no(error.code, error.message) from error
        raise  # no answer: what that means depends on whether the message was on its way
    except SMTPResponseException as error:
        raise _said_no(error.code, error.message) from error
    except SMTPException as error:
        raise ToolFailed(f"the mail server does not do what is needed: {error.message}") from error
    return Sent(success=True, message_id=str(message["Message-ID"]), recipients=arguments.recipients)


async def _deliver(mail: Mail, setup: Setup, call: Call, message: EmailMessage) -> None:
    smtp = await _connected(setup, call)
    try:
        await smtp.connect()
        if setup.user is not None and setup.password is not None:
            await smtp.login(setup.user, setup.password)
        await smtp.mail(address(mail.sender))
        await _name_recipients(smtp, mail.recipients)
        call.mark_sent()
        await smtp.data(message.as_bytes())
    except ssl.SSLError as error:
        raise _not_trusted(setup, error) from error
    except ConnectionError as error:
        if isinstance(error.__cause__, ssl.SSLCertVerificationError):
            raise _not_trusted(setup, error.__cause__) from error
        raise
    finally:
        # Without QUIT: the message is taken over, and nothing that a server says to goodbyes would change that.
        smtp.close()


async def _connected(setup: Setup, call: Call) -> "SMTP":
    """A client on a connected socket; nothing has been said on it yet."""
    from aiosmtplib import SMTP

    trusted = _trust(setup)
    peer = ip_address(await call.checked_address(setup.host, setup.port))
    if setup.way == "none" and not peer.is_loopback:
        raise ToolFailed("mail goes without TLS to a server on this machine only", code="request_invalid")
    family = socket.AF_INET if peer.version == 4 else socket.AF_INET6  # noqa: PLR2004 - IPv4
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (str(peer), setup.port))
    except BaseException:
        sock.close()
        raise
    own = sock.getsockname()[0]
    return SMTP(
        hostname=setup.host,
        sock=sock,
        timeout=None,  # the call has a deadline of its own
        # An address literal (RFC 5321, 4.1.3): asking for our own name may block, and tells it.
        local_hostname=f"[IPv6:{own}]" if ":" in own else f"[{own}]",
        use_tls=setup.way == "tls",
        start_tls=setup.way == "starttls",
        tls_context=trusted,
    )


def _trust(setup: Setup) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=setup.ca_certificates)
    except ssl.SSLError as error:
        raise ToolFailed("ca_certificates are not certificates in PEM", code="request_invalid") from error


async def _name_recipients(smtp: "SMTP", recipients: list[str]) -> None:
    from aiosmtplib import SMTPRecipientRefused

    refused: list[SMTPRecipientRefused] = []
    for recipient in recipients:
        try:
            await smtp.rcpt(recipient)
        except SMTPRecipientRefused as error:
            refused.append(error)
    if refused:
        told = "; ".join(f"{error.recipient}: {error.code} {error.message}" for error in refused)
        raise ToolFailed(
            f"nothing was sent, the mail server refused: {told}", retryable=all(_is_passing(e.code) for e in refused)
        )


def _message(mail: Mail, call: Call) -> EmailMessage:
    """The message, the same on every attempt at the call but for its date."""
    message = EmailMessage(policy=POLICY)
    fields: tuple[tuple[str, Any], ...] = (
        ("From", (mail.sender,)),
        ("To", mail.to),
        ("Cc", mail.cc),
        ("Reply-To", mail.reply_to),
    )
    for name, mailboxes in fields:
        if mailboxes:
            message[name] = ", ".join(mailboxes)
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(call.now)
    # From the call's id: whoever gets a message twice can tell by it.
    domain = address(mail.sender).rpartition("@")[2]
    message["Message-ID"] = f"<{call.call_id}@{domain}>"
    text = mail.body if mail.body is not None else mail.text
    if text is not None:
        message.set_content(text)
    if mail.html is not None and text is not None:
        message.add_alternative(mail.html, subtype="html")
    elif mail.html is not None:
        message.set_content(mail.html, subtype="html")
    return message


def _is_passing(code: int) -> bool:
    return 400 <= code < 500  # noqa: PLR2004 - replies of 4yz are passing: RFC 5321, 4.2.1


def _said_no(code: int, message: str) -> ToolFailed:
    return ToolFailed(f"the mail server answered {code} {message}", retryable=_is_passing(code), has_effect=False)


def _not_trusted(setup: Setup, error: ssl.SSLError) -> ToolFailed:
    return ToolFailed(f"no TLS with {setup.host}: {error.reason or error}", code="connection_failed")
