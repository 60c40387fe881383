"""What a mail is made of, whoever carries it: who gets it, and what it says."""

from email.utils import getaddresses
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema, model_validator

from toolbus_integrations.providers.vendor import Closed

MAX_ADDRESS_CHARS: Final = 32 * 1024  # taking more apart takes long, for more recipients than there may be
MAX_RECIPIENTS: Final = 100  # the least that every server must take in one go: RFC 5321, 4.5.3.1.8


def _mailboxes(given: object) -> object:
    """The mailboxes of a list, or of one line with commas between them; names before addresses are kept."""
    if given is None:
        return []
    lines = [given] if isinstance(given, str) else given
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return given
    if sum(map(len, lines)) > MAX_ADDRESS_CHARS or len(lines) > MAX_ADDRESS_CHARS:
        raise ValueError(f"at most {MAX_ADDRESS_CHARS} characters of addresses")
    if any(not line.isprintable() for line in lines):
        raise ValueError("control characters and line breaks are not part of an address")
    found = getaddresses(lines)
    for name, address in found:
        local, at, domain = address.rpartition("@")
        if not (local and at and domain and address.isascii()) or " " in address:
            raise ValueError(f"{address or name or lines!r} is not a mail address in ASCII")
    return [f"{_quoted(name)} <{address}>" if name else address for name, address in found]


def _mailbox(given: object) -> object:
    found = _mailboxes(given)
    if isinstance(given, str) and isinstance(found, list):
        if len(found) != 1:
            raise ValueError("one address, and no more")
        return found[0]
    return given


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


TEXT: Final = {"type": "string", "minLength": 1}
LIST: Final = {"type": "array", "items": TEXT}
Mailboxes = Annotated[
    tuple[str, ...],
    BeforeValidator(_mailboxes),
    WithJsonSchema({"anyOf": [TEXT, LIST]}),
]
MaybeMailboxes = Annotated[
    tuple[str, ...],
    BeforeValidator(_mailboxes),
    WithJsonSchema({"anyOf": [TEXT, LIST, {"type": "null"}]}),
]
Mailbox = Annotated[str, BeforeValidator(_mailbox), WithJsonSchema(TEXT)]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f\u0085\u2028\u2029]*$")]


class Mail(Closed):
    """
    What is sent. `to`, `cc`, `bcc` take one address, several with commas between them, or a list.

    `body` (or `text`, which is the same) is plain text and stays so, whatever it looks like; `html` is HTML. With
    both, readers choose.
    """

    model_config = ConfigDict(populate_by_name=True)

    to: Mailboxes = Field(min_length=1)
    sender: Mailbox = Field(alias="from")
    subject: Line
    body: str | None = None
    text: str | None = None
    html: str | None = None
    cc: MaybeMailboxes = ()
    bcc: MaybeMailboxes = ()
    reply_to: MaybeMailboxes = ()

    @model_validator(mode="after")
    def _says_something_once(self) -> Self:
        if self.body is not None and self.text is not None:
            raise ValueError("body and text are the same: give one of them")
        if self.body is None and self.text is None and self.html is None:
            raise ValueError("give body, text or html")
        if len(self.recipients) > MAX_RECIPIENTS:
            raise ValueError(f"at most {MAX_RECIPIENTS} recipients")
        return self

    @property
    def recipients(self) -> list[str]:
        """Whom it goes to, each once, addresses only."""
        return list(dict.fromkeys(addresses((*self.to, *self.cc, *self.bcc))))


def address(mailbox: str) -> str:
    """The address of a mailbox, without the name before it."""
    return addresses((mailbox,))[0]


def addresses(mailboxes: tuple[str, ...]) -> list[str]:
    """The addresses of mailboxes, without the names before them."""
    return [found for _, found in getaddresses(list(mailboxes))]
