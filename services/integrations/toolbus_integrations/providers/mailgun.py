"""
Mailgun: mail through the vendor's HTTP API.

A message that was accepted is on its way, and Mailgun takes no keys to know a repetition by: an answer that was lost
leaves in doubt whether it was sent.
"""

from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, Field

from toolbus.provider import SEND, Call, Info, Provider
from toolbus_integrations.providers.mails import Mail, address
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor

MAILGUN: Final = Vendor("Mailgun", told_at=(("message",), ("Error",)))
PREFIX: Final = "email."


class Setup(Closed):
    """
    `api_key`: a sending key. `domain`: the domain that Mailgun sends for.

    Without `domain` it is that of the sender's address under `email.`, unless it stands there already. The API of the
    European region has a `base_url` of its own: https://api.eu.mailgun.net.
    """

    api_key: Key
    domain: str | None = Field(default=None, pattern=r"^[A-Za-z0-9.-]+$")
    base_url: BaseUrl = "https://api.mailgun.net"


provider = Provider(
    "mailgun",
    info=Info(
        friendly_name="Mailgun",
        url="https://www.mailgun.com",
        docs="https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages",
    ),
    setup=Setup,
)


class Sent(BaseModel):
    """Mailgun has the message, under `id`. `error` is empty: a message that was not accepted fails the call."""

    success: bool
    error: str | None = None
    id: str


class _Answer(BaseModel):
    id: str = Field(min_length=1)


@provider.method(contract=SEND)
async def send_email(arguments: Mail, setup: Setup, call: Call) -> Sent:
    """Send an email through Mailgun."""
    domain = setup.domain or _domain(arguments)
    answer = await MAILGUN.answer(
        call.post(
            f"{setup.base_url}/v3/{quote(domain, safe='')}/messages",
            data=_fields(arguments),
            auth=("api", setup.api_key),
        )
    )
    return Sent(success=True, id=MAILGUN.read(answer, _Answer).id)


def _domain(mail: Mail) -> str:
    domain = address(mail.sender).rpartition("@")[2]
    return domain if domain.startswith(PREFIX) else PREFIX + domain


def _fields(mail: Mail) -> dict[str, list[str] | str]:
    fields: dict[str, list[str] | str | None] = {
        "from": mail.sender,
        "to": list(mail.to),
        "cc": list(mail.cc),
        "bcc": list(mail.bcc),
        "subject": mail.subject,
        "text": mail.body if mail.body is not None else mail.text,
        "html": mail.html,
        "h:Reply-To": ", ".join(mail.reply_to) or None,
    }
    return {name: told for name, told in fields.items() if told is not None and told != []}
