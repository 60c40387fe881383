"""What is written on a dead letter, and read off it again: enough to handle the message as if it had just come."""

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from toolbus_runtime.bus.delivery import Delivery, Place, nanoseconds_of
from toolbus_runtime.bus.listening import Incoming

MAX_ERROR_TEXT = 1000
MAX_HEADER_BYTES = 48 * 1024  # JetStream takes 64 KiB of headers: the rest is for what else is told
_MAX_DIGITS = 18


class Epitaph(NamedTuple):
    """
    Where a message died, and of what.

    `stream_created` and `stored_at` are the server's own texts, `headers` those that the handler was given.
    They are None when they were not written down: then nobody can say which message it was.
    """

    subject: str
    stream: str
    sequence: int
    stored_at: str
    deliveries: int
    error: str
    stream_created: str | None
    headers: Mapping[str, str] | None


def write(delivery: Delivery, error: BaseException) -> dict[str, str]:
    """
    The headers of a dead letter.

    The message's own headers go along as one text, for three reasons: an order to the server (`Nats-…`) must
    not be given again, a name must not be taken for one of ours, and a header takes only one line while an
    idempotency key with two blanks is another key than one with a single blank. Too many are left out: a
    letter that the server does not take would keep its message coming for ever.
    """
    told = {
        "Toolbus-Subject": delivery.subject,
        "Toolbus-Stream": delivery.stream,
        "Toolbus-Stream-Created": delivery.stream_created,
        "Toolbus-Sequence": str(delivery.sequence),
        "Toolbus-Stored-At": delivery.stored_at,
        "Toolbus-Deliveries": str(delivery.num_delivered),
        "Toolbus-Error": _line(f"{type(error).__name__}: {error}"[:MAX_ERROR_TEXT]),
    }
    headers = orjson.dumps(dict(delivery.headers))
    if len(headers) <= MAX_HEADER_BYTES:
        told["Toolbus-Headers"] = headers.decode()
    return told


def read(headers: Mapping[str, str]) -> Epitaph | None:
    """What stands on a dead letter; None for one that is no message (a note about something that was not told)."""
    sequence, deliveries = _number(headers, "Sequence"), _number(headers, "Deliveries")
    stored_at = headers.get("Toolbus-Stored-At", "")
    if sequence is None or deliveries is None or nanoseconds_of(stored_at) is None:
        return None
    return Epitaph(
        headers.get("Toolbus-Subject", ""),
        headers.get("Toolbus-Stream", ""),
        sequence,
        stored_at,
        deliveries,
        headers.get("Toolbus-Error", ""),
        headers.get("Toolbus-Stream-Created"),
        _own_headers(headers.get("Toolbus-Headers", "")),
    )


def delivery_of(epitaph: Epitaph, data: bytes) -> Delivery:
    """
    The delivery that died, with the identity that it had.

    Raises:
        ValueError: the letter does not tell enough.
    """
    stored_ns = nanoseconds_of(epitaph.stored_at)
    if epitaph.stream_created is None or epitaph.headers is None or stored_ns is None:
        raise ValueError("the letter does not tell which message it was")
    place = Place(epitaph.stream, epitaph.deliveries, epitaph.sequence, 0, stored_ns)
    return Delivery(Incoming(epitaph.subject, data, epitaph.headers, ""), place, epitaph.stream_created)


def _line(text: str) -> str:
    """Text as one line that can be encoded: what an error says may come from anywhere."""
    return " ".join(text.split()).encode(errors="replace").decode()


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(f"Toolbus-{name}", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def _own_headers(text: str) -> Mapping[str, str] | None:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    is_text = isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
    return found if is_text else None
