"""One message as JetStream delivered it to a durable."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from toolbus_contracts.errors import Unreadable

SECOND_NS = 1_000_000_000
_SHORT_FORM = 9  # $JS.ACK.<stream>.<durable>.<deliveries>.<sequence>.<delivery>.<stored at>.<pending>
_LONG_FORM_EXTRA = 2  # $JS.ACK.<domain>.<account>.<stream>…, when a domain is set
_REFLECTED = "Nats-Stream"
_STORED_AT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z", re.ASCII)


class Carried(Protocol):
    """A message as a library hands it over."""

    @property
    def subject(self) -> str:
        """Where it was published."""
        ...

    @property
    def data(self) -> bytes:
        """Its body."""
        ...

    @property
    def headers(self) -> Mapping[str, str] | None:
        """Its headers, if it has any."""
        ...

    @property
    def reply(self) -> str:
        """Where it is answered."""
        ...


class Place(NamedTuple):
    """What the reply subject of a delivery tells."""

    stream: str
    num_delivered: int
    sequence: int
    consumer_sequence: int
    stored_ns: int


def place_of(reply: str) -> Place:
    """
    Read the reply subject of a delivery.

    Raises:
        Unreadable: it is not one of JetStream's.
    """
    tokens = reply.split(".")
    first = 2 if len(tokens) == _SHORT_FORM else 2 + _LONG_FORM_EXTRA
    try:
        return Place(
            tokens[first],
            int(tokens[first + 2]),
            int(tokens[first + 3]),
            int(tokens[first + 4]),
            int(tokens[first + 5]),
        )
    except (IndexError, ValueError) as error:
        raise Unreadable("invalid_value", f"no reply subject of JetStream: {reply}") from error


class Delivery:
    """
    One delivery of one message.

    `stream_created` and `stored_at` are the server's own texts (RFC 3339, nanoseconds): with `sequence`
    they identify the message over redeliveries and over a stream that was made again.
    """

    __slots__ = (
        "data",
        "headers",
        "num_delivered",
        "reply",
        "sequence",
        "stored_ns",
        "stream",
        "stream_created",
        "subject",
        "task",
        "touched",
    )

    def __init__(self, message: Carried, place: Place, stream_created: str) -> None:
        self.subject = message.subject
        self.data = message.data
        self.headers: Mapping[str, str] = message.headers or {}
        self.reply = message.reply
        self.stream = place.stream
        self.stream_created = stream_created
        self.sequence = place.sequence
        self.stored_ns = place.stored_ns
        self.num_delivered = place.num_delivered
        self.touched = 0.0
        self.task: asyncio.Task[None] | None = None

    @property
    def stored_at(self) -> str:
        """When the stream took the message: RFC 3339 in UTC with nanoseconds."""
        seconds, rest = divmod(self.stored_ns, SECOND_NS)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"

    def refuse_reflected(self) -> None:
        """
        Refuse what JetStream read out of a stream for somebody who named this subject as the inbox.

        Raises:
            Unreadable: it is such a message.
        """
        if _REFLECTED in self.headers:
            raise Unreadable(
                "invalid_value", f"a stored message of {self.headers[_REFLECTED]}, sent here by its reader"
            )


def nanoseconds_of(stored_at: str) -> int | None:
    """The time that `Delivery.stored_at` writes, in nanoseconds since 1970; None when it is no such text."""
    found = _STORED_AT.fullmatch(stored_at)
    if found is None:
        return None
    try:
        seconds = datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:  # the 31st of February
        return None
    return int(seconds) * SECOND_NS + int(found[2])
